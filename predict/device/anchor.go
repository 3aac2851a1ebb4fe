package device

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Anchor is one measured step of a program. It says more about the same program elsewhere than
// all published steps of other programs.
type Anchor struct {
	// Load is what was measured. A value that is not set is taken to be as in the question:
	// it is the same program.
	Load  Load
	Batch float64 // samples per step and GPU
	Step  float64 // seconds, with input always there
	GPUs  float64 // of one machine that trained together; 0: alone
	Doubt float64 // how far Step may be off, as a logarithm, beyond what runs of one program differ

	Text string // for people: "2,470 samples/s at batch 256 on a100-80gb-sxm"
}

// likeness is the correlation between a program's error at one setting and its error at another,
// if one thing differs between the two.
type likeness struct {
	batch, length float64 // lost per e-fold of batch, of tokens or of the side
	precision     float64
	software      float64
	// doubt that comes on top in another precision, as a logarithm: fp8 and tf32 gain less in some
	// programs than in any other
	units float64
}

// likenesses are chosen on a coarse grid, so that the interval holds 80 %
// of the transfers within files of repositories that were left out, counted by
// pairs and by repositories (TestPublishedAnchors); what differs in several things loses by each.
var likenesses = map[training]likeness{
	true:  {batch: 0.05, length: 0.35, precision: 0.5, software: 0.55, units: 0.42},
	false: {batch: 0.06, length: 0.06, precision: 0.6, software: 0.45},
}

// A program's step on one chip tells about another chip the error that both share: what its
// network and software cost everywhere. The error of one chip alone is a width, chosen on a
// coarse grid so that 85 % of the pairs of one program on two GPUs lie inside, in the
// repositories that chooseApart names (gpupairs_test.go). The other repositories test it. The
// launch error belongs to the host, and another GPU is usually in another one.
var (
	sameGeneration = doubtWidth{launch: 0.45, device: 0.15}
	otherChips     = map[training]doubtWidth{
		true: {launch: 0.45, device: 0.2}, false: {launch: 0.45, device: 0.4},
	}
)

// chipsApart returns how far the errors of a program on the chips of two loads differ.
func chipsApart(l, a *Load) doubtWidth {
	switch {
	case sameChip(l.GPU, a.GPU, l.Precision):
		return doubtWidth{}
	case architecture(l.GPU) == architecture(a.GPU):
		return sameGeneration
	}
	return otherChips[training(l.Training)]
}

// common returns the share of an error that the chips of two loads have in common: the
// square of the error of one chip alone is not. None, where published steps on that
// very chip tell more than a measured one on another.
func common(apart, own float64) float64 { return max(0, 1-apart*apart/(own*own)) }

// measuring is the error of one measured step, as a logarithm: runs of one program
// on one machine differ by some per cent. Assumption.
const measuring = 0.03

// spreads is the number of standard deviations in a width: 85 % of a normal distribution are
// inside.
const spreads = 1.44

// Anchored returns the step time of the load over its batch size, carried from a measured step
// of the same program to another batch size, length, GPU, precision or software:
//
//  1. the anchor's curve is off by the factors, in launching and computing, that make it agree
//     with the measured step, each weighted by its doubt;
//  2. the load's curve is off by those factors times their likeness;
//  3. the rest of the doubt is the interval.
//
// The interval is that of the requested batch size that is furthest from the anchor's. It
// returns an error if the anchor has another network or is impossible.
func (l Load) Anchored(a Anchor, batches ...float64) (Curve, error) {
	shareSaid(&l, &a.Load)
	if err := a.checkFields(&l); err != nil {
		return Curve{}, err
	}
	for _, one := range []Load{l, a.Load} {
		if err := one.checkFields(); err != nil {
			return Curve{}, err
		}
	}
	if err := a.possible(); err != nil {
		return Curve{}, err
	}
	away := 0.0
	for _, b := range batches {
		away = max(away, math.Abs(math.Log(b/a.Batch)))
	}
	c := l.spanCurves(func(one Load) Curve {
		at := a
		shareSaid(&one, &at.Load)
		return published().anchorCurve(one, at, away)
	}, batches...)
	c.Source += a.describe(&l)
	return c, nil
}

// shareSaid fills in what one of two loads says and the other does not: both are one program.
func shareSaid(a, b *Load) {
	share := func(a, b *Load) {
		if a.Workload.Name == "" {
			a.Workload = b.Workload
		}
		if a.Workload.Family == AnyFamily {
			a.Workload.Family = b.Workload.Family
		}
		if a.GPU.Name == "" {
			a.GPU = b.GPU
		}
		if a.Precision == AnyPrecision {
			a.Precision = b.Precision
		}
		if a.Software == AnySoftware {
			a.Software = b.Software
		}
	}
	share(a, b)
	share(b, a)
}

func (a Anchor) checkFields(l *Load) error {
	switch {
	case !positive(a.Step) || !(a.Batch >= 1 && a.Batch <= bounds.MostCount):
		return fmt.Errorf("a step of %v s at batch %v: expected more than 0 seconds and a batch of 1 to %v",
			a.Step, a.Batch, bounds.MostCount)
	case a.Load.Workload.Name != l.Workload.Name:
		return fmt.Errorf("the measured step is of %s, the question of %s: an anchor carries over to the same "+
			"network only", a.Load.Workload.Title, l.Workload.Title)
	case a.Load.Training != l.Training:
		return fmt.Errorf("the measured step is of %s, the question of %s: an anchor carries over to the same only",
			training(a.Load.Training), training(l.Training))
	}
	return nil
}

// CheckStep refuses a step of the load, in seconds, that is too short for any device of its
// peak. A load with an unknown network or GPU is never refused.
func (l Load) CheckStep(batch, step float64) error {
	if l.Workload.Name == "" || l.GPU.Name == "" {
		return nil
	}
	return Anchor{Load: l, Batch: batch, Step: step}.possible()
}

// possible refuses a step that no device of that peak can take.
func (a Anchor) possible() error {
	peak, least := 0.0, math.Inf(1) // seconds a sample, without what flash attention leaves out
	for _, one := range a.Load.variants() {
		i := one.withoutLosses()
		peak, least = max(peak, one.GPU.Peak(one.Precision).Value), min(least, i.compute-i.masked)
	}
	if speed := peak * least * a.Batch / a.Step; speed > alikeFigures*peak {
		return fmt.Errorf("a step of %s at batch %v: %s on %s would compute at %s, above its peak of %s: "+
			"check the batch (samples of one GPU), the time, and that it is %s",
			quantity.AboutSeconds(a.Step), a.Batch, a.Load.Workload.Title, a.Load.GPU.Title,
			quantity.FLOPRate(RoundToThree(speed)), quantity.FLOPRate(peak), training(a.Load.Training))
	}
	return nil
}

// anchorCurve returns the curve of a load by a measured step of its program. What cannot be
// slower than what was measured is not, and what cannot be quicker neither.
func (k knowledge) anchorCurve(l Load, a Anchor, away float64) Curve {
	point, w := k.carryTerms(&l, a, away)
	c := l.between(point, w, fromAnchor)
	bound := math.Min
	switch quick, slow := l.atMost(&a.Load), a.Load.atMost(&l); {
	case quick == slow: // the same program on the same chip, or nothing is known of their order
		return c
	case slow:
		bound = math.Max
	}
	point, w = k.carryTerms(&a.Load, a, away)
	o := a.Load.between(point, w, fromAnchor)
	c.Low, c.Point, c.High = combineTerms(c.Low, o.Low, bound), combineTerms(c.Point, o.Point, bound),
		combineTerms(c.High, o.High, bound)
	return c
}

// atMost reports whether a load takes no longer than another one of the same work:
// on the same chip, or one of its architecture with more of everything, the same
// program or a compiled one.
func (l *Load) atMost(o *Load) bool {
	if l.Workload.Forward.Value != o.Workload.Forward.Value || l.Precision != o.Precision ||
		l.Recompute != o.Recompute {
		return false
	}
	chip := sameChip(l.GPU, o.GPU, l.Precision) ||
		architecture(l.GPU) == architecture(o.GPU) && dominates(l.GPU, o.GPU, l.Precision)
	return chip && (l.Software == o.Software || l.Software == Compiled && o.Software == Eager)
}

// carryTerms returns the likely curve of a load and its doubt, by a measured step of its
// program; away is how far the batch is from the anchor's, as a logarithm.
func (k knowledge) carryTerms(l *Load, a Anchor, away float64) (Terms, doubtWidth) {
	from, doubt, _ := k.curveOf(&a.Load)
	off, left := fitDoubt(from, doubt, a)
	to, own, _ := k.curveOf(l)
	like, apart := alikeness(l, &a.Load, away), chipsApart(l, &a.Load)
	launch, device := like*common(apart.launch, own.launch), like*common(apart.device, own.device)
	to = to.ScaledBy(math.Exp(launch*off.launch), math.Exp(device*off.device))
	w := doubtWidth{
		launch: max(remaining(launch, own.launch, left.launch), min(own.launch, math.Sqrt2*apart.launch)),
		device: max(remaining(device, own.device, left.device), min(own.device, math.Sqrt2*apart.device)),
	}
	if unitsOf(l.Precision) != unitsOf(a.Load.Precision) {
		w.device = math.Hypot(w.device, likenesses[training(l.Training)].units)
	}
	return to, w
}

// ownStep returns the device's part of the step: the visible part of the exchange between ranks
// is not the program's.
func (a Anchor) ownStep() float64 {
	if a.GPUs <= 1 {
		return a.Step
	}
	e := a.Load.ExchangeOver(hardware.Link{}, stoker.Interval{}, 1)
	if shown := e.Exposed(bounds.Likely, a.GPUs, a.Step); shown < a.Step/2 {
		return a.Step - shown
	}
	return a.Step // unknown, or more than can be: the step says nothing of it
}

// fitDoubt returns by how much launching and computing are off, as logarithms, if a curve takes
// the anchor's time at a batch, and the doubt that remains in each. If both parts are visible,
// the more doubtful one moves more.
func fitDoubt(t Terms, doubt doubtWidth, a Anchor) (off, left doubtWidth) {
	batch, step, wide := a.Batch, a.ownStep(), math.Hypot(measuring, a.Doubt/spreads)
	launch, device := doubt.launch/spreads, doubt.device/spreads
	for range 200 {
		now := t.ScaledBy(math.Exp(off.launch), math.Exp(off.device))
		bound := now.deviceBound(batch)
		wrong := math.Log(step / now.At(batch))
		a, b := bound*device*device, (1-bound)*launch*launch
		total := bound*a + (1-bound)*b
		if math.Abs(wrong) < 1e-9 || !(total > 0) {
			break
		}
		off.device += wrong * a / total
		off.launch += wrong * b / total
	}
	bound := t.ScaledBy(math.Exp(off.launch), math.Exp(off.device)).deviceBound(batch)
	seen := bound*bound*device*device + (1-bound)*(1-bound)*launch*launch + wide*wide
	left.device = doubt.device * math.Sqrt(1-bound*bound*device*device/seen)
	left.launch = doubt.launch * math.Sqrt(1-(1-bound)*(1-bound)*launch*launch/seen)
	return off, left
}

// remaining returns the doubt that is left if a share of an error is known, with a remainder.
func remaining(like, own, left float64) float64 {
	return math.Sqrt((1-like*like)*own*own + like*like*left*left)
}

// alikeness returns how much of the anchor's error is the load's.
func alikeness(l, a *Load, away float64) float64 {
	by := likenesses[training(l.Training)]
	like := math.Exp(-by.batch * away)
	for _, pair := range [][2]float64{{l.Workload.Tokens, a.Workload.Tokens}, {l.Workload.Side, a.Workload.Side}} {
		if pair[0] > 0 && pair[1] > 0 && (pair[0] != pair[1]) {
			like *= math.Exp(-by.length * math.Abs(math.Log(pair[0]/pair[1])))
			break // the tokens of an image follow from its side
		}
	}
	if unitsOf(l.Precision) != unitsOf(a.Precision) {
		like *= by.precision
	}
	if l.Software != a.Software {
		like *= by.software
	}
	return like
}

// describe says for people what was carried, and over what.
func (a Anchor) describe(l *Load) string {
	var over []string
	if a.Load.Workload.Tokens != l.Workload.Tokens {
		over = append(over, fmt.Sprintf("%s to %s tokens", quantity.About(a.Load.Workload.Tokens),
			quantity.About(l.Workload.Tokens)))
	} else if a.Load.Workload.Side != l.Workload.Side {
		over = append(over, fmt.Sprintf("side %s to %s", quantity.About(a.Load.Workload.Side),
			quantity.About(l.Workload.Side)))
	}
	if a.Load.GPU.Name != l.GPU.Name {
		over = append(over, a.Load.GPU.Title+" to "+l.GPU.Title)
	}
	if a.Load.Precision != l.Precision {
		over = append(over, fmt.Sprintf("%s to %s", precisionWord(a.Load.Precision), precisionWord(l.Precision)))
	}
	if a.Load.Software != l.Software {
		over = append(over, fmt.Sprintf("%s to %s", a.Load.Software, l.Software))
	}
	text := "measured: " + a.Text
	if len(over) > 0 {
		text += ", carried from " + strings.Join(over, ", ")
	}
	return text
}

// precisionWord returns a precision for people.
func precisionWord(p hardware.Precision) string {
	if p == AnyPrecision {
		return "any precision"
	}
	return string(p)
}
