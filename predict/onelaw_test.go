package predict_test

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// One system asked twice: as it was measured without workers, and as a person would
// describe it. The reviewers' figures: 8 cores, 1.25 ms of core time and 602 KB per
// image, pinned, 0.25 ms of device time per image.
func TestOneLaw(t *testing.T) {
	link, _ := hardware.FindLink("pcie4")
	for _, batch := range []float64{32, 128, 256} {
		described := predict.Setup{
			Batch: batch, Step: stoker.Exactly(0.25e-3 * batch), PrepareCPU: stoker.Exactly(1.25e-3),
			Decoded: stoker.Exactly(602112), Cached: 1, Cores: 8, Link: link, Pinned: true,
		}
		measured := measuredAs(t, described.WithWorkers(0))
		for _, workers := range []int{2, 8} {
			described.Workers = float64(workers)
			want, err := described.Solve()
			if err != nil {
				t.Fatal(err)
			}
			got := measured.Forecast(stoker.Change{Setting: stoker.NumWorkers, To: workers})
			off := got.Step.Point/want.Step.Point - predict.LawError.Point
			if math.Abs(off) > 0.005 || got.Bound != want.Bound.Resource {
				t.Errorf("batch %v, %d workers: %.1f ms, %s binds from a run; %.1f ms, %s from a description",
					batch, workers, 1e3*got.Step.Point, got.Bound, 1e3*want.Step.Point, want.Bound.Resource)
			}
		}
	}
}

// measuredAs is what a run of the setup would be measured to cost, without workers.
func measuredAs(t *testing.T, s predict.Setup) predict.Baseline {
	t.Helper()
	at := predict.PartsOf(t, s)
	c := measure.Costs{
		Step: at.Step, HostStep: at.Step, Wait: at.Making, Fetch: at.Making, FetchCPU: at.CPU,
		Idle: at.Step - at.Loop, Busy: at.Compute / at.Step, LoopCPU: predict.Spinning.Point * at.Loop,
		Cores: s.Cores, Window: recording.Window{PID: 1, Loader: 1, Steps: make([]recording.Step, 100)},
	}
	for i := range c.Window.Steps {
		c.Window.Steps[i].Samples = s.Batch
	}
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: int(s.Cores)},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer}},
		Loaders: []recording.Loader{{
			PID: 1, ID: 1, Settings: stoker.Settings{stoker.NumWorkers: 0}, Pinned: &s.Pinned,
			BatchBytes: s.Batch * s.Decoded.Point,
		}},
	}}
	return c.MakeBaseline(run)
}
