package recording

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// thinned says how much of a part of a run is kept. A run of weeks, or one of many steps a
// second, is kept with less of everything, evenly, so that shares, rates and means remain the
// same.
//
// Of a signal the first value in each interval is kept. That is exact for a counter, and a
// sample of a state or a gauge. Steps are kept or dropped in blocks of consecutive steps of a
// loader, so that what happens between two steps remains visible. A hash of its number decides
// whether a block is kept. So no periodic pattern can hide, and all ranks keep the same blocks.
// The blocks kept one in 2n are a subset of those kept one in n.
type thinned struct {
	From, To float64 // seconds; From 0 is the beginning, To is +Inf for a part without end
	Every    float64 // interval in seconds of which one value of a signal is kept; 0: all
	OneIn    int     // one block of steps in so many is kept, a power of two; 1: all
}

const (
	block    = 64      // steps
	finest   = 0.2     // the first interval for thinning, seconds: the fastest signals come ten times a second
	sparsest = 1 << 30 // the limit of both
)

// keepsStep reports whether the n-th step of a loader is kept if one block in oneIn is.
func keepsStep(oneIn, n int) bool {
	x := uint64(n/block) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)&uint64(max(1, oneIn)-1) == 0
}

// together reports whether two times are in the same interval.
func together(every, a, b float64) bool {
	return every > 0 && math.Floor(a/every) == math.Floor(b/every)
}

// contains reports whether a time is in the part.
func (t thinned) contains(at float64) bool { return (at >= t.From || t.From <= 0) && at < t.To }

// combined returns t thinned by u as well.
func (t thinned) combineWith(u thinned) thinned {
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

// mostParts limits the number of parts. A recording of a month has some thousand, but a
// malicious one may have a line for each.
const mostParts = 4096

// overlayPart returns the parts of a run, in order and disjoint, after thinning one more part.
func overlayPart(parts []thinned, more thinned) []thinned {
	if n := len(parts); n < mostParts && (n == 0 || more.From >= parts[n-1].To) { // the usual case
		out := partList(parts)
		out.addPart(more, more.From, more.To)
		return out
	}
	out := make(partList, 0, len(parts)+2)
	from := more.From // begin of the rest of more
	for _, p := range parts {
		out.addPart(more, from, min(p.From, more.To))
		from = max(from, p.To)
		out.addPart(p, p.From, min(p.To, more.From))
		out.addPart(p.combineWith(more), max(p.From, more.From), min(p.To, more.To))
		out.addPart(p, max(p.From, more.To), p.To)
	}
	out.addPart(more, from, more.To)
	if len(out) > mostParts { // merge the earlier half into one part
		half := out[:len(out)/2]
		for _, p := range half {
			half[0] = half[0].combineWith(p)
		}
		half[0].To = half[len(half)-1].To
		out = append(out[:1], out[len(half):]...)
	}
	return out
}

// partList is a list of parts in order.
type partList []thinned

// addPart appends p from one time to another, or extends the last part if it is thinned alike.
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

// thinSeries returns the values of a signal after thinning a part.
func thinSeries(t, v []float64, part thinned) (keptT, keptV []float64) {
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

// longTime formats a long time in words.
func longTime(seconds float64) string {
	switch {
	case seconds >= 3600:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	case seconds >= 60:
		return fmt.Sprintf("%.1f minutes", seconds/60)
	}
	return fmt.Sprintf("%.0f seconds", seconds)
}
