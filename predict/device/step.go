package device

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Curve is the step time of a Load over its batch size.
type Curve struct {
	// Low, Point and High are the ends of the interval, each as
	// t(B) = (Floor^4 + (Fixed + PerSample B)^4)^(1/4), seconds: launches run
	// ahead of the device, so the slower of the two decides.
	Low, Point, High Terms

	// where the figures come from, for people: "measured: NVIDIA DeepLearningExamples, 2023-01,
	// batch 256"
	Source string
	Kind   string // "measured", "efficiency" or "anchor"

	Memory  float64 // bytes of device memory per sample at least, NaN where unknown
	Weights float64 // bytes of device memory regardless of the batch at least, NaN where unknown
	Shared  float64 // more of them, which all ranks share: each keeps its part
}

// The kinds of Curve.
const (
	fromMeasurements = "measured"   // this network, chip, precision and software class were measured
	fromEfficiency   = "efficiency" // FLOP and bytes at efficiencies that others reached
	fromAnchor       = "anchor"     // a measured step of the same program
)

// At returns the step time at a batch size, seconds.
func (c Curve) At(batch float64) stoker.Interval {
	return stoker.Interval{Low: c.Low.At(batch), Point: c.Point.At(batch), High: c.High.At(batch)}
}

// StepCurve returns the step time of the load over its batch size:
//
//  1. FLOP and bytes of the workload, peaks of the GPU, and the efficiencies that published
//     steps reached (fitted.csv) give a first curve;
//  2. published steps of the same workload correct it, the more the closer they are in chip,
//     precision and software class; a row that contradicts the others does not decide
//     (published.csv);
//  3. the interval is as wide as the errors at sources that were left out of 1 and 2
//     (fitted.csv).
//
// If the software class or the precision is not named, the interval covers all that a program
// may have, and the point is their geometric middle, not the fastest. It returns an error if the
// GPU has no peak in the precision.
func (l Load) StepCurve() (Curve, error) {
	if err := l.checkFields(); err != nil {
		return Curve{}, err
	}
	return l.spanCurves(func(one Load) Curve { return one.namedCurve() }), nil
}

// spanCurves returns one curve over all families of networks, precisions and software classes
// that a load may have. Its terms cover theirs, which is too wide if one class launches slowly
// and another computes slowly. At the named batches it is only as wide as they are.
func (l Load) spanCurves(curve func(Load) Curve, batches ...float64) Curve {
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
		all, slowest = spread(all, c), combineTerms(slowest, c.Point, math.Max)
	}
	all.Point = combineTerms(all.Point, slowest, func(a, b float64) float64 { return math.Sqrt(a * b) })
	all.within(some, batches)
	all.Source = l.nameOpenChoices() + ": from the low end of the fastest to the high end of the slowest, " + all.Source
	return all
}

// within narrows the ends to what some curves allow at all of these batches. The point is their
// middle at the first batch.
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
		low, high = min(low, at.Low/c.Low.At(batch)), max(high, at.High/c.High.At(batch))
		if i == 0 {
			point = math.Sqrt(at.Point*slowest) / c.Point.At(batch)
		}
	}
	c.Low, c.Point, c.High = c.Low.ScaledBy(low, low), c.Point.ScaledBy(point, point), c.High.ScaledBy(high, high)
}

// spread returns the curve that reaches over both, its point the quicker one's.
func spread(a, b Curve) Curve {
	a.Low, a.Point = combineTerms(a.Low, b.Low, math.Min), combineTerms(a.Point, b.Point, math.Min)
	a.High = combineTerms(a.High, b.High, math.Max)
	a.Memory = math.Min(a.Memory, b.Memory) // at least
	a.Weights, a.Shared = math.Min(a.Weights, b.Weights), math.Min(a.Shared, b.Shared)
	if a.Kind != b.Kind {
		a.Kind = fromEfficiency
	}
	return a
}

// unseenChip is how much wider an interval is, as a logarithm, where no GPU of the
// architecture was measured in that precision: 1.44 standard deviations of the
// priors of its two factors, 0.3 and 0.2, which hold 85 % of a normal distribution.
const unseenChip = 1.44 * 0.36

// namedCurve returns the curve of a named software class and precision. Figures of different
// sources may make it slower than a load that cannot be quicker. Then that load decides, and
// unknown figures of the other chip stay unknown.
func (l Load) namedCurve() Curve {
	c, found := l.ofItself()
	c.Source = found.describe()
	for _, slower := range l.slower() {
		o, _ := slower.ofItself()
		c.Low, c.Point = combineTerms(c.Low, o.Low, math.Min), combineTerms(c.Point, o.Point, math.Min)
		if slower.GPU.Name == l.GPU.Name {
			c.High = combineTerms(c.High, o.High, math.Min)
		}
	}
	c.boundByPeak(l)
	return c
}

// boundByPeak keeps a network of matrix products from being faster than the chip's peak, which figures
// of another chip, or of a precision that a source names wrongly, can make it. Convolutions can be
// faster: Winograd's takes fewer products.
func (c *Curve) boundByPeak(l Load) {
	if l.Workload.Family != Transformer {
		return
	}
	least := l.withoutLosses().compute
	for _, terms := range []*Terms{&c.Low, &c.Point, &c.High} {
		terms.PerSample = max(terms.PerSample, least)
	}
}

// slower lists loads that take as long at least: the same program as it comes
// next to a compiled one, and either on known chips of the same architecture that
// have less of everything.
func (l Load) slower() []Load {
	all := []Load{l}
	for _, g := range hardware.GPUs {
		if architecture(g) == architecture(l.GPU) && dominates(l.GPU, g, l.Precision) &&
			!sameChip(l.GPU, g, l.Precision) {
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

// curveOf returns the likely curve of a load by its own chip and software class, its doubt,
// and its grounds.
func (k knowledge) curveOf(l *Load) (Terms, doubtWidth, finding) {
	ideal := l.withoutLosses()
	found := k.evidence.findFor(l)
	w := k.widths[found.level][training(l.Training)]
	if _, measured := k.efficient[ideal.keysOf().chipKey()]; !measured {
		w.device = math.Hypot(w.device, unseenChip)
	}
	return k.efficient.termsOf(ideal).ScaledBy(math.Exp(found.launch), math.Exp(found.device)), w, found
}

// between returns the curve of a load around a likely one.
func (l Load) between(point Terms, w doubtWidth, kind string) Curve {
	c := Curve{
		Low: point.ScaledBy(math.Exp(-w.launch), math.Exp(-w.device)), Point: point,
		High: point.ScaledBy(math.Exp(w.launch), math.Exp(w.device)),
		Kind: kind, Memory: l.sampleMemory(),
	}
	c.Weights, c.Shared = l.weights()
	return c
}

// ofItself returns the curve by the figures of the same chip and software class.
func (l Load) ofItself() (Curve, finding) {
	point, w, found := published().curveOf(&l)
	if l.anyEngine() {
		w.device = max(w.device, engines)
	}
	c := l.between(point, w, fromEfficiency)
	if found.level == exact {
		c.Kind = fromMeasurements
	}
	if l.launchesSingly() {
		c.Low.Floor = math.Min(c.Low.Floor, point.Floor*math.Exp(-quickHost))
		found.hostDecides = true
	}
	if l.anyEngine() {
		c.High.PerSample *= published().efficient.unfusedTime(l.withoutLosses(), engineMoves)
	}
	c.High.PerSample *= published().efficient.unfusedTime(l.withoutLosses(), l.singleMoves())
	c.High.PerSample = max(c.High.PerSample, point.PerSample+l.groupedSlowly())
	if l.mayFlash() {
		i := l.withoutLosses()
		c.Low.PerSample = min(c.Low.PerSample,
			max(c.Low.PerSample*published().efficient.flashTime(i), i.compute-i.masked))
	}
	return c, found
}

// quickHost is how much quicker a host may launch than those whose steps were
// published, as a logarithm: no source says which CPU it is. At batch 1 on an A100
// PyTorch takes 8.0 ms for BERT-base in one table and 2.8 ms in another one.
const quickHost = 1.1

// engineMoves is how often an engine that does not fuse attention moves a score: written, read and
// written by softmax, and read. Derived.
const engineMoves = 4

// engines is the distance between engines for transformers, as a logarithm: it covers 85 % of
// the repositories that were left out (TestEnginesDiffer).
const engines = 0.51
