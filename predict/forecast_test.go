package predict

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
)

// The golden cases of the issue: 50 ms on the CPU and 10 ms on the GPU.
func TestGoldenSerialAndOverlapped(t *testing.T) {
	const cpu, gpu = 0.050, 0.010
	if step := StepSerial(cpu, gpu); !near(step, 0.060, 1e-12) || !near(gpu/step, 1.0/6, 1e-3) {
		t.Errorf("serial: step %v, busy %v; want 60 ms, 16.7 %%", step, gpu/step)
	}
	if step := StepOverlapped(cpu, gpu); !near(step, 0.050, 1e-12) || !near(gpu/step, 0.2, 1e-12) ||
		!near(step-gpu, 0.040, 1e-12) {
		t.Errorf("overlapped: step %v, busy %v, idle %v; want 50 ms, 20 %%, 40 ms", step, gpu/step, step-gpu)
	}
}

// loader is a job that was measured with a serial, synchronising loop.
func loader(load, loop, cores float64, workers int) Baseline {
	step := StepSerial(load, loop)
	if workers > 0 {
		step = StepOverlapped(load/float64(workers), loop)
	}
	return Baseline{
		Took: step, Settings: stoker.Settings{stoker.NumWorkers: workers},
		Setup: Setup{
			Batch: 1, Cores: cores, Step: stoker.Exactly(loop), PrepareCPU: stoker.Exactly(load), Cached: 1,
			LoopCPU: stoker.Exactly(1e-6),
		}.WithWorkers(float64(workers)),
	}
}

func with(b Baseline, name stoker.Setting, to any) Forecast {
	return b.Forecast(stoker.Change{Setting: name, To: to})
}

func TestGoldenThroughOneWorker(t *testing.T) {
	f := with(loader(0.050, 0.010, 8, 0), stoker.NumWorkers, 1)
	if f.Step.Low < 0.047 || f.Step.Low > 0.050 || !f.Step.Contains(0.050) || !f.Step.Contains(0.0515) {
		t.Errorf("one worker: step %+v, want 50 ms within the law's error at best", f.Step)
	}
	if !near(f.Stall.High, 0.8, 0.06) || f.Bound != stoker.Worker {
		t.Errorf("one worker: stall %+v, bound %s; want about 80 %%, the worker", f.Stall, f.Bound)
	}
}

func TestUnchangedSettingsGiveTheMeasuredStep(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		p := loader(0.050, 0.010, 8, workers)
		if f := p.Forecast(); f.Step != stoker.Exactly(p.Took) || f.Speedup != stoker.Exactly(1) {
			t.Errorf("%d workers: %+v, want the measured %v", workers, f.Step, p.Took)
		}
	}
}

func TestWorkersUntilLoopOrCoresBind(t *testing.T) {
	p := loader(0.050, 0.010, 8, 0)
	if f := with(p, stoker.NumWorkers, 8); f.Bound != stoker.GPU || !near(f.Step.Point, 0.010, 0.0005) {
		t.Errorf("8 workers on 8 cores: %+v bound %s, want the loop's 10 ms", f.Step, f.Bound)
	}
	p.Cores = 2
	if f := with(p, stoker.NumWorkers, 8); f.Bound != stoker.CPU || !f.Step.Contains(0.025*1.03) {
		t.Errorf("8 workers on 2 cores: %+v bound %s, want the cores' 25 ms", f.Step, f.Bound)
	}
}

// A loop that loads by itself has to take batches over once a worker makes them: a step of
// 23.3 ms, 14.8 of them the loop's, came to 16.5 to 16.8 ms (pytorch/examples vae). Where
// queued work covers loading it covers that as well.
func TestTakingBatchesOverIsInsideTheInterval(t *testing.T) {
	serial := with(loader(0.0085, 0.0148, 8, 0), stoker.NumWorkers, 1)
	if !serial.Step.Contains(0.0165) || !serial.Step.Contains(0.0168) {
		t.Errorf("step %+v does not contain what was measured", serial.Step)
	}
	covered := loader(0.0085, 0.0148, 8, 0)
	covered.Took = 0.0148
	if f := with(covered, stoker.NumWorkers, 1); f.Step.High > 0.0148*lawError.High+1e-9 {
		t.Errorf("covered: step %+v", f.Step)
	}
}

// A saturated disk does not get faster by more workers; one that each worker
// waits for by itself does.
func TestSharedWaits(t *testing.T) {
	p := loader(0.001, 0.010, 8, 0)
	p.Took += 0.099
	p.Wait, p.Shared = stoker.Exactly(0.099), stoker.Exactly(1)
	if f := with(p, stoker.NumWorkers, 8); f.Bound != stoker.Storage || f.Speedup.Point > 1.15 {
		t.Errorf("saturated disk: %+v bound %s", f.Speedup, f.Bound)
	}
	p.Shared = stoker.Exactly(0)
	if f := with(p, stoker.NumWorkers, 8); f.Speedup.Point < 5 {
		t.Errorf("waits of their own: %+v", f.Speedup)
	}
	if f := with(p, stoker.StorageKind, stoker.PageCache); !near(f.Step.Point, 0.011, 0.001) {
		t.Errorf("page cache: %+v, want load 1 ms + loop 10 ms", f.Step)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	p := loader(0.05, 0.01, 8, 0)
	if f := with(p, stoker.Precision, "bf16"); len(f.Notes) == 0 {
		t.Error("a setting without a model must be named")
	}
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by }

// Twice the batch is twice the work of workers and device; what a launch costs is
// shared by twice the samples.
func TestABatchOfAnotherSize(t *testing.T) {
	b := loader(0.060, 0.020, 8, 1)
	b.Batch, b.PrepareCPU = 32, stoker.Exactly(0.060/32)
	if f := with(b, stoker.BatchSize, 64); !near(f.Step.Point, 0.120, 0.003) || !near(f.Speedup.Point, 1, 0.02) ||
		!near(f.Throughput.Point, 64/0.120, 10) {
		t.Errorf("a saturated worker: step %+v, %+v per sample; want 120 ms and 1x", f.Step, f.Speedup)
	}
	b = loader(0.040, 0.035, 8, 0)
	b.Batch, b.PrepareCPU, b.Launch = 32, stoker.Exactly(0.040/32), stoker.Exactly(0.015)
	if f := with(b, stoker.BatchSize, "2x"); !near(f.Step.Point, 0.080+0.015+0.040, 0.004) ||
		!near(f.Speedup.Point, 2*0.075/0.135, 0.04) {
		t.Errorf("launches of 15 ms: step %+v, %+v per sample; want 135 ms and 1.11x", f.Step, f.Speedup)
	}
	b.Batch = 1 // unknown
	if f := with(b, stoker.BatchSize, 64); len(f.Notes) == 0 || f.Step != stoker.Exactly(b.Took) {
		t.Errorf("of an unknown batch: %+v", f)
	}
}
