package recording

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
)

// steady are n training steps of one loader, period and wait in seconds.
func steady(n int, period, wait float64) []Step {
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = Step{
			PID: 1, Loader: 1, N: i, Start: float64(i) * period, Period: period, Wait: wait,
			Phase: Train, Idle: wait, DevicePeriod: period,
		}
	}
	return steps
}

func only(t *testing.T, r *Run) Window {
	t.Helper()
	windows := r.Windows()
	if len(windows) != 1 {
		t.Fatalf("%d windows, want 1", len(windows))
	}
	return windows[0]
}

func TestWindowLeavesOutTheQueueThatWorkersFilled(t *testing.T) {
	run := &Run{Steps: steady(400, 0.1, 0.05)}
	run.Facts.Loaders = []Loader{{PID: 1, ID: 1, Settings: stoker.Settings{"num_workers": 4, "prefetch_factor": 2}}}
	if w := only(t, run); w.WarmUp != 9 {
		t.Errorf("%d warm-up steps, want 4 workers x 2 batches + 1", w.WarmUp)
	}
}

func TestWindowLeavesOutASlowStart(t *testing.T) {
	steps := steady(400, 0.1, 0.05)
	for i := range 60 { // a cold page cache: twice as slow
		steps[i].Period, steps[i].DevicePeriod = 0.2, 0.2
	}
	w := only(t, &Run{Steps: steps})
	if w.WarmUp < 60 || w.WarmUp > 130 || math.Abs(w.Time()-0.1) > 1e-9 {
		t.Errorf("%d warm-up steps, mean %v; want 60 or little more, 100 ms", w.WarmUp, w.Time())
	}
}

// A slow step counts as any other. Known evaluation does not.
func TestWindowHasAllSteps(t *testing.T) {
	steps := steady(300, 0.1, 0.05)
	steps[200].Period, steps[200].DevicePeriod = 5, 5 // an upload, which no phase marks
	evaluation := Step{PID: 1, Loader: 2, Start: steps[250].Start + 0.06, Period: 0.01, Phase: Evaluate, Idle: math.NaN(), DevicePeriod: math.NaN()}
	run := &Run{Steps: append(append(append([]Step{}, steps[:251]...), evaluation), steps[251:]...)}
	w := only(t, run)
	n := float64(len(w.Steps))
	if want := ((n-1)*0.1 + 5 - 0.01) / n; len(w.Steps) != 300-w.WarmUp || math.Abs(w.Time()-want) > 1e-9 {
		t.Errorf("%d steps of %v s in the mean; want all of them, %v s", len(w.Steps), w.Time(), want)
	}
}

func TestInferenceIsJudgedWithoutTraining(t *testing.T) {
	steps := steady(100, 0.1, 0.05)
	for i := range steps {
		steps[i].Phase = Evaluate
	}
	if w := only(t, &Run{Steps: steps}); len(w.Steps) < 90 {
		t.Errorf("%d steps of inference are judged", len(w.Steps))
	}
}

// The device lags behind when the program ends: the host's last steps say nothing about it.
func TestWindowEndsWhereTheDeviceWasRead(t *testing.T) {
	steps := steady(400, 0.05, 0.04)
	for i := range steps {
		steps[i].DevicePeriod, steps[i].Idle = 0.06, 0
		if i >= 150 {
			steps[i].DevicePeriod, steps[i].Idle = math.NaN(), math.NaN()
		}
	}
	w := only(t, &Run{Steps: steps})
	if len(w.Steps) > 150 || math.Abs(w.Time()-0.06) > 1e-9 {
		t.Errorf("%d steps, mean %v; want those that were read, 60 ms", len(w.Steps), w.Time())
	}
}

func TestTwoLoadersOfOneStepAddUp(t *testing.T) {
	var steps []Step
	for _, s := range steady(200, 0.1, 0.03) {
		other := s
		other.Loader, other.Start, other.Wait, other.Idle = 2, s.Start+0.03, 0.02, 0.01
		other.Period, other.DevicePeriod = 0.0999, 0.0999
		steps = append(steps, s, other)
	}
	w := only(t, &Run{Steps: steps})
	if math.Abs(w.Wait()-0.05) > 1e-3 || math.Abs(w.Idle()-0.04) > 1e-3 {
		t.Errorf("wait %v, idle %v; want 50 and 40 ms of both loaders", w.Wait(), w.Idle())
	}
}

// Of two loaders that are zipped the one is judged that steps wait for.
func TestTheLoaderThatIsWaitedForIsJudged(t *testing.T) {
	for slow, fast := range map[int]int{2: 1, 1: 2} {
		var steps []Step
		for _, s := range steady(200, 0.1, 0.03) {
			other := s
			s.Loader, s.Wait, other.Loader, other.Start, other.Wait = fast, 0.001, slow, s.Start+0.002, 0.03
			other.Period = 0.0999
			steps = append(steps, s, other)
		}
		if w := only(t, &Run{Steps: steps}); w.Loader != slow {
			t.Errorf("loader %d is judged, and steps wait for %d", w.Loader, slow)
		}
	}
}

func TestStationary(t *testing.T) {
	if w := only(t, &Run{Steps: steady(400, 0.1, 0.05)}); !w.Stationary {
		t.Error("40 even seconds are not stationary")
	}
	if w := only(t, &Run{Steps: steady(200, 0.1, 0.05)}); w.Stationary {
		t.Error("20 seconds are stationary")
	}
	drifting := steady(400, 0.1, 0.05)
	for i := range drifting {
		drifting[i].DevicePeriod = 0.1 + 0.0003*float64(max(0, i-200))
	}
	if w := only(t, &Run{Steps: drifting}); w.Stationary {
		t.Error("steps that get slower all the time are stationary")
	}
}

func TestFewStepsGiveNoWindow(t *testing.T) {
	for n := range 4 {
		if w := (&Run{Steps: steady(n, 0.1, 0.05)}).Windows(); len(w) > 0 && len(w[0].Steps) < LeastSteps {
			t.Errorf("%d steps give a window of %d", n, len(w[0].Steps))
		}
	}
	if w := (&Run{}).Windows(); w != nil {
		t.Error("no steps give a window")
	}
}

// The first dimension of a batch is not always its samples: a collate_fn may flatten
// them. There are never more than the loader was asked for.
func TestSamplesAreNoMoreThanTheBatch(t *testing.T) {
	steps := steady(100, 0.1, 0.05)
	for i := range steps {
		steps[i].Samples = 50_000_000
	}
	steps[50].Samples = 7
	run := &Run{Steps: steps}
	if w := only(t, run); w.Samples() < 1e6 {
		t.Errorf("%v samples where the batch is not known", w.Samples())
	}
	run.Facts.Loaders = []Loader{{PID: 1, ID: 1, Settings: stoker.Settings{"batch_size": 16}}}
	if w := only(t, run); w.Samples() > 16 || w.Samples() < 15 || run.Steps[60].Samples != 50_000_000 {
		t.Errorf("%v samples in batches of 16", w.Samples())
	}
}
