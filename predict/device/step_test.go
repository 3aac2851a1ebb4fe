package device

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

var (
	allPrecisions = append([]hardware.Precision{AnyPrecision}, hardware.Precisions...)
	allClasses    = []Software{AnySoftware, Eager, ChannelsLast, Compiled, Engine}
	manyBatches   = []float64{1, 2, 3, 8, 32, 100, 1024}
)

// namedCurve is a load with its name and its curve.
type namedCurve struct {
	name string
	Load
	Curve
}

// allCurves is each load that has a curve. Several tests go through them.
var allCurves = sync.OnceValue(func() (all []namedCurve) {
	for _, w := range Workloads {
		for _, g := range hardware.GPUs {
			for _, p := range allPrecisions {
				for _, s := range allClasses {
					for _, training := range []bool{false, true} {
						l := Load{Workload: w, GPU: g, Precision: p, Software: s, Training: training}
						if c, err := l.StepCurve(); err == nil {
							name := fmt.Sprintf("%s on %s, %s, %q, training %v", w.Name, g.Name, p, s, training)
							all = append(all, namedCurve{name, l, c})
						}
					}
				}
			}
		}
	}
	return all
})

// everyLoad calls f for each load that has a curve.
func everyLoad(t *testing.T, f func(name string, l Load, c Curve)) {
	t.Helper()
	if count := len(allCurves()); count < 1000 {
		t.Fatalf("only %d loads have a curve", count)
	}
	for _, n := range allCurves() {
		f(n.name, n.Load, n.Curve)
	}
}

// Every curve holds numbers in order, and a bigger batch never makes a step
// shorter, nor a sample's share of it longer.
func TestCurvesAreSane(t *testing.T) {
	everyLoad(t, func(name string, _ Load, c Curve) {
		var before stoker.Interval
		last := math.Inf(1)
		for _, b := range manyBatches {
			at := c.At(b)
			if !(at.Low > 0 && at.Low <= at.Point && at.Point <= at.High) || math.IsInf(at.High, 0) {
				t.Fatalf("%s: batch %v takes %v", name, b, at)
			}
			if at.Low < before.Low || at.Point < before.Point || at.High < before.High {
				t.Errorf("%s: batch %v takes %v, a smaller one %v", name, b, at, before)
			}
			if at.Point/b > last*(1+1e-9) {
				t.Errorf("%s: a sample takes longer at batch %v", name, b)
			}
			before, last = at, at.Point/b
		}
		if !(c.Memory > 0 && c.Weights > 0) || c.Source == "" ||
			(c.Kind != fromMeasurements && c.Kind != fromEfficiency) {
			t.Errorf("%s: memory %v, weights %v, kind %q, source %q", name, c.Memory, c.Weights, c.Kind, c.Source)
		}
	})
}

// A device with a higher peak and more bandwidth is never slower, and one with
// only one of them is not either.
func TestFasterChipIsNeverSlower(t *testing.T) {
	everyLoad(t, func(name string, l Load, c Curve) {
		if l.Software == AnySoftware {
			return // made of the others
		}
		for _, gain := range [][2]float64{{1.5, 1}, {1, 1.5}, {3, 3}} {
			better := l
			for _, f := range []*hardware.Figure{
				&better.GPU.FP32, &better.GPU.TF32, &better.GPU.FP16,
				&better.GPU.FP8, &better.GPU.INT8,
			} {
				f.Value *= gain[0]
			}
			better.GPU.MemoryRate.Value *= gain[1]
			fast, err := better.StepCurve()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, b := range manyBatches {
				if fast.At(b).Point > c.At(b).Point*(1+1e-9) {
					t.Errorf("%s: %v times the device takes %v at batch %v, the device %v", name, gain,
						fast.At(b).Point, b, c.At(b).Point)
				}
			}
		}
	})
}

// Training takes longer than inference, and 32 bits no less than 16.
func TestMoreWorkTakesLonger(t *testing.T) {
	everyLoad(t, func(name string, l Load, c Curve) {
		if l.Training {
			return
		}
		harder := map[string]Load{}
		if l.Software != Engine {
			trained := l
			trained.Training = true
			harder["training"] = trained
		}
		if l.Precision == hardware.FP16 {
			wide := l
			wide.Precision = hardware.FP32
			harder["fp32"] = wide
		}
		for what, h := range harder {
			slow, err := h.StepCurve()
			if err != nil {
				continue
			}
			for _, b := range manyBatches[5:] { // small batches wait for launches, in any precision
				if slow.At(b).Point < c.At(b).Point {
					t.Errorf("%s: %s takes %v at batch %v, %v without", name, what, slow.At(b).Point, b, c.At(b).Point)
				}
			}
		}
	})
}

// The curve of a measured load holds most of its own measurements, and where it
// misses one, others of the same load contradict it.
func TestMeasuredRowsLieInTheirCurves(t *testing.T) {
	count, inside := 0, 0
	for _, m := range fitRows(t) {
		l, err := m.Load()
		if err != nil {
			t.Errorf("%s on %s: %v", m.Variant, m.GPU, err)
			continue
		}
		if m.Recompute || l.Software == AnySoftware {
			continue
		}
		c, err := l.StepCurve()
		if err != nil {
			t.Errorf("%s on %s: %v", m.Variant, m.GPU, err)
			continue
		}
		if c.Kind != fromMeasurements || !strings.HasPrefix(c.Source, "measured: ") {
			t.Errorf("%s on %s: kind %q, source %q, though it was measured", m.Variant, m.GPU, c.Kind, c.Source)
		}
		count++
		if c.At(m.Batch).Contains(m.Step()) {
			inside++
		}
	}
	if count == 0 || float64(inside) < 0.9*float64(count) {
		t.Errorf("%d of %d measured steps lie in their curves", inside, count)
	}
}

// One chip and one network: 1,582, 2,470 and 3,578 images/s in public tables, by
// software alone.
func TestSpreadBySoftware(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	at := func(s Software) stoker.Interval {
		l.Software = s
		c, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		step := c.At(256)
		return stoker.Interval{Low: 256 / step.High, Point: 256 / step.Point, High: 256 / step.Low}
	}
	for class, rate := range map[Software]float64{Eager: 1582, ChannelsLast: 2470, Compiled: 3578} {
		if got := at(class); !got.Contains(rate) {
			t.Errorf("%s: %.0f images/s, want %v within", class, got, rate)
		}
		if got := at(AnySoftware); !got.Contains(rate) {
			t.Errorf("any software: %.0f images/s, want %v within", got, rate)
		}
	}
	if !(at(Eager).Point < at(ChannelsLast).Point && at(ChannelsLast).Point < at(Compiled).Point) {
		t.Errorf("rates by class are %.0f, %.0f, %.0f", at(Eager), at(ChannelsLast), at(Compiled))
	}
}

// What nobody said is not taken for the fastest: without a precision the interval
// reaches over that of 16 bits and over what PyTorch takes by itself, and 32 bits
// for a network of matrix products.
func TestUnnamedPrecision(t *testing.T) {
	for _, network := range []string{"resnet50", "bert-large"} {
		for _, gpu := range []string{"v100-sxm-16gb", "h100-sxm", "mi300x"} {
			l := resnetOn(t, gpu)
			l.Workload, _ = FindWorkload(network)
			l.Precision = AnyPrecision
			all, err := l.StepCurve()
			if err != nil {
				t.Fatal(err)
			}
			l.Precision = hardware.FP16
			fast, _ := l.StepCurve()
			l.Precision = hardware.FP32
			if network == "resnet50" && l.GPU.TF32.Known() {
				l.Precision = hardware.TF32
			}
			slow, _ := l.StepCurve()
			at, low, high := all.At(64), fast.At(64), slow.At(64)
			if at.Low > low.Low || at.High < high.High || !(at.Point > low.Point) || all.Memory > fast.Memory {
				t.Errorf("%s on %s: %v without a precision, %v in fp16, %v in %s", network, gpu, at, low, high,
					l.Precision)
			}
		}
	}
}

func resnetOn(t *testing.T, gpu string) Load {
	t.Helper()
	w, _ := FindWorkload("resnet50")
	g, known := hardware.FindGPU(gpu)
	if !known {
		t.Fatalf("no GPU %q", gpu)
	}
	return Load{Workload: w, GPU: g, Precision: hardware.FP16, Training: true}
}

// Times hang on the chip, not on its name: the same figures under another name
// give the same curve, and rounded ones nearly the same. Another variant gets its
// generation's efficiency, an unknown generation the average one.
func TestTimesHangOnTheChip(t *testing.T) {
	for _, class := range []Software{Eager, ChannelsLast, Compiled} {
		l := resnetOn(t, "a100-80gb-sxm")
		l.Software = class
		known, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		twin := l
		twin.GPU.Name, twin.GPU.Title, twin.GPU.Match = "ours", "our own name for it", nil
		if c, err := twin.StepCurve(); err != nil || c.Point != known.Point || c.Low != known.Low ||
			c.High != known.High || c.Kind != known.Kind {
			t.Errorf("%s: the same chip under another name takes %v, not %v (%v)", class, c.At(256), known.At(256), err)
		}
		twin.GPU.FP16.Value, twin.GPU.MemoryRate.Value = 310e12, 2e12
		if c, err := twin.StepCurve(); err != nil || math.Abs(c.At(256).Point/known.At(256).Point-1) > 0.03 ||
			c.Kind != known.Kind {
			t.Errorf("%s: with rounded figures it takes %v, %s, not %v (%v)", class, c.At(256), c.Kind, known.At(256),
				err)
		}
	}
	l := resnetOn(t, "a100-80gb-sxm")
	l.Software = Compiled
	known, _ := l.StepCurve()
	l.GPU.PowerLimit.Value = 200
	capped, err := l.StepCurve()
	if err != nil || capped.Kind != fromEfficiency {
		t.Fatalf("another power limit: kind %q, %v", capped.Kind, err)
	}
	if r := capped.At(256).Point / known.At(256).Point; r < 0.7 || r > 1.4 {
		t.Errorf("an A100 with another power limit takes %.2f of its step", r)
	}
	l.GPU.ComputeMajor, l.GPU.ComputeMinor = 0, 0
	if c, err := l.StepCurve(); err != nil || !(c.At(256).Point > 0) {
		t.Errorf("unknown generation: %v, %v", c.At(256), err)
	}
}

// One chip, one network, one precision: a compiled program takes no longer than the
// same one as it comes, at any batch.
func TestCompiledIsNeverSlower(t *testing.T) {
	pairs := 0
	everyLoad(t, func(name string, l Load, c Curve) {
		if l.Software != Compiled {
			return
		}
		l.Software = Eager
		plain, err := l.StepCurve()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pairs++
		for _, b := range manyBatches {
			if was, is := plain.At(b), c.At(b); is.Point > was.Point || is.Low > was.Low || is.High > was.High {
				t.Errorf("%s: %v at batch %v, %v as it comes", name, is, b, was)
			}
		}
	})
	if pairs < 500 {
		t.Errorf("only %d pairs", pairs)
	}
}

func TestCurveErrors(t *testing.T) {
	good := resnetOn(t, "v100-sxm-16gb")
	for want, change := range map[string]func(*Load){
		"no fp8 units":  func(l *Load) { l.Precision = hardware.FP8 },
		"use fp16, in":  func(l *Load) { l.Precision = hardware.BF16 },
		"use fp32, or":  func(l *Load) { l.Precision = hardware.TF32 },
		"no such unit":  func(l *Load) { l.Precision, l.Training = hardware.INT8, false },
		"is recomputed": func(l *Load) { l.Recompute, l.Training = true, false },

		"one of fp32":    func(l *Load) { l.Precision = "fp7" },
		"bandwidth":      func(l *Load) { l.GPU.MemoryRate.Value = 0 },
		"not known":      func(l *Load) { l.Workload.Forward.Value = math.NaN() },
		"software class": func(l *Load) { l.Software = "fast" },
		"for inference":  func(l *Load) { l.Software = Engine },
		"known model":    func(l *Load) { l.Workload = Workload{} },
		"known GPU":      func(l *Load) { l.GPU = hardware.GPU{} },
	} {
		l := good
		change(&l)
		if _, err := l.StepCurve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
	t4 := resnetOn(t, "t4")
	t4.Precision = hardware.INT8
	if _, err := t4.StepCurve(); err == nil || !strings.Contains(err.Error(), "not trained in int8") {
		t.Errorf("training in int8: %v", err)
	}
}

// Adam on 8 B parameters does not fit an 80 GiB device; ResNet-50 at batch 256
// does.
func TestMemory(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	c, _ := l.StepCurve()
	if need := c.Weights + 256*c.Memory; need > l.GPU.MemoryBytes.Value {
		t.Errorf("ResNet-50 at batch 256 needs %.3g bytes", need)
	}
	l.Workload, _ = FindWorkload("llama-8b")
	if c, _ := l.StepCurve(); c.Weights < l.GPU.MemoryBytes.Value {
		t.Errorf("training Llama 8 B needs %.3g bytes without activations", c.Weights)
	}
	l.Training = false
	if c, _ := l.StepCurve(); c.Weights > l.GPU.MemoryBytes.Value/4 {
		t.Errorf("inference with Llama 8 B needs %.3g bytes without activations", c.Weights)
	}
}

func TestCurveAtAllocatesNothing(t *testing.T) {
	c, err := resnetOn(t, "t4").StepCurve()
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = c.At(64) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleLoad_StepCurve() {
	w, _ := FindWorkload("resnet50")
	gpu, _ := hardware.FindGPU("a100-80gb-sxm")
	load := Load{Workload: w, GPU: gpu, Precision: hardware.FP16, Training: true, Software: ChannelsLast}
	curve, err := load.StepCurve()
	if err != nil {
		fmt.Println(err)
		return
	}
	step := curve.At(256)
	fmt.Printf("%s: about %.0f images/s\n", curve.Kind, math.Round(256/step.Point/100)*100)
	// Output: measured: about 2500 images/s
}

// No chip multiplies matrices faster than its peak, whatever figures of others say.
func TestNoTransformerBeatsThePeak(t *testing.T) {
	for _, w := range Workloads {
		for _, gpu := range hardware.GPUs {
			for _, precision := range []hardware.Precision{hardware.FP32, hardware.FP16, hardware.BF16} {
				for _, software := range []Software{Eager, Compiled, Engine} {
					l := Load{Workload: w, GPU: gpu, Precision: precision, Software: software}
					c, err := l.StepCurve()
					if err != nil || w.Family != Transformer {
						continue
					}
					least := w.Forward.Value / gpu.Peak(precision).Value
					if l.mayFlash() {
						least -= w.Masked / gpu.Peak(precision).Value
					}
					if low := c.Low.PerSample; low < 0.999*least {
						t.Errorf("%s on %s in %s with %s: %.3g s a sample, the peak allows %.3g", w.Name, gpu.Name, precision, software, low, least)
					}
				}
			}
		}
	}
}
