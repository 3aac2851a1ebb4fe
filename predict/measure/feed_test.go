package measure

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// fedRun is a run of a rank with stoker's loader: 100 ms steps whose batches take two
// threads 190 ms, 40 ms of them in reading, on 8 cores. Own says whose counters
// there are: the client's or the daemon's.
func fedRun(own bool) *recording.Run {
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: 8, Allowed: 8},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer}, {PID: 2, Role: recording.RoleFeed}},
		Loaders: []recording.Loader{{
			PID: 1, Samples: 6400,
			Settings: stoker.Settings{stoker.LoaderKind: stoker.StokerLoader, stoker.NumWorkers: 2},
		}},
	}}
	for n := range 200 {
		run.Steps = append(run.Steps, recording.Step{
			PID: 1, N: n, Start: float64(n) / 10, Period: 0.1, Wait: 0.08, Samples: 64, Phase: recording.Train,
			Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
	}
	add := func(signal recording.Signal, subject string, perSecond float64) {
		s := recording.Series{Signal: signal, Subject: subject}
		for at := 0.0; at <= 20; at += 0.1 {
			s.T, s.V = append(s.T, at), append(s.V, at*perSecond)
		}
		run.Series = append(run.Series, s)
	}
	subject := "process/2"
	if own {
		subject = "process/1"
	}
	add(recording.FeedBatches, subject, 10)
	add(recording.FeedRead, subject, 0.4)
	add(recording.FeedDecode, subject, 1.1)
	add(recording.FeedTransform, subject, 0.4)
	add(recording.ProcessCPU, "process/2", 1.2)
	add(recording.TreeCPU, "tree", 1.4)
	add(recording.MachineCPU, "machine", 1.6)
	return run
}

func TestCostsOfStokersLoader(t *testing.T) {
	for _, own := range []bool{true, false} {
		c, ok := Slowest(fedRun(own))
		if !ok || c.Feed == nil {
			t.Fatalf("client's counters %v: the loader is not seen: %+v", own, c)
		}
		for what, is := range map[string][2]float64{
			"fetch": {c.Fetch, 0.19}, "core time": {c.FetchCPU, 0.12}, "waiting for a core": {c.FetchQueue, 0.03},
			"busy": {c.WorkersBusy, 0.95}, "reading": {c.OnDisk / c.WorkersBusy, 4.0 / 19}, "loop": {c.LoopCPU, 0.02},
		} {
			if math.Abs(is[0]-is[1]) > 1e-3 {
				t.Errorf("client's counters %v: %s %.4f, want %.4f", own, what, is[0], is[1])
			}
		}
	}
}

// Threads that are not named are those that the daemon takes by itself, shared by
// the ranks of the node.
func TestThreadsOfStokersLoader(t *testing.T) {
	run := fedRun(true)
	delete(run.Facts.Loaders[0].Settings, stoker.NumWorkers)
	if c, _ := Slowest(run); c.Workers != 7 || c.Set {
		t.Errorf("%d threads, set %v: want 7 of 8 cores, not set", c.Workers, c.Set)
	}
	run.Facts.Loaders = append(run.Facts.Loaders, recording.Loader{PID: 3}, recording.Loader{PID: 3, ID: 1})
	if n := FeedThreads(run); n != 3 {
		t.Errorf("%d threads for one of two ranks, want 3", n)
	}
	run.Facts.Machine.Quota = 2
	if n := FeedThreads(run); n != 1 {
		t.Errorf("%d threads for one of two ranks on 2 cores, want 1", n)
	}
}

// More threads help stoker's loader as more workers help PyTorch's, without what
// these cost at an epoch's start.
func TestForecastOfStokersLoader(t *testing.T) {
	run := fedRun(true)
	p := From(run)
	if !p.Feeds {
		t.Error("stoker's loader is taken for PyTorch's")
	}
	f := p.Forecast(stoker.Change{Setting: stoker.NumWorkers, From: 2, To: 4})
	if !f.Speedup.Contains(2) {
		t.Errorf("twice the threads are worth %+v, want about 2", f.Speedup)
	}
	torch := fedRun(true)
	torch.Facts.Loaders[0].Settings = stoker.Settings{stoker.NumWorkers: 2}
	c, _ := Slowest(torch)
	if c.Feed != nil {
		t.Error("PyTorch's loader is taken for stoker's")
	}
}
