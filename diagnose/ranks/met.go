package ranks

import (
	"cmp"
	"math"
	"slices"
)

// met is when the first collective ended that two ranks took part in. If one waited
// for the other before that, the recorder's start may be the reason.
type met struct {
	n     int
	first []int64 // by pair; math.MaxInt64 where they have not met yet
}

func newMet(n int) met {
	m := met{n, make([]int64, n*n)}
	for i := range m.first {
		m.first[i] = math.MaxInt64
	}
	return m
}

// since is the time from which a rank's waiting for another is evidence.
func (m met) since(rank, other int) int64 { return m.first[rank*m.n+other] }

// before reports whether a rank has met another one so far.
func (m met) before(rank int) bool {
	for other := range m.n {
		if other != rank && m.since(rank, other) != math.MaxInt64 {
			return true
		}
	}
	return false
}

// addCollective takes a collective into account that ended on each of its ranks at an instant.
func (m met) addCollective(set []int32, end func(rank int) int64) {
	for i, a := range set {
		for k, b := range set {
			if a >= 0 && b >= 0 {
				m.first[i*m.n+k] = min(m.first[i*m.n+k], max(end(i), end(k)))
			}
		}
	}
}

// inOrder are the matched collectives in the order in which they end.
func (t *Table) inOrder(m *matcher) [][]int32 {
	ends := func(set []int32) int64 {
		end := int64(math.MinInt64)
		for i, work := range set {
			if work >= 0 {
				end = max(end, m.w.End[work]-t.clockOffset(i))
			}
		}
		return end
	}
	sets := slices.Clone(m.sets)
	slices.SortStableFunc(sets, func(a, b []int32) int { return cmp.Compare(ends(a), ends(b)) })
	return sets
}
