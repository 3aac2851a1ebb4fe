package ledger

import (
	"math"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// mostApart is the time between two samples of a meter from which it was not read in between,
// seconds. It is read several times a second, and of long ago one value in many is kept.
const mostApart = 120.0

// meter integrates the share of the time in which kernels ran on a device.
type meter struct {
	at, busy, seen []float64 // up to each sample: seconds with a kernel, and seconds that it tells of
}

// newMeter takes a device's curve. Each value holds since the sample before it.
func newMeter(s *recording.Series) meter {
	var m meter
	if s == nil {
		return m
	}
	busy, seen := 0.0, 0.0
	for i, at := range s.T {
		if i > 0 {
			if over := at - s.T[i-1]; over <= mostApart {
				busy, seen = busy+over*s.V[i], seen+over
			}
		}
		m.at, m.busy, m.seen = append(m.at, at), append(m.busy, busy), append(m.seen, seen)
	}
	return m
}

// between is for how long kernels ran in a span, and of how much of it the meter tells.
func (m meter) between(from, to float64) (busy, seen float64) {
	if len(m.at) < 2 {
		return 0, 0
	}
	b0, s0 := m.upTo(from)
	b1, s1 := m.upTo(to)
	return b1 - b0, s1 - s0
}

func (m meter) upTo(t float64) (busy, seen float64) {
	i := sort.SearchFloat64s(m.at, t)
	switch {
	case i == 0:
		return 0, 0
	case i == len(m.at):
		return m.busy[i-1], m.seen[i-1]
	}
	part := (t - m.at[i-1]) / (m.at[i] - m.at[i-1])
	return m.busy[i-1] + part*(m.busy[i]-m.busy[i-1]), m.seen[i-1] + part*(m.seen[i]-m.seen[i-1])
}

// enoughSeen is how much of some spans a meter has to cover, seconds, if it does not cover half of them: a long
// run's memory keeps the newest of its samples.
const enoughSeen = 60.0

// busyIn is for how many seconds kernels ran in some spans; NaN where the meter tells of too little
// of them. The rest, which the meter did not see, is taken to be like it.
func (m meter) busyIn(spans []span) float64 {
	busy, seen, all := 0.0, 0.0, 0.0
	for _, s := range spans {
		b, n := m.between(s.from, s.to)
		busy, seen, all = busy+b, seen+n, all+s.to-s.from
	}
	if !(seen > min(all/2, enoughSeen)) {
		return math.NaN()
	}
	return min(all, busy*all/seen)
}

// busyUntil is until when kernels ran most of the time, from one moment on and to another at most.
func (m meter) busyUntil(from, to float64) float64 {
	at := from
	for i := sort.SearchFloat64s(m.at, from); i < len(m.at) && at < to; i++ {
		next := min(m.at[i], to)
		if busy, seen := m.between(at, next); next > at && !(busy >= seen/2 && seen > 0) {
			break
		}
		at = next
	}
	return at
}
