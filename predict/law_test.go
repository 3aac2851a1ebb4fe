package predict

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// One system asked twice: as it was measured without workers, and as a person would
// describe it. The reviewers' figures: 8 cores, 1.25 ms of core time and 602 KB per
// image, pinned, 0.25 ms of device time per image.
func TestOneLaw(t *testing.T) {
	for _, batch := range []float64{32, 128, 256} {
		described := Setup{
			Batch: batch, Step: stoker.Exactly(0.25e-3 * batch), PrepareCPU: stoker.Exactly(1.25e-3), Decoded: stoker.Exactly(602112), Cached: 1,
			Cores: 8, Link: link(t, "pcie4"), Pinned: true,
		}
		alone := described
		alone.Workers = 0
		measured := measuredAs(t, alone)
		for _, workers := range []int{2, 8} {
			described.Workers = float64(workers)
			want := mustSolve(t, described)
			got := measured.Forecast(stoker.Change{Setting: stoker.NumWorkers, To: workers})
			if !near(got.Step.Point/want.Step.Point, lawError.Point, 0.005) || got.Bound != want.Bound.Resource {
				t.Errorf("batch %v, %d workers: %.1f ms, %s binds from a run; %.1f ms, %s from a description",
					batch, workers, 1e3*got.Step.Point, got.Bound, 1e3*want.Step.Point, want.Bound.Resource)
			}
		}
	}
}

// measuredAs is what a run of the setup would be measured to cost, without workers.
func measuredAs(t *testing.T, s Setup) Baseline {
	t.Helper()
	p, err := s.ready()
	if err != nil {
		t.Fatal(err)
	}
	at := p.times(likely, likely)
	step, loop, _ := p.combine(at, likely)
	c := Costs{
		Step: step, HostStep: step, Wait: at[making], Fetch: at[making], FetchCPU: at[onWorker], Idle: step - loop, Busy: at[onCompute] / step,
		LoopCPU: spinning.Point * loop, Cores: s.Cores, Window: recording.Window{PID: 1, Loader: 1, Steps: make([]recording.Step, 100)},
	}
	for i := range c.Window.Steps {
		c.Window.Steps[i].Samples = s.Batch
	}
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: int(s.Cores)},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer}},
		Loaders:   []recording.Loader{{PID: 1, ID: 1, Settings: stoker.Settings{stoker.NumWorkers: 0}, Pinned: &s.Pinned, BatchBytes: s.Batch * s.Decoded.Point}},
	}}
	return c.Baseline(run)
}

// The same load, only the workers' lifetime differs: the forecast does not.
func TestShortLivedWorkers(t *testing.T) {
	for _, lifetime := range []float64{1000, 10, 5, 3, 2} {
		run := youngWorkers(lifetime)
		f := From(run).Forecast(stoker.Change{Setting: stoker.NumWorkers, To: 4}, stoker.Change{Setting: stoker.PersistentWorkers, To: true})
		if f.Bound != stoker.CPU || !near(f.Speedup.Point, 0.09*4/0.19, 0.03) {
			t.Errorf("workers that live %v s: %+v, %s binds; want 90 ms over (180 + 10) / 4 cores", lifetime, f.Speedup, f.Bound)
		}
	}
}

// youngWorkers is a run of 90 ms steps on 4 cores: two workers take 180 ms of core time
// for a batch, the loop 10 ms, and the workers are replaced by new ones after a time.
// Counters are read once a second.
func youngWorkers(lifetime float64) *recording.Run {
	seconds, step, ofWorker, ofLoop := 40.0, 0.09, 0.18, 0.01
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: 4, Allowed: 4},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer}},
		Loaders:   []recording.Loader{{PID: 1, Settings: stoker.Settings{stoker.NumWorkers: 2}}},
	}}
	for n := range int(seconds / step) {
		run.Steps = append(run.Steps, recording.Step{
			PID: 1, N: n, Start: float64(n) * step, Period: step, Wait: step - ofLoop, Samples: 64, Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
	}
	counter := func(signal recording.Signal, subject string, from, to, perSecond float64) (first, last float64) {
		s := recording.Series{Signal: signal, Subject: subject}
		for at := math.Ceil(from); at < to; at++ {
			s.T, s.V = append(s.T, at), append(s.V, (at-from)*perSecond)
		}
		run.Series = append(run.Series, s)
		return math.Ceil(from), math.Ceil(to) - 1
	}
	pid := 10
	for born := 0.3; born < seconds; born += lifetime {
		for range 2 {
			pid++
			end := min(seconds, born+lifetime)
			subject := fmt.Sprintf("process/%d", pid)
			first, last := counter(recording.ProcessCPU, subject, born, end, 1)
			counter(recording.FetchCount, subject, born, end, 1/ofWorker)
			counter(recording.FetchWall, subject, born, end, 1)
			counter(recording.FetchCPU, subject, born, end, 1)
			run.Facts.Processes = append(run.Facts.Processes, recording.Process{PID: pid, Parent: 1, Role: recording.RoleWorker, Start: first, End: last})
		}
	}
	counter(recording.ProcessCPU, "process/1", 0, seconds, ofLoop/step)
	counter(recording.TreeCPU, "tree", 0, seconds, 2+ofLoop/step)
	counter(recording.MachineCPU, "machine", 0, seconds, 2+ofLoop/step)
	return run
}

// A change that changes nothing is worth nothing: the setting as it is, and a deeper
// queue for one worker that is always behind.
func TestNothingChanged(t *testing.T) {
	run, err := recording.Open("../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	b := From(run)
	for _, c := range []stoker.Change{{Setting: stoker.NumWorkers, To: 1}, {Setting: stoker.PrefetchFactor, To: b.Settings[stoker.PrefetchFactor]}} {
		if f := b.Forecast(c); f.Speedup != stoker.Exactly(1) || f.Step != stoker.Exactly(b.Took) {
			t.Errorf("%v as it is: %+v, %+v", c.Setting, f.Speedup, f.Step)
		}
	}
	for _, c := range []stoker.Change{{Setting: stoker.PrefetchFactor, To: 4}, {Setting: stoker.PinMemory, To: true}} {
		if f := b.Forecast(c); !f.Speedup.Contains(1) || !near(f.Speedup.Point, 1, 0.03) {
			t.Errorf("%v of one worker that is always behind: %+v, want 1", c.Setting, f.Speedup)
		}
	}
	if f := b.Forecast(); !near(f.Residual, 1, 0.1) {
		t.Errorf("the law explains 1/%.2f of the measured step", f.Residual)
	}
}

// Reads per second and latency bind where bytes/s do not: the figures.
func TestReadsBind(t *testing.T) {
	s := images(t)
	s.Workers, s.Cores, s.Sample, s.Storage = 16, 64, stoker.Exactly(110e3), stoker.Exactly(270e6)
	s.Reads, s.PerFile, s.Latency = stoker.Exactly(152), stoker.Exactly(1), stoker.Exactly(1/152.)
	if a := mustSolve(t, s); !near(a.Step.Point, 256.0/152, 0.01) || a.Bound.Resource != stoker.Storage {
		t.Errorf("a hard disk reads 256 files in %v s, %s binds; want 1.7 s", a.Step.Point, a.Bound.Resource)
	}
	s.Storage, s.Reads, s.Latency = stoker.Exactly(2.8e9), stoker.Exactly(5500), stoker.Exactly(0.15)
	if a := mustSolve(t, s); !near(a.Step.Point, 256*0.15/16, 0.15) || a.Bound.Resource != stoker.Worker {
		t.Errorf("16 workers that wait 150 ms for each of 256 objects take %v s, %s binds; want 2.4 s", a.Step.Point, a.Bound.Resource)
	}
}
