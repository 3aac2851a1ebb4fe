package recording

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// thinned says how much of a part of a run is kept, where that is not all. A run of
// weeks, or one of many steps a second, is kept with less of everything, evenly, so that
// shares, rates and means stay what they were.
//
// Of a signal the first value of every so many seconds is kept: of a counter that is
// exact, of a state or a gauge it is a sample. Steps are kept or left out in blocks that
// a loader makes one after the other, so that what lies between two steps is still seen;
// which blocks is decided by their number alone, as by a coin, so that nothing that
// repeats can hide, and is the same in all ranks. What is kept one in 2n is kept one in n.
type thinned struct {
	From, To float64 // seconds; From 0 is the begin, To is +Inf where it goes on
	Every    float64 // seconds of which one value of a signal is kept; 0: all are
	OneIn    int     // blocks of steps of which one is kept, a power of two; 1: all are
}

const (
	block    = 64      // steps
	finest   = 0.2     // the first step of thinning, seconds: what is looked at most often comes ten times a second
	sparsest = 1 << 30 // the last, of both
)

// keeps reports whether the n-th step of a loader is kept where one block in oneIn is.
func keeps(oneIn, n int) bool {
	x := uint64(n/block) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)&uint64(max(1, oneIn)-1) == 0
}

// together reports whether two times lie in the same span of so many seconds.
func together(every, a, b float64) bool {
	return every > 0 && math.Floor(a/every) == math.Floor(b/every)
}

// holds reports whether a time lies in the part.
func (t thinned) holds(at float64) bool { return (at >= t.From || t.From <= 0) && at < t.To }

// and is what is left of a part that is thinned twice.
func (t thinned) and(u thinned) thinned {
	t.Every, t.OneIn = max(t.Every, u.Every), max(t.OneIn, u.OneIn)
	return t
}

// String says how much is kept.
func (t thinned) String() string {
	every := "every value of a signal"
	if t.Every > 0 {
		every = fmt.Sprintf("one value in %g s of each signal", t.Every)
	}
	return fmt.Sprintf("one step in %d and %s are kept", max(1, t.OneIn), every)
}

// Kept says of each part of the run of which not all is kept how much that is.
func (r *Run) Kept() []string {
	var said []string
	for _, t := range r.thinned {
		upTo := "on"
		if !math.IsInf(t.To, 1) {
			upTo = "to " + hours(t.To)
		}
		said = append(said, fmt.Sprintf("from %s %s %s", hours(t.From), upTo, t))
	}
	return said
}

// mostParts is how many parts are told apart. A recording of a month has some thousand;
// one from a stranger may have a line for each.
const mostParts = 4096

// overlaid are parts of a run, in order and apart, of which one more was thinned.
func overlaid(parts []thinned, more thinned) []thinned {
	if n := len(parts); n < mostParts && (n == 0 || more.From >= parts[n-1].To) { // as nearly always
		out := partList(parts)
		out.add(more, more.From, more.To)
		return out
	}
	out := make(partList, 0, len(parts)+2)
	from := more.From // what of more is still to come
	for _, p := range parts {
		out.add(more, from, min(p.From, more.To))
		from = max(from, p.To)
		out.add(p, p.From, min(p.To, more.From))
		out.add(p.and(more), max(p.From, more.From), min(p.To, more.To))
		out.add(p, max(p.From, more.To), p.To)
	}
	out.add(more, from, more.To)
	if len(out) > mostParts { // the earlier half becomes one
		half := out[:len(out)/2]
		for _, p := range half {
			half[0] = half[0].and(p)
		}
		half[0].To = half[len(half)-1].To
		out = append(out[:1], out[len(half):]...)
	}
	return out
}

// partList is parts in order.
type partList []thinned

// add adds a part from one time to another, to the last one where it is thinned likewise.
func (l *partList) add(p thinned, from, to float64) {
	if p.From, p.To = from, to; !(from < to) || p.Every == 0 && p.OneIn <= 1 {
		return
	}
	if n := len(*l); n > 0 {
		if last := &(*l)[n-1]; last.To == from && last.Every == p.Every && last.OneIn == p.OneIn {
			last.To = to
			return
		}
	}
	*l = append(*l, p)
}

// oneIn is how few blocks of steps are kept from one time to another: the fewest of
// any part, as no part must count more than another.
func (r *Run) oneIn(from, to float64) int {
	most := 1
	for _, t := range r.thinned {
		if t.From <= to && t.To > from {
			most = max(most, t.OneIn)
		}
	}
	return most
}

// evenly are the steps that are kept where one block in oneIn is.
func evenly(steps []Step, oneIn int) []Step {
	if oneIn <= 1 {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !keeps(oneIn, s.N) })
}

// density is how much is kept of what comes now.
func (b *builder) density() thinned {
	if n := len(b.run.thinned); n > 0 && math.IsInf(b.run.thinned[n-1].To, 1) {
		return b.run.thinned[n-1]
	}
	return thinned{To: math.Inf(1), OneIn: 1}
}

// change says how much is kept from a time on. Where that is less than before, no more
// stays of what is there already: a Writer does so, and whoever reads its file does
// the same, so that both have the same run.
func (b *builder) change(t thinned) {
	was := b.density()
	if n := len(b.run.thinned); n > 0 && math.IsInf(b.run.thinned[n-1].To, 1) {
		b.run.thinned[n-1].To = t.From
	}
	if t.Every > was.Every || t.OneIn > was.OneIn {
		b.thin(thinned{To: max(t.From, b.run.End()+1), Every: t.Every, OneIn: t.OneIn})
	}
	t.To = math.Inf(1)
	b.run.thinned = overlaid(b.run.thinned, t)
}

// thin leaves out of a part of the run what is not kept of it. Slices that were handed
// out stay as they are.
func (b *builder) thin(part thinned) {
	if !(part.From < part.To) {
		return
	}
	b.run.thinned = overlaid(b.run.thinned, part)
	b.dropSteps(func(s Step) bool { return part.holds(s.Start) && !keeps(part.OneIn, s.N) })
	if part.Every == 0 {
		return
	}
	for i := range b.run.Series {
		s := &b.run.Series[i]
		b.samples -= int64(len(s.T))
		s.T, s.V = sparse(s.T, s.V, part)
		b.samples += int64(len(s.T))
	}
}

// sparse are values of a signal of which a part is thinned.
func sparse(t, v []float64, part thinned) (keptT, keptV []float64) {
	lo, hi := sort.SearchFloat64s(t, part.From), sort.SearchFloat64s(t, part.To)
	if part.From <= 0 {
		lo = 0
	}
	if lo >= hi {
		return t, v
	}
	keptT, keptV = slices.Clone(t[:lo]), slices.Clone(v[:lo])
	for i := lo; i < hi; i++ {
		if n := len(keptT); n == 0 || !together(part.Every, keptT[n-1], t[i]) {
			keptT, keptV = append(keptT, t[i]), append(keptV, v[i])
		}
	}
	return append(keptT, t[hi:]...), append(keptV, v[hi:]...)
}

// sparser is the next way to keep less of what comes: half of what weighs most.
func (b *builder) sparser(at float64) thinned {
	next := b.density()
	next.From = at
	if 2*int64(len(b.run.Steps))*stepWeight > b.weight() {
		next.OneIn = 2 * max(1, next.OneIn)
	} else {
		next.Every = max(finest, 2*next.Every)
	}
	return next
}

// What is kept of what nobody judges any more: a value in every so many seconds, and
// as many steps in them.
const (
	oldEvery = 10.
	oldSteps = 10
)

// asOld is how a part is thinned that is not judged any more.
func (b *builder) asOld(from, to, every float64) thinned {
	part := thinned{From: from, To: to, Every: every, OneIn: b.run.oneIn(from, to)}
	n := 0.0
	for _, s := range b.run.Steps {
		if part.holds(s.Start) {
			n++
		}
	}
	for ; n > oldSteps*max(1, (to-from)/every) && part.OneIn < sparsest; n /= 2 {
		part.OneIn *= 2
	}
	return part
}

// notJudged are the parts of a run that no verdict is about: what was before the judged
// part, and what lies between it and the present, where the run trains no longer.
func (r *Run) notJudged() []thinned {
	from, to := r.Newest()
	parts := []thinned{{To: from - around}, {From: to + recent, To: r.End() - recent}}
	return slices.DeleteFunc(parts, func(p thinned) bool { return !(p.From < p.To) })
}

// fit thins what is held until it weighs less than most: what is not judged first, then
// all evenly, and where even that does not help the older half is left out.
func (b *builder) fit(most int64) {
	for every, before := b.old, b.weight(); every < sparsest; every *= 2 {
		for _, part := range b.run.notJudged() {
			b.thin(b.asOld(part.From, part.To, every))
		}
		if weight := b.weight(); weight <= most/2 || every > b.old && weight > before-before/20 {
			b.old = every
			break
		} else {
			before = weight
		}
	}
	for tries := 0; b.weight() > most && tries < 64; tries++ {
		b.change(b.sparser(b.run.End()))
		b.scarce = true
	}
	if b.weight() > most {
		b.begins = b.shorten(most)
	}
}
