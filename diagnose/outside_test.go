package diagnose_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Where a loop plays between its updates, most of the time is in no judged step: that is said.
// Here that are 19 steps of 1.02 s. A loop whose steps are all there is gets no such word.
func TestTimeOutsideOfTheSteps(t *testing.T) {
	for plays, want := range map[float64]string{0: "", 1.0: "19.4 s of the judged 38.9 s"} {
		run := &recording.Run{Facts: recording.Facts{Model: &recording.ModelFacts{Device: "cpu", Steps: 400}}}
		at := 0.0
		for i := range 1000 {
			period := 0.02
			if i%50 == 49 {
				period += plays
			}
			run.Steps = append(run.Steps, recording.Step{
				PID: 7, Loader: recording.OwnLoop, N: i, Start: at, Period: period, Phase: recording.Train, Optimized: 1,
				Wait: math.NaN(), Samples: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(),
			})
			at += period
		}
		v := judge.Judge(run)
		if said := strings.Join(v.Warnings, "\n"); strings.Contains(said, "outside of the judged steps") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%v s: left %d\n%s", plays, v.Costs.Window.Left, said)
		}
	}
}
