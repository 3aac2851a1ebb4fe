package predict

import (
	"fmt"
	"math"

	"stoker"
	"stoker/hardware"
)

// Load is what a device is asked to do in a step.
type Load struct {
	Workload  Workload
	GPU       hardware.GPU
	Precision hardware.Precision
	Software  Software
	Training  bool
}

// Curve is the step time of a Load over its batch size.
type Curve struct {
	// Low, Point and High are the ends of the interval, each as
	// t(B) = (Floor^4 + (Fixed + PerSample B)^4)^(1/4), seconds: launches run
	// ahead of the device, so the slower of the two decides.
	Low, Point, High Terms

	Source string // where the figures come from, for people: "measured: NVIDIA DeepLearningExamples, 2023-01, batch 256"
	Kind   string // "measured" or "efficiency"

	Memory  float64 // bytes of device memory per sample at least, NaN where unknown
	Weights float64 // bytes of device memory whatever the batch, NaN where unknown
}

// The kinds of Curve.
const (
	FromMeasurements = "measured"   // this workload, GPU, precision and software class were measured
	FromEfficiency   = "efficiency" // FLOP and bytes at efficiencies that others reached
)

// Terms are the coefficients of one end of a Curve, seconds.
type Terms struct{ Floor, Fixed, PerSample float64 }

// At is the step time at a batch size, seconds.
func (c Curve) At(batch float64) stoker.Interval {
	return stoker.Interval{Low: c.Low.at(batch), Point: c.Point.at(batch), High: c.High.at(batch)}
}

func (t Terms) at(batch float64) float64 {
	device := t.Fixed + t.PerSample*batch
	if t.Floor == 0 {
		return device
	}
	a, b := t.Floor*t.Floor, device*device
	return sqrt4(a*a + b*b)
}

// scaled multiplies the launches' time and the device's.
func (t Terms) scaled(launch, device float64) Terms {
	return Terms{Floor: launch * t.Floor, Fixed: device * t.Fixed, PerSample: device * t.PerSample}
}

// deviceBound is how much of the step time at a batch size is the device's: 1
// where launches do not matter, 0 where nothing else does. It is the relative
// change of t(B) per relative change of the device's time.
func (t Terms) deviceBound(batch float64) float64 {
	if t.Floor == 0 {
		return 1
	}
	ratio := t.Floor / (t.Fixed + t.PerSample*batch)
	return 1 / (1 + ratio*ratio*ratio*ratio)
}

// Curve is the step time of the load over its batch size:
//
//  1. FLOP and bytes of the workload, peaks of the GPU, and the efficiencies that
//     published steps reached (see efficient) give a first curve;
//  2. published steps of the same workload correct it, the more the closer they
//     are in GPU, precision and software class, and none that contradicts the
//     others decides (see evidence);
//  3. the interval is as wide as the errors at steps that were left out of 1 and
//     2 (see widths).
//
// Without a software class the interval spans all classes, and the point is their
// geometric middle. It fails where the GPU has no peak in the precision.
func (l Load) Curve() (Curve, error) {
	if err := l.check(); err != nil {
		return Curve{}, err
	}
	if l.Software != AnySoftware {
		return l.curve(), nil
	}
	var all Curve
	for i, class := range l.classes() {
		l.Software = class
		c := l.curve()
		if i == 0 {
			all = c
		}
		all = spread(all, c)
	}
	all.Point = each(all.Low, all.High, func(a, b float64) float64 { return math.Sqrt(a * b) })
	all.Source = "any software: from the low end of the fastest class to the high end of the slowest; " + all.Source
	return all, nil
}

// classes are the software classes that differ for a workload: the memory layout
// means nothing to a network without images.
func (l Load) classes() []Software {
	classes := []Software{Compiled, Eager}
	if l.Workload.Family != Transformer {
		classes = append(classes, ChannelsLast)
	}
	if !l.Training {
		classes = append(classes, Engine)
	}
	return classes
}

// spread is the curve that reaches over both.
func spread(a, b Curve) Curve {
	a.Low = each(a.Low, b.Low, math.Min)
	a.High = each(a.High, b.High, math.Max)
	if a.Kind != b.Kind {
		a.Kind = FromEfficiency
	}
	return a
}

func each(a, b Terms, f func(a, b float64) float64) Terms {
	return Terms{Floor: f(a.Floor, b.Floor), Fixed: f(a.Fixed, b.Fixed), PerSample: f(a.PerSample, b.PerSample)}
}

// unseenChip is how much wider an interval is, as a logarithm, where no GPU of the
// architecture was measured in that precision: 1.44 standard deviations of the
// priors of its two factors, 0.3 and 0.2, which hold 85 % of a normal distribution.
const unseenChip = 1.44 * 0.36

// curve is that of a named software class.
func (l Load) curve() Curve {
	ideal := l.ideal(l.passes())
	first := efficient.terms(ideal)
	found := evidence.about(&l)
	point := first.scaled(math.Exp(found.launch), math.Exp(found.device))
	w := widths[found.level][training(l.Training)]
	if _, measured := efficient[ideal.keys().chip()]; !measured {
		w.device = math.Hypot(w.device, unseenChip)
	}
	c := Curve{
		Low: point.scaled(math.Exp(-w.launch), math.Exp(-w.device)), Point: point, High: point.scaled(math.Exp(w.launch), math.Exp(w.device)),
		Kind: FromEfficiency, Source: found.source(), Memory: l.memory(), Weights: l.weights(),
	}
	if found.level == exact {
		c.Kind = FromMeasurements
	}
	return c
}

func (l Load) check() error {
	w, g := l.Workload, l.GPU
	switch {
	case !positive(w.Forward.Value) || !positive(w.Params.Value) || !positive(w.Layers) || !(w.Activations.Value >= 0) || math.IsInf(w.Activations.Value, 0):
		return fmt.Errorf("step time of %q: its FLOP, bytes, parameters and layers are not known: name one of the known models, or give the step time itself", w.Name)
	case !positive(g.MemoryRate.Value):
		return fmt.Errorf("step time of %s on %q: the memory bandwidth of this GPU is not known: name a known GPU, or give the step time itself", w.Title, g.Name)
	case !positive(g.Peak(l.Precision).Value):
		return fmt.Errorf("step time of %s on %s in %q: this GPU has no such unit, or its peak is not known: choose %s, or give the step time itself", w.Title, g.Title, l.Precision, precisionsOf(g))
	case l.Training && l.Precision == hardware.INT8:
		return fmt.Errorf("step time of %s in int8: networks are not trained in int8: choose another precision, or ask for inference", w.Title)
	}
	switch l.Software {
	case AnySoftware, Eager, ChannelsLast, Compiled:
		return nil
	case Engine:
		if l.Training {
			return fmt.Errorf("step time of %s in training: software class %q is for inference: choose %s, %s or %s", w.Title, Engine, Eager, ChannelsLast, Compiled)
		}
		return nil
	}
	return fmt.Errorf("software class %q is not known: expected %s, %s, %s or %s, or none for the whole spread", l.Software, Eager, ChannelsLast, Compiled, Engine)
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// precisionsOf lists what a GPU has peaks for: "one of fp32, tf32, fp16".
func precisionsOf(g hardware.GPU) string {
	text := ""
	for _, p := range []hardware.Precision{hardware.FP32, hardware.TF32, hardware.FP16, hardware.FP8, hardware.INT8} {
		if g.Peak(p).Value > 0 {
			text += ", " + string(p)
		}
	}
	if text == "" {
		return "a known GPU"
	}
	return "one of " + text[2:]
}

// bytesPer is the width of an activation in device memory, bytes. FP8 is a width of
// matrix products: between them numbers have 16 bits.
func bytesPer(p hardware.Precision) float64 {
	switch p {
	case hardware.FP16, hardware.FP8:
		return 2
	case hardware.INT8:
		return 1
	case hardware.FP32, hardware.TF32:
	}
	return 4
}

// updates is how many times a training step reads or writes a parameter's bytes:
// weights in both passes, gradient, and an optimiser with two moments. An
// estimate; it matters for batches of a few samples only.
const updates = 5

// ideal is what a load would cost a device without losses.
type ideal struct {
	load    Load
	compute float64 // seconds per sample at the peak
	move    float64 // seconds per sample at the memory bandwidth
	scores  float64 // seconds per sample to move the attention's scores once
	weights float64 // seconds per step to read the parameters once, and update them
	layers  float64 // launched per step, those of all passes
}

func (l Load) ideal(passes float64) ideal {
	weights := l.Workload.Params.Value * bytesPer(l.Precision) / l.GPU.MemoryRate.Value
	if l.Training {
		weights *= updates
	}
	return ideal{
		load:    l,
		compute: passes * l.Workload.Forward.Value / l.GPU.Peak(l.Precision).Value,
		move:    passes * l.Workload.Activations.Value * bytesPer(l.Precision) / 2 / l.GPU.MemoryRate.Value,
		scores:  passes * l.Workload.scores() * bytesPer(l.Precision) / l.GPU.MemoryRate.Value,
		weights: weights,
		layers:  passes * l.Workload.Layers,
	}
}

// weights is the device memory that a load takes whatever its batch, bytes.
func (l Load) weights() float64 {
	p := l.Workload.Params.Value
	switch {
	case !l.Training && l.Precision == hardware.FP8:
		return p
	case !l.Training:
		return p * bytesPer(l.Precision)
	case l.Workload.Family == Transformer:
		return 16 * p // 16-bit weights and gradients, 32-bit copy and two moments of Adam; 32 bits throughout: the same
	}
	return 12 * p // 32-bit weights, gradients and momentum
}

// memory is the device memory that a sample takes, bytes: what the backward pass
// needs, or at inference a layer's input and output. Libraries' workspace comes
// on top.
func (l Load) memory() float64 {
	kept := l.Workload.Stored.Value * bytesPer(l.Precision) / 2
	if !l.Training {
		kept *= min(1, 2/l.Workload.Layers)
	}
	return kept
}
