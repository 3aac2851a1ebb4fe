package ranks

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Table is all ranks of a run with more than one.
type Table struct {
	Ranks     []Rank // in order of rank
	Straggler int    // index into Ranks of the one that the others wait for; -1 without one
	Matched   int    // collectives that were found on several ranks
	Unmatched int    // those that were not, counted once per rank
	OneClock  bool   // all come from one file
	// where ends of what was paired did not agree and nothing counts as matched: by how much,
	// seconds; 0 if they did
	Apart float64
	// what the ends of matched collectives still differ by after the clocks were set, seconds, median; NaN unknown
	Aligned float64
}

// Rank is one rank. Shares are of its judged window, 0 to 1.
type Rank struct {
	Rank          int
	Device        int32 // index into Analysis.Devices
	Steps         int
	Step          float64 // mean on the device's clock, seconds; NaN without steps
	Kernel        float64
	Copy          float64
	Communication float64 // a collective ran and nothing else
	Idle          float64
	Input         float64 // idle while the loop waited for its next batch
	Cause         idle.Cause
	CauseShare    float64 // of Cause, the largest cause of its idle time; 0 without idle time

	Clock   float64   // what was taken off its clock to match the first rank's, seconds
	Last    int       // collectives to which it came last, of those that Arrived counts
	Waited  float64   // time that its collectives waited for ranks that came later, seconds
	Delayed float64   // time that the others waited for it, seconds; the mean over them
	For     []float64 // time that it waited for each rank, in order of Ranks, seconds
	Arrived int       // collectives that were matched, behind its first one
}

// Start values of who counts as a straggler. [J]
const (
	mostOfWaits = 0.5  // part of all waiting that is for it
	worthSaying = 0.03 // part of the window that the others wait for it
)

// Compare compares the ranks of a run; nil if there are fewer than two.
func Compare(run *recording.Run, all *idle.Analysis) *Table {
	t := &Table{Straggler: -1, Aligned: math.NaN()}
	window := 0.0
	for i := range all.Devices {
		if r, ok := rankOf(run, all, int32(i)); ok {
			t.Ranks = append(t.Ranks, r)
			window = max(window, float64(all.Devices[i].WindowLength())/1e9)
		}
	}
	slices.SortFunc(t.Ranks, func(a, b Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	t.Ranks = busiest(t.Ranks, all)
	if len(t.Ranks) < 2 {
		return nil
	}
	m := newMatcher(run, all, t.Ranks)
	t.OneClock = !slices.ContainsFunc(m.files, func(f int) bool { return f != m.files[0] })
	t.align(m)
	t.Matched, t.Unmatched = len(m.sets), m.lost
	if len(m.sets) > 0 {
		t.waits(m)
		t.straggler(window)
	}
	return t
}

// busiest keeps one device of each rank: the one with most work.
func busiest(ranks []Rank, all *idle.Analysis) []Rank {
	var kept []Rank
	for _, r := range ranks {
		if n := len(kept); n > 0 && kept[n-1].Rank == r.Rank {
			if all.Devices[r.Device].Works > all.Devices[kept[n-1].Device].Works {
				kept[n-1] = r
			}
			continue
		}
		kept = append(kept, r)
	}
	for i := range kept {
		kept[i].For = make([]float64, len(kept))
	}
	return kept
}

func rankOf(run *recording.Run, all *idle.Analysis, device int32) (Rank, bool) {
	d := &all.Devices[device]
	number := run.Timeline.Devices[d.Index].Rank
	if number < 0 && d.Process >= 0 {
		number = all.Processes[d.Process].Rank
	}
	r := Rank{
		Rank: number, Device: device, Steps: len(d.Steps), Step: math.NaN(),
		Kernel: d.Share(d.Kernel), Copy: d.Share(d.Copy), Communication: d.Share(d.Communication),
		Idle:  d.Share(d.Idle),
		Input: d.Share(d.Causes[idle.DataLoader]),
	}
	if r.Steps > 0 {
		r.Step = float64(d.WindowLength()) / 1e9 / float64(r.Steps)
	}
	for c, ns := range d.Causes {
		if share := d.Share(ns); share > r.CauseShare {
			r.Cause, r.CauseShare = idle.Cause(c), share
		}
	}
	return r, number >= 0 && d.WindowLength() > 0
}

// endsAgree is by how much ends of one collective may differ once the clocks are set,
// in the median of a rank, seconds. [J] In public traces they do by 2 to 60 us.
const endsAgree = 1e-3

// align sets the clocks by the ends of matched collectives; ranks of the first one's
// file are on its clock. Of a rank whose ends then disagree, other collectives were
// paired: it is taken out.
func (t *Table) align(m *matcher) {
	var left []float64
	for i := range t.Ranks {
		offsets := m.differences(i)
		if i == 0 || len(offsets) == 0 {
			continue
		}
		clock := 0.0
		if m.files[i] != m.files[0] {
			clock = stat.Median(offsets)
		}
		for k := range offsets {
			offsets[k] = math.Abs(offsets[k]-clock) / 1e9
		}
		if off := stat.Median(offsets); off > endsAgree {
			t.Apart = max(t.Apart, off)
			m.drop(i)
			continue
		}
		t.Ranks[i].Clock = clock / 1e9
		left = append(left, offsets...)
	}
	if len(left) > 0 {
		t.Aligned = stat.Median(left)
	}
}

// waits adds up, for each matched collective, which rank came last and how long the others
// waited for it since the two had last met: recorders of ranks do not start together, so
// that a wait for another rank before their first common collective ends says nothing.
func (t *Table) waits(m *matcher) {
	n := len(t.Ranks)
	waited := make([]int64, n*n) // of a rank for another, nanoseconds
	met := newMet(n)
	for _, set := range t.inOrder(m) {
		last, latest := -1, int64(0)
		for i, work := range set {
			if work < 0 {
				continue
			}
			if at := m.w.Start[work] - t.clockOffset(i); last < 0 || at > latest {
				last, latest = i, at
			}
		}
		others, sum := 0, int64(0)
		for i, work := range set {
			if work >= 0 && met.before(i) {
				t.Ranks[i].Arrived++
			}
			if work >= 0 && i != last {
				from, to := m.w.Start[work]-t.clockOffset(i), m.w.End[work]-t.clockOffset(i)
				wait := max(0, min(latest, to)-max(from, met.since(i, last)))
				waited[n*i+last] += wait
				sum, others = sum+wait, others+1
			}
		}
		if met.before(last) {
			t.Ranks[last].Last++
		}
		t.Ranks[last].Delayed += float64(sum) / float64(max(1, others))
		met.addCollective(set, func(i int) int64 { return m.w.End[set[i]] - t.clockOffset(i) })
	}
	for i := range t.Ranks {
		t.Ranks[i].toSeconds(waited[n*i : n*i+n])
	}
}

// clockOffset is subtracted from a rank's clock, nanoseconds.
func (t *Table) clockOffset(rank int) int64 { return int64(math.Round(1e9 * t.Ranks[rank].Clock)) }

// toSeconds turns sums of nanoseconds into seconds.
func (r *Rank) toSeconds(waited []int64) {
	sum := int64(0)
	for i, ns := range waited {
		r.For[i] = float64(ns) / 1e9
		sum += ns
	}
	r.Waited = float64(sum) / 1e9
	r.Delayed /= 1e9
}

func (t *Table) straggler(window float64) {
	total, most := 0.0, 0
	for i, r := range t.Ranks {
		total += r.Delayed
		if r.Delayed > t.Ranks[most].Delayed {
			most = i
		}
	}
	if d := t.Ranks[most].Delayed; d > mostOfWaits*total && d > worthSaying*window {
		t.Straggler = most
	}
}
