package ranks

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// matcher finds the same collective on several ranks: those of one clock that run at
// the same time; of several clocks the n-th with the same name, size and process group
// within the same step.
type matcher struct {
	t     *recording.Timeline
	w     *recording.Work
	sets  [][]int32 // for each matched collective the work of each rank, -1 if it takes no part
	lost  int
	files []int // of each rank: those of one file are on one clock
}

// place is where a collective is looked for.
type place struct {
	name, group string
	bytes       int64
	step        int // ProfilerStep's number, -1 without one
}

func newMatcher(run *recording.Run, all *idle.Analysis, ranks []Rank) *matcher {
	m := &matcher{t: run.Timeline, w: &run.Timeline.Device}
	found := map[place][][]int32{}
	var order []place
	rankOf := map[int32]int{} // by device
	for i, r := range ranks {
		rankOf[all.Devices[r.Device].Index] = i
		m.files = append(m.files, run.Timeline.Devices[all.Devices[r.Device].Index].File)
	}
	oneClock := !slices.ContainsFunc(m.files, func(f int) bool { return f != m.files[0] })
	for work := range int32(len(m.w.Start)) {
		rank, compared := rankOf[m.w.Device[work]]
		if !compared || !all.IsCollective(work) {
			continue
		}
		p := m.findPlace(run, all, &all.Devices[ranks[rank].Device], work)
		if oneClock {
			p.step = -1 // the clock tells better
		}
		if found[p] == nil {
			found[p] = make([][]int32, len(ranks))
			order = append(order, p)
		}
		found[p][rank] = append(found[p][rank], work)
	}
	for _, p := range order {
		if oneClock {
			m.overlapping(found[p])
		} else {
			m.pair(found[p])
		}
	}
	return m
}

// overlapping makes sets of collectives that run at the same time: one that has ended
// before another rank's next began is not that one.
func (m *matcher) overlapping(works [][]int32) {
	for {
		set, ends, latest, taking := make([]int32, len(works)), int64(math.MaxInt64), int64(math.MinInt64), 0
		first := -1 // the rank whose next one ends first
		for i, w := range works {
			if set[i] = -1; len(w) == 0 {
				continue
			}
			set[i] = w[0]
			taking++
			latest = max(latest, m.w.Start[w[0]])
			if end := m.w.End[w[0]]; end < ends {
				first, ends = i, end
			}
		}
		switch {
		case taking < 2:
			for _, w := range works {
				m.lost += len(w)
			}
			return
		case ends < latest:
			m.lost++
			works[first] = works[first][1:]
			continue
		}
		m.sets = append(m.sets, set)
		for i := range works {
			if len(works[i]) > 0 {
				works[i] = works[i][1:]
			}
		}
	}
}

func (m *matcher) findPlace(run *recording.Run, all *idle.Analysis, d *idle.Device, work int32) place {
	p := place{name: kernelFamily(m.t.Names[m.w.Name[work]]), bytes: m.w.Bytes[work], step: -1}
	if g := m.w.Group[work]; g >= 0 {
		p.group = m.t.Names[g]
	}
	call := m.w.Call[work]
	if call < 0 || d.Process < 0 {
		return p
	}
	at := m.t.Host.Start[call]
	steps := d.Steps
	i := sort.Search(len(steps), func(i int) bool { return steps[i].HostTo > at })
	if i < len(steps) && steps[i].HostFrom <= at {
		p.step = run.Steps[steps[i].Index].N
	}
	return p
}

// kernelFamily is a collective's name without its arguments: ranks choose the
// same algorithm, but builds may print arguments differently.
func kernelFamily(name string) string {
	before, _, _ := strings.Cut(name, "(")
	return before
}

// pair makes sets of the n-th collectives of all ranks that have any. Ranks that
// recorded different numbers of them cannot be matched by counting.
func (m *matcher) pair(works [][]int32) {
	count, taking, same := 0, 0, true
	for _, w := range works {
		if len(w) == 0 {
			continue
		}
		taking++
		same = same && (count == 0 || len(w) == count)
		count = len(w)
	}
	if taking < 2 || !same {
		for _, w := range works {
			m.lost += len(w)
		}
		return
	}
	for n := range count {
		set := make([]int32, len(works))
		for i, w := range works {
			set[i] = -1
			if len(w) > 0 {
				set[i] = w[n]
			}
		}
		m.sets = append(m.sets, set)
	}
}

// drop takes a rank out of all sets; the sets that are left must have two.
func (m *matcher) drop(rank int) {
	kept := m.sets[:0]
	for _, set := range m.sets {
		if set[rank] >= 0 {
			m.lost++
		}
		set[rank] = -1
		n := 0
		for _, work := range set {
			if work >= 0 {
				n++
			}
		}
		if n > 1 {
			kept = append(kept, set)
		} else {
			m.lost += n
		}
	}
	m.sets = kept
}

// differences are how much later than the first rank's each matched collective of
// a rank ended, nanoseconds by its own clock. Only collectives that end on all
// ranks together count: a broadcast's source may leave early.
func (m *matcher) differences(rank int) []float64 {
	var all, together []float64
	for _, set := range m.sets {
		a, b := set[0], set[rank]
		if a < 0 || b < 0 {
			continue
		}
		d := float64(m.w.End[b] - m.w.End[a])
		all = append(all, d)
		if endsTogether(m.t.Names[m.w.Name[a]]) {
			together = append(together, d)
		}
	}
	if len(together) > 0 {
		return together
	}
	return all
}

func endsTogether(name string) bool {
	lower := strings.ToLower(name)
	for _, part := range []string{
		"allreduce", "all_reduce", "allgather", "all_gather", "reducescatter",
		"reduce_scatter", "alltoall", "all_to_all", "barrier",
	} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}
