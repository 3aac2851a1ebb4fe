package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Load is what a device is asked to do in a step.
type Load struct {
	Workload  Workload
	GPU       hardware.GPU
	Precision hardware.Precision // AnyPrecision where nobody said
	Software  Software           // AnySoftware where nobody said
	Training  bool
	Recompute bool  // training computes the forward pass again instead of keeping what the backward pass needs
	Shard     Shard // what data-parallel ranks share; NoShard: a copy each
}

// AnyPrecision says that nobody named a precision: the whole spread from 16 bits
// to what a program gets that asks for nothing.
const AnyPrecision hardware.Precision = ""

// Curve is the step time of a Load over its batch size.
type Curve struct {
	// Low, Point and High are the ends of the interval, each as
	// t(B) = (Floor^4 + (Fixed + PerSample B)^4)^(1/4), seconds: launches run
	// ahead of the device, so the slower of the two decides.
	Low, Point, High Terms

	Source string // where the figures come from, for people: "measured: NVIDIA DeepLearningExamples, 2023-01, batch 256"
	Kind   string // "measured", "efficiency" or "anchor"

	Memory  float64 // bytes of device memory per sample at least, NaN where unknown
	Weights float64 // bytes of device memory whatever the batch at least, NaN where unknown
	Shared  float64 // more of them, which all ranks share: each keeps its part
}

// The kinds of Curve.
const (
	fromMeasurements = "measured"   // this network, chip, precision and software class were measured
	fromEfficiency   = "efficiency" // FLOP and bytes at efficiencies that others reached
	fromAnchor       = "anchor"     // a measured step of the same program
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
//     are in chip, precision and software class, and none that contradicts the
//     others decides (see evidence);
//  3. the interval is as wide as the errors at sources that were left out of 1 and
//     2 (see widths).
//
// Without a software class or a precision the interval spans all that a program
// may have, and the point is their geometric middle: what nobody said is not taken
// for the fastest. It fails where the GPU has no peak in the precision.
func (l Load) Curve() (Curve, error) {
	if err := l.check(); err != nil {
		return Curve{}, err
	}
	return l.spanned(func(one Load) Curve { return one.curve() }), nil
}

// spanned is the curve over all families of networks, precisions and software
// classes that a load may have. Its terms reach over all of theirs, which is more
// than any has where one launches slowly and another computes slowly: at batches
// that are named it reaches as far as they do.
func (l Load) spanned(curve func(Load) Curve, batches ...float64) Curve {
	var some []Curve
	for _, one := range l.variants() {
		some = append(some, curve(one))
	}
	all := some[0]
	if len(some) == 1 {
		return all
	}
	slowest := all.Point
	for _, c := range some[1:] {
		all, slowest = spread(all, c), each(slowest, c.Point, math.Max)
	}
	all.Point = each(all.Point, slowest, func(a, b float64) float64 { return math.Sqrt(a * b) })
	all.within(some, batches)
	all.Source = l.unnamed() + ": from the low end of the fastest to the high end of the slowest; " + all.Source
	return all
}

// variants are the loads that a load may be where something of it is not named.
func (l Load) variants() (all []Load) {
	for _, family := range l.families() {
		l.Workload.Family = family
		for _, p := range l.precisions() {
			for _, class := range l.classes() {
				one := l
				one.Precision, one.Software = p, class
				all = append(all, one)
			}
		}
	}
	return all
}

// within draws the ends in as far as some curves allow at all of these batches.
// The point is their middle at the first.
func (c *Curve) within(some []Curve, batches []float64) {
	if len(batches) == 0 {
		return
	}
	low, high, point := math.Inf(1), 0.0, 0.0
	for i, batch := range batches {
		at := some[0].At(batch)
		slowest := at.Point
		for _, one := range some[1:] {
			other := one.At(batch)
			at.Low, at.High = min(at.Low, other.Low), max(at.High, other.High)
			at.Point, slowest = min(at.Point, other.Point), max(slowest, other.Point)
		}
		low, high = min(low, at.Low/c.Low.at(batch)), max(high, at.High/c.High.at(batch))
		if i == 0 {
			point = math.Sqrt(at.Point*slowest) / c.Point.at(batch)
		}
	}
	c.Low, c.Point, c.High = c.Low.scaled(low, low), c.Point.scaled(point, point), c.High.scaled(high, high)
}

// unnamed says what the curve spans.
func (l Load) unnamed() string {
	var what []string
	if l.Workload.Family == AnyFamily {
		what = append(what, "any kind of network")
	}
	if l.Precision == AnyPrecision {
		all := l.precisions()
		what = append(what, fmt.Sprintf("any precision (%s to %s)", all[0], all[len(all)-1]))
	}
	if l.Software == AnySoftware {
		what = append(what, "any software")
	}
	return strings.Join(what, ", ")
}

// precisions are those that a load may run in: the named one; else 16 bits, and
// what PyTorch computes in where nobody asks: since 1.12 convolutions in TF32 and
// matrix products in fp32 (torch.backends, allow_tf32).
func (l Load) precisions() []hardware.Precision {
	if l.Precision != AnyPrecision {
		return []hardware.Precision{l.Precision}
	}
	var all []hardware.Precision
	if l.GPU.Peak(hardware.FP16).Known() {
		all = append(all, hardware.FP16)
	}
	if l.Workload.Family != Transformer && l.GPU.Peak(hardware.TF32).Known() {
		return append(all, hardware.TF32)
	}
	if l.GPU.Peak(hardware.FP32).Known() {
		all = append(all, hardware.FP32)
	}
	return all
}

// classes are the software classes that a load may run in: the named one; else
// those that differ for a workload: the memory layout means nothing to a network
// without images.
func (l Load) classes() []Software {
	if l.Software != AnySoftware {
		return []Software{l.Software}
	}
	classes := []Software{Compiled, Eager}
	if l.Workload.Family != Transformer {
		classes = append(classes, ChannelsLast)
	}
	if !l.Training {
		classes = append(classes, Engine)
	}
	return classes
}

// spread is the curve that reaches over both, its point the quicker one's.
func spread(a, b Curve) Curve {
	a.Low, a.Point = each(a.Low, b.Low, math.Min), each(a.Point, b.Point, math.Min)
	a.High = each(a.High, b.High, math.Max)
	a.Memory = math.Min(a.Memory, b.Memory) // at least
	a.Weights, a.Shared = math.Min(a.Weights, b.Weights), math.Min(a.Shared, b.Shared)
	if a.Kind != b.Kind {
		a.Kind = fromEfficiency
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

// curve is that of a named software class and precision. Where figures of different
// sources make it slower than a load that cannot be the quicker one, that decides;
// what is not known of another chip stays unknown.
func (l Load) curve() Curve {
	c, found := l.ofItself()
	c.Source = found.source()
	for _, slower := range l.slower() {
		o, _ := slower.ofItself()
		c.Low, c.Point = each(c.Low, o.Low, math.Min), each(c.Point, o.Point, math.Min)
		if slower.GPU.Name == l.GPU.Name {
			c.High = each(c.High, o.High, math.Min)
		}
	}
	return c
}

// slower lists loads that take as long at least: the same program as it comes
// beside a compiled one, and either on known chips of the same architecture that
// have less of everything.
func (l Load) slower() []Load {
	all := []Load{l}
	for _, g := range hardware.GPUs {
		if architecture(g) == architecture(l.GPU) && dominates(l.GPU, g, l.Precision) && !sameChip(l.GPU, g, l.Precision) {
			other := l
			other.GPU = g
			all = append(all, other)
		}
	}
	if l.Software == Compiled {
		for _, o := range all[:len(all):len(all)] {
			o.Software = Eager
			all = append(all, o)
		}
	}
	return all[1:]
}

// dominates reports whether a chip has as much of all that makes a step quick as
// another one, as far as sheets agree.
func dominates(a, b hardware.GPU, p hardware.Precision) bool {
	for _, pair := range [][2]hardware.Figure{{a.Peak(p), b.Peak(p)}, {a.MemoryRate, b.MemoryRate}, {a.PowerLimit, b.PowerLimit}} {
		if !(alikeFigures*pair[0].Value >= pair[1].Value) || !pair[1].Known() {
			return false
		}
	}
	return true
}

// knowledge is what step times are computed from: efficiencies, and published steps
// beside them.
type knowledge struct {
	efficient efficiency
	evidence  clues
}

// published are all that are known.
var published = knowledge{efficient, evidence}

// of is the likely curve of a load by its own chip and software class, its doubt,
// and what it rests on.
func (f knowledge) of(l *Load) (Terms, width, finding) {
	ideal := l.ideal()
	found := f.evidence.about(l)
	w := widths[found.level][training(l.Training)]
	if _, measured := f.efficient[ideal.keys().chip()]; !measured {
		w.device = math.Hypot(w.device, unseenChip)
	}
	return f.efficient.terms(ideal).scaled(math.Exp(found.launch), math.Exp(found.device)), w, found
}

// between is the curve of a load around a likely one.
func (l Load) between(point Terms, w width, kind string) Curve {
	c := Curve{
		Low: point.scaled(math.Exp(-w.launch), math.Exp(-w.device)), Point: point, High: point.scaled(math.Exp(w.launch), math.Exp(w.device)),
		Kind: kind, Memory: l.memory(),
	}
	c.Weights, c.Shared = l.weights()
	return c
}

// ofItself is the curve by the figures of its own chip and software class.
func (l Load) ofItself() (Curve, finding) {
	point, w, found := published.of(&l)
	c := l.between(point, w, fromEfficiency)
	if found.level == exact {
		c.Kind = fromMeasurements
	}
	return c, found
}

func (l Load) check() error {
	w, g := l.Workload, l.GPU
	switch {
	case !positive(w.Forward.Value) || !positive(w.Params.Value) || !positive(w.Layers) || !(w.Activations.Value >= 0) || math.IsInf(w.Activations.Value, 0):
		return fmt.Errorf("step time of %q: its FLOP, bytes, parameters and layers are not known: name one of the known models, or give the step time itself", w.Name)
	case !positive(g.MemoryRate.Value):
		return fmt.Errorf("step time of %s on %q: the memory bandwidth of this GPU is not known: name a known GPU, or give the step time itself", w.Title, g.Name)
	}
	if err := l.checkPrecision(); err != nil {
		return fmt.Errorf("step time of %s on %s in %s: %w", w.Title, g.Title, l.Precision, err)
	}
	if l.Recompute && !l.Training {
		return fmt.Errorf("step time of %s: inference keeps nothing for a backward pass, so that nothing is recomputed: leave recomputation out, or ask for training", w.Title)
	}
	if err := l.checkShard(); err != nil {
		return err
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

// PrecisionError says why a device does not run a precision.
type PrecisionError struct {
	Precision, Instead hardware.Precision // what was asked, what to take
	why                string
}

// Error is the reason.
func (e *PrecisionError) Error() string { return e.why }

// checkPrecision says why a precision cannot be, and what to use instead.
func (l Load) checkPrecision() error {
	p, g := l.Precision, l.GPU
	instead := precisionsOf(g)
	switch {
	case p == AnyPrecision && len(l.precisions()) > 0:
		return nil
	case p == hardware.INT8 && l.Training:
		return fmt.Errorf("networks are not trained in int8: choose another precision, or ask for inference")
	case p == AnyPrecision || !slices.Contains(hardware.Precisions, p):
		return fmt.Errorf("no peak of this GPU is known for it: choose %s, or give the step time itself", instead)
	case g.Peak(p).Known():
		return nil
	case p == hardware.BF16 && g.FP16.Known():
		return &PrecisionError{p, hardware.FP16, "its Tensor Cores know fp16 and no bf16, which would run many times slower: use fp16, in training with a gradient scaler (torch.amp.GradScaler)"}
	case p == hardware.TF32 && g.FP32.Known():
		return &PrecisionError{p, hardware.FP32, "its Tensor Cores know no tf32, so that allow_tf32 changes nothing there: use fp32, or fp16 with autocast"}
	case p == hardware.FP8 && g.HasBF16() && g.FP16.Known():
		return &PrecisionError{p, hardware.BF16, "it has no fp8 units, which came with Ada and Hopper: use bf16"}
	case p == hardware.FP8 && g.FP16.Known():
		return &PrecisionError{p, hardware.FP16, "it has no fp8 units, which came with Ada and Hopper: use fp16"}
	}
	return fmt.Errorf("this GPU has no such unit, or its peak is not known: choose %s, or give the step time itself", instead)
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// precisionsOf lists what a GPU has peaks for: "one of fp32, tf32, fp16".
func precisionsOf(g hardware.GPU) string {
	var all []string
	for _, p := range hardware.Precisions {
		if g.Peak(p).Value > 0 {
			all = append(all, string(p))
		}
	}
	if len(all) == 0 {
		return "a known GPU"
	}
	return "one of " + strings.Join(all, ", ")
}

// bytesPer is the width of an activation in device memory, bytes. FP8 is a width of
// matrix products: between them numbers have 16 bits. Where nobody named a
// precision it is the least that it may be.
func bytesPer(p hardware.Precision) float64 {
	switch p {
	case hardware.FP16, hardware.BF16, hardware.FP8, AnyPrecision:
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

func (l Load) ideal() ideal {
	passes := l.passes()
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

// passes is how often a network is run through in a step: training goes back
// through it for the gradients of inputs and of weights, and forward once more
// where it recomputes.
func (l Load) passes() float64 {
	switch {
	case l.Recompute:
		return 4
	case l.Training:
		return 3
	}
	return 1
}
