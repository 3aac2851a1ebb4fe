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

// keepsStep reports whether the n-th step of a loader is kept where one block in oneIn is.
func keepsStep(oneIn, n int) bool {
	x := uint64(n/block) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)&uint64(max(1, oneIn)-1) == 0
}

// together reports whether two times lie in the same span of so many seconds.
func together(every, a, b float64) bool {
	return every > 0 && math.Floor(a/every) == math.Floor(b/every)
}

// contains reports whether a time lies in the part.
func (t thinned) contains(at float64) bool { return (at >= t.From || t.From <= 0) && at < t.To }

// combined is what is left of a part that is thinned twice.
func (t thinned) combined(u thinned) thinned {
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

// mostParts is how many parts are told apart. A recording of a month has some thousand;
// one from a stranger may have a line for each.
const mostParts = 4096

// overlaid are parts of a run, in order and apart, of which one more was thinned.
func overlaid(parts []thinned, more thinned) []thinned {
	if n := len(parts); n < mostParts && (n == 0 || more.From >= parts[n-1].To) { // as nearly always
		out := partList(parts)
		out.addPart(more, more.From, more.To)
		return out
	}
	out := make(partList, 0, len(parts)+2)
	from := more.From // what of more is still to come
	for _, p := range parts {
		out.addPart(more, from, min(p.From, more.To))
		from = max(from, p.To)
		out.addPart(p, p.From, min(p.To, more.From))
		out.addPart(p.combined(more), max(p.From, more.From), min(p.To, more.To))
		out.addPart(p, max(p.From, more.To), p.To)
	}
	out.addPart(more, from, more.To)
	if len(out) > mostParts { // the earlier half becomes one
		half := out[:len(out)/2]
		for _, p := range half {
			half[0] = half[0].combined(p)
		}
		half[0].To = half[len(half)-1].To
		out = append(out[:1], out[len(half):]...)
	}
	return out
}

// partList is parts in order.
type partList []thinned

// addPart adds a part from one time to another, to the last one where it is thinned likewise.
func (l *partList) addPart(p thinned, from, to float64) {
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

// longTime is a long time in words.
func longTime(seconds float64) string {
	switch {
	case seconds >= 3600:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	case seconds >= 60:
		return fmt.Sprintf("%.1f minutes", seconds/60)
	}
	return fmt.Sprintf("%.0f seconds", seconds)
}
