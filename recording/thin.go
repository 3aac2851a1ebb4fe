package recording

import (
	"math"
	"slices"
	"sort"
)

// shorten drops the older half of the time, or if that is not enough all but the newest, and
// returns when the rest begins.
func (b *builder) shorten(most int64) (begins float64) {
	from, to := math.Inf(1), b.run.End()
	for _, s := range b.run.Series {
		if len(s.T) > 0 {
			from = min(from, s.T[0])
		}
	}
	if len(b.run.Steps) > 0 {
		from = min(from, b.run.Steps[0].Start)
	}
	for _, before := range []float64{from + (to-from)/2, to, math.Inf(1)} {
		b.forget(before)
		begins = min(before, to)
		if b.weight() <= most {
			break
		}
	}
	return begins
}

// forget drops data older than a time.
func (b *builder) forget(before float64) { b.dropSpan(math.Inf(-1), before) }

// dropSpan drops what came between two times, so that a run of days stays small in memory. The
// file keeps it.
func (b *builder) dropSpan(from, to float64) {
	if !(from < to) {
		return
	}
	b.dropSamples(from, to)
	b.dropSteps(func(s Step) bool { return s.Start >= from && s.Start < to })
	b.run.thinned = slices.DeleteFunc(b.run.thinned, func(t thinned) bool { return t.From >= from && t.To <= to })
}

// dropSteps drops the steps for which drop returns true.
func (b *builder) dropSteps(drop func(Step) bool) {
	b.insides = 0
	kept := b.run.Steps[:0]
	for text := range b.words {
		b.texts -= int64(len(text))
	}
	b.words = nil
	for _, s := range b.run.Steps {
		if !drop(s) {
			s.Phase, s.NoClock = Phase(b.internWord(string(s.Phase))), b.internWord(s.NoClock)
			if s.Inside != nil {
				b.insides++
			}
			kept = append(kept, s)
		}
	}
	clear(b.run.Steps[len(kept):])
	b.run.Steps = kept
	b.steps = make(map[stepKey]int, len(kept))
	for i, s := range kept {
		b.steps[stepKey{s.PID, s.Loader, s.N}] = i
	}
}

// dropSamples drops the samples between two times, and series that are then empty: workers that
// restart with every epoch leave many.
func (b *builder) dropSamples(from, to float64) {
	kept := b.run.Series[:0]
	clear(b.series)
	b.samples = 0
	for _, s := range b.run.Series {
		lo, hi := sort.SearchFloat64s(s.T, from), sort.SearchFloat64s(s.T, to)
		if hi-lo == len(s.T) {
			b.texts -= int64(len(s.Signal) + len(s.Subject))
			continue
		}
		s.T, s.V = slices.Concat(s.T[:lo], s.T[hi:]), slices.Concat(s.V[:lo], s.V[hi:])
		b.samples += int64(len(s.T))
		b.series[seriesKey{s.Signal, s.Subject}] = len(kept)
		kept = append(kept, s)
	}
	clear(b.run.Series[len(kept):])
	b.run.Series = kept
}

// density returns how much is kept of what comes now.
func (b *builder) density() thinned {
	if n := len(b.run.thinned); n > 0 && math.IsInf(b.run.thinned[n-1].To, 1) {
		return b.run.thinned[n-1]
	}
	return thinned{To: math.Inf(1), OneIn: 1}
}

// changeDensity sets how much is kept from a time on. If that is less than before, the earlier
// data are thinned to the same density. Both Writer and reader do so, so that they have the
// same run.
func (b *builder) changeDensity(t thinned) {
	was := b.density()
	if n := len(b.run.thinned); n > 0 && math.IsInf(b.run.thinned[n-1].To, 1) {
		b.run.thinned[n-1].To = t.From
	}
	if t.Every > was.Every || t.OneIn > was.OneIn {
		b.thinPart(thinned{To: max(t.From, b.run.End()+1), Every: t.Every, OneIn: t.OneIn})
	}
	t.To = math.Inf(1)
	b.run.thinned = overlayPart(b.run.thinned, t)
}

// thinPart thins a part of the run. Slices that were returned before do not change.
func (b *builder) thinPart(part thinned) {
	if !(part.From < part.To) {
		return
	}
	b.run.thinned = overlayPart(b.run.thinned, part)
	b.dropSteps(func(s Step) bool { return part.contains(s.Start) && !keepsStep(part.OneIn, s.N) })
	if part.Every == 0 {
		return
	}
	for i := range b.run.Series {
		s := &b.run.Series[i]
		b.samples -= int64(len(s.T))
		s.T, s.V = thinSeries(s.T, s.V, part)
		b.samples += int64(len(s.T))
	}
}

// sparser returns the next lower density: half of the kind that takes most memory.
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

// Density of data that are no longer judged: a value per oldEvery seconds, and as many as oldSteps
// steps in them.
const (
	oldEvery = 10.
	oldSteps = 10
)

// thinnedAsOld returns how to thin a part that is not judged any more.
func (b *builder) thinnedAsOld(from, to, every float64) thinned {
	part := thinned{From: from, To: to, Every: every, OneIn: b.run.keptOneIn(from, to)}
	n := 0.0
	for _, s := range b.run.Steps {
		if part.contains(s.Start) {
			n++
		}
	}
	for ; n > oldSteps*max(1, (to-from)/every) && part.OneIn < sparsest; n /= 2 {
		part.OneIn *= 2
	}
	return part
}

// fitInto thins the held data until they take at most most bytes: first what is not judged,
// then everything evenly. If that is not enough, the older half is dropped.
func (b *builder) fitInto(most int64) {
	for every, before := b.old, b.weight(); every < sparsest; every *= 2 {
		for _, part := range b.run.notJudged() {
			b.thinPart(b.thinnedAsOld(part.From, part.To, every))
		}
		if weight := b.weight(); weight <= most/2 || every > b.old && weight > before-before/20 {
			b.old = every
			break
		} else {
			before = weight
		}
	}
	for tries := 0; b.weight() > most && tries < 64; tries++ {
		b.changeDensity(b.sparser(b.run.End()))
		b.scarce = true
	}
	if b.weight() > most {
		b.begins = b.shorten(most)
	}
}
