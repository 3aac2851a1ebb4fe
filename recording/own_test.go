package recording

import (
	"math"
	"testing"
)

// own is a loop that no loader feeds, of 100 ms a step.
func own(n int) []Step {
	var steps []Step
	for i := range n {
		steps = append(steps, Step{
			PID: 7, Loader: OwnLoop, N: i, Start: float64(i) / 10, Period: 0.1, Phase: Train,
			Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Samples: math.NaN(), Optimized: 1,
		})
	}
	return steps
}

// A step that contains an evaluation or a checkpoint counts without it, and that part counts
// separately.
func TestOwnLoopHasPhases(t *testing.T) {
	run := &Run{Steps: own(50)}
	for at, phase := range map[int]Phase{20: Evaluate, 30: Checkpoint} {
		other := run.Steps[at]
		other.N, other.Phase, other.Start, other.Period, other.Optimized = 1000+at, phase, other.Start+0.01, 0.05, 0
		run.Steps = append(run.Steps, other)
	}
	b := newBuilder()
	b.run = *run
	windows := b.finish().Windows()
	if len(windows) != 1 {
		t.Fatalf("%d windows", len(windows))
	}
	w := windows[0]
	want := (45*0.1 + 2*0.05) / 47 // of two steps 50 of 100 ms are something else
	if w.Loader != OwnLoop || len(w.Steps) != 47 || len(w.Apart) != 2 || math.Abs(w.Time()-want) > 1e-9 {
		t.Errorf("loader %d, %d steps of %v s, apart %+v", w.Loader, len(w.Steps), w.Time(), w.Apart)
	}
}

// A loop that evaluates in every step, as one does that takes the whole of a graph at once,
// is judged with its evaluation: nothing else would be left.
func TestEvaluationInEveryStepIsPartOfIt(t *testing.T) {
	b := newBuilder()
	for _, s := range own(50) {
		b.run.Steps = append(b.run.Steps, s)
		s.N, s.Phase, s.Start, s.Period, s.Optimized = 1000+s.N, Evaluate, s.Start+0.01, 0.03, 0
		b.run.Steps = append(b.run.Steps, s)
	}
	windows := b.finish().Windows()
	if len(windows) != 1 {
		t.Fatalf("%d windows", len(windows))
	}
	if w := windows[0]; len(w.Steps) != 47 || len(w.Apart) != 0 || math.Abs(w.Time()-0.1) > 1e-9 {
		t.Errorf("%d steps of %v s, apart %d", len(w.Steps), w.Time(), len(w.Apart))
	}
}

// Where a loader feeds the steps, those of the loop itself between its batches count for nothing.
func TestOwnStepsWithALoader(t *testing.T) {
	b := newBuilder()
	for i := range 40 { // ten optimizer steps a batch
		b.run.Steps = append(b.run.Steps, Step{PID: 7, N: i, Start: float64(i), Period: 1, Wait: 0.1, Phase: Train, Idle: 0.05, DevicePeriod: 1, Samples: 4, Optimized: 10})
	}
	for i, s := range own(400) {
		if s.Loader = OwnLoop; i%10 > 0 {
			b.run.Steps = append(b.run.Steps, s)
		}
	}
	w := b.finish().Windows()[0]
	if w.Loader != 0 || len(w.Steps) < 30 || len(w.Side) != 0 || math.Abs(w.Wait()-0.1) > 1e-9 || math.Abs(w.Idle()-0.05) > 1e-9 {
		t.Errorf("loader %d, %d steps, %d beside, wait %v, idle %v", w.Loader, len(w.Steps), len(w.Side), w.Wait(), w.Idle())
	}
}
