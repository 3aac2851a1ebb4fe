package diagnose_test

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Where a loop plays between its updates, that is time of its steps: here 20 of them take a second
// longer than the others.
func TestLongStepsAreTime(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Model: &recording.ModelFacts{Device: "cpu", Steps: 400}}}
	at := 0.0
	for i := range 1000 {
		period := 0.02
		if i%50 == 49 {
			period++
		}
		run.Steps = append(run.Steps, recording.Step{
			PID: 7, Loader: recording.OwnLoop, N: i, Start: at, Period: period, Phase: recording.Train, Optimized: 1,
			Wait: math.NaN(), Samples: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
		at += period
	}
	if v := judge.Judge(run); math.Abs(v.Costs.Step-0.04) > 1e-3 {
		t.Errorf("a step takes %v s, want 40 ms with all that it does", v.Costs.Step)
	}
}
