package measure

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// The launching thread fetches for evaluation as well, and its counters count both:
// what a training step's batch costs is its own wait.
func TestFetchesOfEvaluationAreNotOfTraining(t *testing.T) {
	// per second: 5 of training that take 20 ms, 5 of evaluation that take 60
	const fetches, wall, core = 10.0, 0.4, 0.1
	series := func(signal recording.Signal, rate float64) recording.Series {
		s := recording.Series{Signal: signal, Subject: "process/1"}
		for at := range 21 {
			s.T, s.V = append(s.T, float64(at)), append(s.V, rate*float64(at))
		}
		return s
	}
	run := &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{
		ID: 1, PID: 1,
		Settings: stoker.Settings{stoker.NumWorkers: 0},
	}}}}
	run.Series = []recording.Series{
		series(recording.FetchCount, fetches), series(recording.FetchWall, wall),
		series(recording.FetchCPU, core),
	}
	w := recording.Window{
		PID: 1, Loader: 1, Start: 0, End: 20,
		Apart: []recording.Step{{PID: 1, Loader: 2, Start: 10, Period: 0.1, Wait: 0.06}},
	}
	for i := range 100 {
		w.Steps = append(w.Steps, recording.Step{
			PID: 1, Loader: 1, Start: float64(i) / 5, Period: 0.1, Wait: 0.02,
			Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
	}
	if c := Measure(run, w); math.Abs(c.Fetch-0.02) > 1e-9 || math.Abs(c.FetchCPU-0.005) > 1e-9 {
		t.Errorf("a fetch takes %v s, %v of it on a core; want 0.02 and a quarter of that", c.Fetch, c.FetchCPU)
	}
}
