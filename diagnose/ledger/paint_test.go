package ledger

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Steps that are too few to be judged are warm-up only if they take much longer than the others.
func TestFewStepsAreNoWarmUp(t *testing.T) {
	for name, c := range map[string]struct {
		periods [3]float64
		warm    float64
	}{"alike": {[3]float64{0.67, 1.27, 0.67}, 0}, "compiles first": {[3]float64{60, 1, 1}, 60}} {
		var steps []recording.Step
		at, warm := 0.0, 0.0
		for n, period := range c.periods {
			steps = append(steps, recording.Step{N: n, Start: at, Period: period, Phase: recording.Evaluate, Loader: 1})
			at += period
		}
		w := recording.Window{Loader: 1, Start: at - c.periods[2], End: at}
		for _, s := range paintSteps(steps, w, diagnose.RowInference, 0, at) {
			if s.row == diagnose.RowWarmUp {
				warm += s.to - s.from
			}
		}
		if warm != c.warm {
			t.Errorf("%s: %.2f s of warm-up, want %.2f", name, warm, c.warm)
		}
	}
}
