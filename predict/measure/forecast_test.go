package measure

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// The same load, only the workers' lifetime differs: the forecast does not.
func TestShortLivedWorkers(t *testing.T) {
	for _, lifetime := range []float64{1000, 10, 5, 3, 2, 1} {
		run := youngWorkers(lifetime)
		f := From(run).Forecast(stoker.Change{Setting: stoker.NumWorkers, To: 4},
			stoker.Change{Setting: stoker.PersistentWorkers, To: true})
		if f.Bound != stoker.CPU || !near(f.Speedup.Point, 0.09*4*0.91/0.19, 0.03) {
			t.Errorf("workers that live %v s: %+v, %s binds; want 90 ms over (180 + 10) / 4 cores, of which 91 %% are in use", lifetime,
				f.Speedup, f.Bound)
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
			PID: 1, N: n, Start: float64(n) * step, Period: step, Wait: step - ofLoop, Samples: 64,
			Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(),
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
			run.Facts.Processes = append(run.Facts.Processes,
				recording.Process{PID: pid, Parent: 1, Role: recording.RoleWorker, Start: first, End: last})
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
	run, err := recording.Open("../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	b := From(run)
	for _, c := range []stoker.Change{
		{Setting: stoker.NumWorkers, To: 1},
		{Setting: stoker.PrefetchFactor, To: b.Settings[stoker.PrefetchFactor]},
	} {
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

// A batch whose samples nobody could count has as many as its loader puts together, and
// one of a loader that puts one together is unknown: nothing is said of samples per second.
func TestSamplesOfABatchThatNobodyCounts(t *testing.T) {
	for _, c := range []struct {
		IsSet any
		want  float64
	}{{128, 128}, {1, math.NaN()}, {nil, math.NaN()}} {
		run, err := recording.Open("../../testdata/cases/main-thread-live/run.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Steps {
			run.Steps[i].Samples = math.NaN()
		}
		settings := run.Facts.Loaders[0].Settings
		delete(settings, stoker.BatchSize)
		if c.IsSet != nil {
			settings[stoker.BatchSize] = c.IsSet
		}
		b := From(run)
		f := b.Forecast()
		if got := f.Throughput.Point * b.Took; math.Abs(got-c.want) > 1e-6 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("batch_size %v: %v samples a step, want %v", c.IsSet, got, c.want)
		}
	}
}

// The loop of an asynchronous run: load 40, launch 10, device 60 ms. The host
// waits most of its time, faster input is worth nothing; with a load of 80 ms it
// is worth the way to the device's 60 ms.
func TestAsynchronousLoops(t *testing.T) {
	for _, c := range []struct {
		name                               string
		step, host, wait, idle, deviceBusy float64
		wantLow, wantHigh, wantSpeed       float64
	}{
		{"healthy", 0.060, 0.050, 0.040, 0, 1, 0.060, 0.060, 1},
		{"load 80", 0.090, 0.090, 0.080, 0.020, 60.0 / 90, 0.060, 0.070, 1.5},
		{"item", 0.110, 0.110, 0.040, 0.040, 60.0 / 110, 0.070, 0.070, 110.0 / 70},
	} {
		k := Costs{Step: c.step, HostStep: c.host, Wait: c.wait, Idle: c.idle, Busy: c.deviceBusy}
		loop := k.loopTime(true)
		if !near(loop.Low, c.wantLow, 1e-9) || !near(loop.High, c.wantHigh, 1e-9) {
			t.Errorf("%s: loop %+v, want %v to %v", c.name, loop, c.wantLow, c.wantHigh)
		}
		p := predict.Baseline{Took: c.step, Settings: stoker.Settings{stoker.NumWorkers: 0}, Setup: predict.Setup{
			Batch: 1, Cores: 100, Step: loop, PrepareCPU: stoker.Exactly(c.wait), Cached: 1,
			LoopCPU: stoker.Exactly(1e-6),
		}.WithWorkers(0)}
		if f := p.Forecast(stoker.Change{Setting: stoker.NumWorkers, To: 16}); !f.Speedup.Contains(c.wantSpeed) ||
			f.Speedup.High/f.Speedup.Low > 1.6 {
			t.Errorf("%s: speed-up %+v, want %v inside", c.name, f.Speedup, c.wantSpeed)
		}
	}
}

// Of a run without steps nothing is known.
func TestOfNothingNothingIsForecast(t *testing.T) {
	if f := From(&recording.Run{}).Forecast(); f.Step.Known() || f.Speedup.Known() || len(f.Notes) == 0 {
		t.Errorf("forecast of nothing: %+v", f)
	}
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by }

// Six workers on four cores of an H100's machine: the loop was measured while it lacked cores, and 3.19x came
// with stoker.DataLoader (bench/gpu/RESULTS.md). Where workers leave its thread a core nothing is added.
func TestLoopThatLackedCores(t *testing.T) {
	for name, crowded := range map[string]bool{"gpu-all-cores": true, "gpu-few-workers": false} {
		run, err := recording.Open("../../testdata/cases/" + name + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		b := From(run)
		if b.Uncrowded < 0.9*b.Step.Low != crowded {
			t.Errorf("%s: a loop of %v, with its core %v", name, b.Step, b.Uncrowded)
		}
		measured := b
		measured.Uncrowded = 0
		feeds := []stoker.Change{
			{Setting: stoker.LoaderKind, To: stoker.StokerLoader}, {Setting: stoker.NumWorkers, To: 3},
		}
		f, before := b.Forecast(feeds...), measured.Forecast(feeds...)
		if crowded && (!f.Speedup.Contains(3.19) || before.Speedup.Contains(3.19) || f.Speedup.High > 4) {
			t.Errorf("%s: promised %+v, and %+v by the loop as measured", name, f.Speedup, before.Speedup)
		}
		if f.Speedup.Point != before.Speedup.Point || f.Speedup.Low != before.Speedup.Low ||
			!crowded && f.Speedup != before.Speedup {
			t.Errorf("%s: promised %+v, and %+v by the loop as measured", name, f.Speedup, before.Speedup)
		}
		more := stoker.Change{Setting: stoker.NumWorkers, To: 8} // leaves it no core
		if f, before := b.Forecast(more), measured.Forecast(more); f.Speedup != before.Speedup {
			t.Errorf("%s: promised %+v of more workers, and %+v by the loop as measured", name, f.Speedup, before.Speedup)
		}
	}
}
