package recording

import (
	"math"
	"sort"
)

// Between returns the part of the series in [from, to]. It shares memory with s.
func (s *Series) Between(from, to float64) Series {
	part := Series{}
	if s == nil {
		return part
	}
	lo := sort.SearchFloat64s(s.T, from)
	hi := lo + sort.Search(len(s.T)-lo, func(i int) bool { return s.T[lo+i] > to })
	part = *s
	part.T, part.V = s.T[lo:hi], s.V[lo:hi]
	return part
}

// Mean is the mean of the values in [from, to]; NaN where there is none.
func (s *Series) Mean(from, to float64) float64 {
	part := s.Between(from, to)
	if len(part.V) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range part.V {
		sum += v
	}
	return sum / float64(len(part.V))
}

// Growth is by how much a counter grew in [from, to] and over which time between
// its first and last sample there; NaN where it has fewer than two samples. A counter
// that falls was set back, or has wrapped: what it grew by then is not known, and is left
// out with its time.
func (s *Series) Growth(from, to float64) (by, over float64) {
	part := s.Between(from, to)
	n := len(part.V)
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	by, over = part.V[n-1]-part.V[0], part.T[n-1]-part.T[0]
	for i := 1; i < n; i++ {
		if part.V[i] < part.V[i-1] {
			by -= part.V[i] - part.V[i-1]
			over -= part.T[i] - part.T[i-1]
		}
	}
	return by, over
}

// Rate is the growth of a counter per second in [from, to].
func (s *Series) Rate(from, to float64) float64 {
	by, over := s.Growth(from, to)
	if !(over > 0) {
		return math.NaN()
	}
	return by / over
}

// Share is the share of samples in [from, to] with one of the given states; NaN
// where there is no sample.
func (s *Series) Share(from, to float64, states ...State) float64 {
	part := s.Between(from, to)
	if len(part.V) == 0 {
		return math.NaN()
	}
	hits := 0
	for _, v := range part.V {
		for _, state := range states {
			if State(v) == state {
				hits++
			}
		}
	}
	return float64(hits) / float64(len(part.V))
}

// Last is the newest value; NaN where there is none.
func (s *Series) Last() float64 {
	if s == nil || len(s.V) == 0 {
		return math.NaN()
	}
	return s.V[len(s.V)-1]
}
