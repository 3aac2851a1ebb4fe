package recording

import (
	"math"
	"testing"
)

// Where steps are thinned, whole passes lie between two first steps that were kept.
func TestEpochsOfThinnedSteps(t *testing.T) {
	steps := []Step{{N: 0, Pass: 0, First: true}, {N: 1}, {N: 354, Pass: 3, First: true}, {N: 590, Pass: 5, First: true}}
	for i, got := range EpochSteps(steps) {
		if got != 118 {
			t.Errorf("epoch %d has %v steps, want 118", i, got)
		}
	}
}

// The host waits for new workers while the device still works: of an epoch's first step whose device period is unknown,
// that wait is no part.
func TestTimeOfAFirstStepWithoutAPeriod(t *testing.T) {
	var steps []Step
	for i := range 48 {
		s := Step{N: i, Period: 0.004, Wait: 0.003, DevicePeriod: 0.012, Phase: Train}
		if i%12 == 0 {
			s.First, s.Period, s.Wait, s.DevicePeriod = true, 0.06, 0.059, math.NaN()
		}
		steps = append(steps, s)
	}
	if w := (Window{Steps: steps}); math.Abs(w.Time()-0.012) > 1e-9 {
		t.Errorf("a step takes %v s, want 0.012", w.Time())
	}
}
