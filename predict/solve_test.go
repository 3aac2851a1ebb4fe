package predict

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
)

// trained is ResNet-50 on an A100 with everything known.
func trained(t testing.TB) Setup {
	t.Helper()
	s := images(t)
	s.Step = stoker.Interval{}
	w, found := device.FindWorkload("resnet50")
	gpu, known := hardware.FindGPU("a100-80gb-sxm")
	if !found || !known {
		t.Fatal("no ResNet-50 or no A100")
	}
	s.Load = device.Load{Workload: w, GPU: gpu, Precision: hardware.FP16, Training: true, Software: device.Compiled}
	return s
}

func TestMemoryError(t *testing.T) {
	s := trained(t)
	s.Batch = 1 << 20
	_, err := s.Solve()
	var memory *MemoryError
	if !errors.As(err, &memory) || !(memory.Largest >= 1) || !(memory.Need > memory.Have) {
		t.Fatalf("a batch of a million images: %v", err)
	}
	if over := fmt.Sprintf("accumulate over %.0f such batches", math.Ceil(s.Batch/memory.Largest)); !strings.Contains(err.Error(), over) {
		t.Errorf("%v does not say %q", err, over)
	}
	s.Batch = memory.Largest
	if _, err := s.Solve(); err != nil {
		t.Errorf("the largest batch %v: %v", s.Batch, err)
	}
	s.Batch++
	if _, err := s.Solve(); err == nil {
		t.Errorf("batch %v fits though %v is the largest", s.Batch, memory.Largest)
	}
	linear := device.Terms{PerSample: 1}
	s.Curve = device.Curve{Low: linear, Point: linear, High: linear, Memory: 1, Weights: 1e15}
	if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), "optimiser alone take 1 PB") {
		t.Errorf("weights above the memory: %v", err)
	}
}

// Below the crossover the device binds, above it input does.
func TestCrossover(t *testing.T) {
	s := trained(t)
	s.Curve = device.Curve{
		Low: device.Terms{Floor: 0.02, PerSample: 1e-4}, Point: device.Terms{Floor: 0.02, PerSample: 1e-4},
		High:   device.Terms{Floor: 0.02, PerSample: 1e-4},
		Memory: math.NaN(), Weights: math.NaN(),
	}
	at := mustSolve(t, s).Crossover
	if !at.Batch.Known() || !(at.Batch.Low <= at.Batch.Point && at.Batch.Point <= at.Batch.High) {
		t.Fatalf("%+v", at)
	}
	for k, want := range map[float64]stoker.Stage{0.8: stoker.Compute, 1.25: stoker.Prepare} {
		s.Batch = math.Max(1, at.Batch.Point*k)
		if a := mustSolve(t, s); a.Bound.Stage != want {
			t.Errorf("batch %.1f: %+v binds, crossover %+v", s.Batch, a.Bound, at.Batch)
		}
	}
	s.PrepareCPU = stoker.Exactly(1)
	if at := mustSolve(t, s).Crossover; at.Batch.Known() || !strings.Contains(at.Text, "every batch") {
		t.Errorf("a second per image: %+v", at)
	}
}

// What Wrong says is true: at the value that it names the part binds as much as
// what bound before.
func TestWrongIsRight(t *testing.T) {
	s := images(t)
	a := mustSolve(t, s)
	if a.Bound.Resource != stoker.GPU || a.Next.Resource != stoker.Worker {
		t.Fatalf("bound %+v, next %+v", a.Bound, a.Next)
	}
	p, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	c := &solution{Setup: s, numbers: p, t: [3]times{
		p.partTimes(bounds.Optimist, bounds.Optimist),
		p.partTimes(bounds.Likely, bounds.Likely), p.partTimes(bounds.Pessimist, bounds.Pessimist),
	}}
	seen := 0
	for _, k := range c.levers() {
		v := k.valueAt(a.Step.Point)
		moved := s
		switch k.part {
		case onRead:
			moved.Storage = stoker.Exactly(v)
		case onWorker:
			moved.PrepareCPU = stoker.Exactly(v)
		case onCPU:
			moved.Cores = v
		case onCollect:
			moved.HandOver = stoker.Exactly(v)
		default:
			continue
		}
		seen++
		q, err := moved.compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := q.partTimes(bounds.Likely, bounds.Likely)[k.part]; !near(got/a.Step.Point, 1, 1e-6) {
			t.Errorf("part %d at %v takes %v, the step %v", k.part, v, got, a.Step.Point)
		}
	}
	if seen != 4 {
		t.Errorf("%d of 4 parts", seen)
	}
	if text := strings.Join(a.Wrong, "\n"); !strings.Contains(text,
		"storage would have to deliver less than 282 MB/s instead of 6.5 GB/s before it becomes the limit") {
		t.Error(text)
	}
}

// Gain is how much faster the step gets until Next binds.
func TestGain(t *testing.T) {
	s := images(t)
	s.Workers = 2
	a := mustSolve(t, s)
	if a.Bound.Resource != stoker.Worker || a.Next.Resource != stoker.GPU ||
		!near(a.Gain.Point, a.Step.Point/0.1, 1e-9) {
		t.Errorf("bound %+v next %+v gain %+v", a.Bound, a.Next, a.Gain)
	}
}

// Workers beyond the cores' rate are counted as too many, and those that all work are not.
func TestCountEnough(t *testing.T) {
	capped := func(most int) func(int) float64 {
		return func(workers int) float64 { return 1 / float64(min(workers, most)) }
	}
	unknown := func(int) float64 { return math.NaN() }
	for _, c := range []struct {
		workers int
		step    func(int) float64
		want    int
	}{
		{32, capped(8), 9},
		{16, capped(8), 0},
		{17, capped(8), 0},
		{20, capped(8), 9},
		{4, capped(1), 2},
		{3, capped(1), 0},
		{32, unknown, 0},
		{0, capped(1), 0},
	} {
		if got := CountEnough(c.workers, c.step); got != c.want {
			t.Errorf("%d workers: %d do as much, want %d", c.workers, got, c.want)
		}
	}
}
