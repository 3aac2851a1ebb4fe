package order

import (
	"slices"
	"sort"
)

// Ledger keeps what was released of one epoch, in whatever order releases come, and
// says at its end whether that was every sample exactly once. Its size is that of the
// gaps between what was released, not of the epoch. Not safe for use by several threads.
//
// Positions and samples are kept apart on purpose: spans are of positions, by the
// plan; the digest is of the samples that really lay in the batches. A sample that
// was substituted or masked counts as itself (it had its turn); padding is not released.
type Ledger struct {
	from, to int    // positions that are due
	spans    []span // released of those; sorted, apart from each other
	digest   Digest
	samples  int
	again    []int // positions released more often than they were due, the first ones
	repeats  int   // how many there were
}

// span is the positions begin..end-1.
type span struct{ begin, end int }

// listed bounds the samples that an Account names.
const listed = 100

// NewLedger opens the ledger of positions from..to-1: from is the offset at which
// the epoch was begun or resumed, to is Plan.End(from).
func NewLedger(from, to int) *Ledger { return &Ledger{from: from, to: to} }

// Release writes down that the samples at the positions first, first+1, ... were
// consumed.
func (l *Ledger) Release(first int, samples []int) {
	for _, sample := range samples {
		l.digest.Add(sample)
	}
	l.samples += len(samples)
	s := span{first, first + len(samples)}
	l.repeat(span{s.begin, min(s.end, l.from)})
	l.repeat(span{max(s.begin, l.to), s.end})
	l.mark(span{max(s.begin, l.from), min(s.end, l.to)})
}

// Consumed returns the offset up to which everything was released.
func (l *Ledger) Consumed() int {
	if len(l.spans) == 0 || l.spans[0].begin > l.from {
		return l.from
	}
	return l.spans[0].end
}

// mark adds a span to those released, joining it with its neighbours.
func (l *Ledger) mark(s span) {
	if s.begin >= s.end {
		return
	}
	i := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].end >= s.begin })
	j := i
	for ; j < len(l.spans) && l.spans[j].begin <= s.end; j++ {
		l.repeat(span{max(s.begin, l.spans[j].begin), min(s.end, l.spans[j].end)})
	}
	if i < j {
		s = span{min(s.begin, l.spans[i].begin), max(s.end, l.spans[j-1].end)}
	}
	l.spans = slices.Replace(l.spans, i, j, s)
}

// repeat notes positions that were not due.
func (l *Ledger) repeat(s span) {
	for p := s.begin; p < s.end; p++ {
		if len(l.again) < listed {
			l.again = append(l.again, p)
		}
		l.repeats++
	}
}

// Account is what a Ledger comes to.
type Account struct {
	Samples     int    // released, repeats counted
	Digest      Digest // of the samples released
	Expected    Digest // of the samples that were due
	ExactlyOnce bool
	Missing     int   // samples due and not released
	Repeated    int   // samples released more often than due
	MissingIDs  []int // the first 100 of the Missing, by position
	RepeatedIDs []int // the first 100 of the Repeated, by time
}

// Close returns the account of an epoch whose samples came by the permutation p.
// O(samples due): 40 ms for a million.
func (l *Ledger) Close(p *Permutation) Account {
	a := Account{Samples: l.samples, Digest: l.digest, Repeated: l.repeats}
	for i := l.from; i < l.to; i++ {
		a.Expected.Add(p.At(i))
	}
	for _, gap := range l.gaps() {
		a.Missing += gap.end - gap.begin
		for i := gap.begin; i < gap.end && len(a.MissingIDs) < listed; i++ {
			a.MissingIDs = append(a.MissingIDs, p.At(i))
		}
	}
	for _, position := range l.again {
		if 0 <= position && position < p.samples {
			a.RepeatedIDs = append(a.RepeatedIDs, p.At(position))
		}
	}
	a.ExactlyOnce = a.Missing == 0 && a.Repeated == 0 && a.Digest == a.Expected
	return a
}

// gaps returns what is due and not released.
func (l *Ledger) gaps() []span {
	var gaps []span
	next := l.from
	for _, s := range l.spans {
		if next < s.begin {
			gaps = append(gaps, span{next, s.begin})
		}
		next = s.end
	}
	if next < l.to {
		gaps = append(gaps, span{next, l.to})
	}
	return gaps
}
