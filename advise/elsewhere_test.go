package advise_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A loop that waits for input of which no DataLoader is seen is told so, and no setting of a DataLoader is named.
func TestInputThatIsNoDataLoader(t *testing.T) {
	for kind, word := range map[string]string{"ray": "prefetch_batches", "watched": "ahead of the step"} {
		run := &recording.Run{Facts: recording.Facts{
			Machine:   recording.Machine{CPUs: 8, Allowed: 8},
			GPUs:      []recording.GPU{{Name: "GPU"}},
			Processes: []recording.Process{{PID: 7, Role: recording.RoleTrainer, Hooked: true}},
			Loaders:   []recording.Loader{{PID: 7, Kind: kind, Iterable: true}},
			Model:     &recording.ModelFacts{Device: "cuda:0", Steps: 100},
		}}
		for i := range 100 {
			run.Steps = append(run.Steps, recording.Step{
				PID: 7, N: i, Start: float64(i) / 10, Period: 0.1, Phase: recording.Train, Wait: 0.06, Samples: math.NaN(),
				Optimized: 1, Idle: 0.05, DevicePeriod: 0.1,
			})
		}
		v := judge.Judge(run)
		plan := advise.Rank(run, v)
		if v.Class != diagnose.CPUBound || len(plan.Fixes) != 1 || len(plan.Fixes[0].Changes) != 0 || plan.Fixes[0].Forecast.Speedup.High != 2 {
			t.Fatalf("%s: %s, %+v", kind, v.Class, plan)
		}
		if text := plan.Fixes[0].Title + strings.Join(plan.Fixes[0].Notes, "; "); !strings.Contains(text, word) || strings.Contains(text, "num_workers") {
			t.Errorf("%s: %s", kind, text)
		}
		for _, e := range v.Evidence {
			if strings.Contains(e.Text, "num_workers") || strings.Contains(e.Text, "worker process") {
				t.Errorf("%s: %s", kind, e.Text)
			}
		}
	}
}
