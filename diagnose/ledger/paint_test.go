package ledger

import (
	"math"
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

// Time in which the host does something else before it launches steps does not take off what these leave queued.
func TestQueuedWork(t *testing.T) {
	f := filler{Case: &diagnose.Case{}}
	for n := range 10 { // the host needs 10 ms for a step, after 1 s of other work or of waiting, and the device 20 ms
		f.steps = append(f.steps, recording.Step{N: n, Start: 1 + 0.01*float64(n), Period: 0.01})
	}
	f.steps[0].Start, f.steps[0].Wait = 0.5, 0.5
	if got := f.queueUp(0, 0.02, span{from: 1, to: 1.1}); math.Abs(got-0.1) > rounding {
		t.Errorf("%.3f s are queued, want 0.1", got)
	}
}

// A checkpoint of two files is saved once, though the host copies its state in between.
func TestTimesOfARow(t *testing.T) {
	f := filler{steps: []recording.Step{{N: 0, Start: 0}, {N: 1, Start: 5}}}
	files := []span{{from: 1, to: 2}, {from: 3, to: 4}, {from: 6, to: 7}}
	if got := f.countTimes(files); got != 2 {
		t.Errorf("saved %d times, want 2", got)
	}
}

// A row is not cut where two times differ by less than they are rounded.
func TestNoSpanOfNoLength(t *testing.T) {
	at := 10.459019595 + 0.0105896
	spans := flatten([]span{
		{0, 20, diagnose.RowTraining}, {10, at, diagnose.RowEvaluation}, {at + 1e-12, 12, diagnose.RowEvaluation},
	})
	if len(spans) != 3 {
		t.Errorf("%v, want training, evaluation, training", spans)
	}
}

// A profiler's file may be shorter than a microsecond.
func TestRowsBelowAMicrosecond(t *testing.T) {
	r := diagnose.Row{Seconds: 110e-9, Idle: 90e-9, Waits: []diagnose.Wait{{For: diagnose.WaitLaunch, Seconds: 90e-9}}}
	if got := rounded(r); got.Seconds != 110e-9 || got.Idle != 90e-9 || len(got.Waits) != 1 {
		t.Errorf("rounded to %g s, idle %g s for %v", got.Seconds, got.Idle, got.Waits)
	}
}
