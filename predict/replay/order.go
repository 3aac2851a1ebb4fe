package replay

import (
	"cmp"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// anchors finds the items that waited for another thread: the first call of the
// backward pass for the main thread, and the optimizer's first for the thread of
// the backward pass. A thread that has an operator open works; one without, while
// another thread of its process launches, blocks on that.
func (t *Trace) anchors() {
	h := &t.t.Host
	open := make([]coverage, len(t.t.Threads))    // of operators
	covered := make([]int64, len(t.items))        // when an item ended
	other := recording.NoPlaces(len(t.t.Threads)) // what another thread did since the thread's last item
	siblings := t.launching()
	call := 0
	for i := range t.items {
		it := &t.items[i]
		for call < t.calls && h.Start[call] <= it.start {
			if h.Kind[call] == recording.Op {
				open[h.Thread[call]].addCall(h.Start[call], h.End[call])
			}
			call++
		}
		if from := other[it.thread]; from >= 0 && t.items[from].end <= it.start &&
			(it.prev < 0 || t.items[from].end >= t.items[it.prev].end) {
			it.anchor = from
		}
		other[it.thread] = -1
		covered[i] = open[it.thread].coveredUntil(it.end)
		if it.prev >= 0 {
			it.inOps = max(0, open[it.thread].coveredUntil(it.start)-covered[it.prev])
		}
		if it.work < 0 && it.kind != wait {
			continue
		}
		for _, s := range siblings[t.processOf(it.thread)] {
			if s != it.thread && open[s].to <= it.start {
				other[s] = int32(i)
			}
		}
	}
}

// coverage adds up how much of a thread's time some operator was open.
type coverage struct{ sum, from, to int64 }

func (c *coverage) addCall(from, to int64) {
	if from > c.to {
		c.sum += c.to - c.from
		c.from, c.to = from, from
	}
	c.to = max(c.to, to)
}

// coveredUntil returns how much there was until an instant.
func (c *coverage) coveredUntil(at int64) int64 { return c.sum + max(0, min(at, c.to)-c.from) }

// mostLaunching limits the threads of a process that may wait for each other, because each
// launch is compared with all of them. PyTorch has one for each device, and the main thread. [J]
const mostLaunching = 256

// launching are, of each process, the threads that launch work, the first of too many.
func (t *Trace) launching() map[int32][]int32 {
	seen := make([]bool, len(t.t.Threads))
	of := map[int32][]int32{}
	for i := range t.items {
		if th := t.items[i].thread; !seen[th] && t.items[i].work >= 0 {
			seen[th] = true
			if p := t.processOf(th); len(of[p]) < mostLaunching {
				of[p] = append(of[p], th)
			}
		}
	}
	return of
}

// meetings finds the same collective on several ranks: the n-th of its name and
// group on each. They belong together if none ended before the last one began.
func (t *Trace) meetings() {
	type place struct{ name, group string }
	d := &t.t.Device
	found := map[place]map[int][]int32{}
	var order []place
	for i := range t.works {
		if t.works[i].kind != recording.Collective {
			continue
		}
		p := place{name: t.t.Names[d.Name[i]]}
		if g := d.Group[i]; g >= 0 {
			p.group = t.t.Names[g]
		}
		if found[p] == nil {
			found[p] = map[int][]int32{}
			order = append(order, p)
		}
		rank := t.t.Devices[d.Device[i]].Rank
		found[p][rank] = append(found[p][rank], int32(i))
	}
	for _, p := range order {
		t.pairMeetings(found[p])
	}
}

func (t *Trace) pairMeetings(byRank map[int][]int32) {
	if len(byRank) < 2 {
		return
	}
	var ranks []int
	n := -1
	for rank, list := range byRank {
		ranks = append(ranks, rank)
		if n >= 0 && n != len(list) {
			return // ranks that disagree are not paired by their count
		}
		n = len(list)
	}
	slices.Sort(ranks)
	for k := range n {
		var set []int32
		last, first := int64(never), int64(-never)
		for _, rank := range ranks {
			w := byRank[rank][k]
			set = append(set, w)
			last, first = max(last, t.works[w].key), min(first, t.works[w].end)
		}
		if first < last {
			continue
		}
		slices.Sort(set) // the order in which they are played
		for _, w := range set {
			t.works[w].meet = int32(len(t.meets))
			t.works[w].key = last
		}
		t.meets = append(t.meets, set)
	}
}

// arrange puts everything in the order in which it happened, each thing after all that it
// depends on. At the same instant, waits end first, then items begin, then work.
func (t *Trace) arrange() {
	t.monotone()
	ends := make([]int32, 0, len(t.items)/8)
	for i := range t.items {
		if t.items[i].waitsForWork() {
			ends = append(ends, int32(i))
		}
	}
	slices.SortFunc(ends, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.items[a].end, t.items[b].end), cmp.Compare(a, b))
	})
	begun := make([]int32, len(t.works))
	for i := range begun {
		begun[i] = int32(i)
	}
	slices.SortStableFunc(begun, func(a, b int32) int { return cmp.Compare(t.works[a].key, t.works[b].key) })
	t.order = make([]int32, 0, len(t.items)+len(ends)+len(begun))
	i, e, w := 0, 0, 0
	for i < len(t.items) || e < len(ends) || w < len(begun) {
		atItem, atEnd, atWork := int64(-never), int64(-never), int64(-never)
		if i < len(t.items) {
			atItem = t.items[i].start
		}
		if e < len(ends) {
			atEnd = t.items[ends[e]].end
		}
		if w < len(begun) {
			atWork = t.works[begun[w]].key
		}
		switch {
		case e < len(ends) && atEnd <= atWork && atEnd <= atItem:
			t.order = append(t.order, turn(int(ends[e]), endTurn))
			e++
		case atItem <= atWork && i < len(t.items):
			t.order = append(t.order, turn(i, itemTurn))
			i++
		default:
			t.order = append(t.order, turn(int(begun[w]), workTurn))
			w++
		}
	}
}

// mostRounds bounds how often meetings may move each other: ranks that met in
// different orders would do so for ever.
const mostRounds = 16

// monotone makes work come after all that is before it on its stream, once more:
// meetings moved some. What then contradicts the order is not waited for.
func (t *Trace) monotone() {
	for round := 0; t.orderWork(); round++ {
		if round == mostRounds {
			for i := range t.works {
				t.works[i].meet = -1
			}
			t.meets = nil
		}
	}
	for i := range t.works {
		if w := &t.works[i]; w.dep >= 0 && t.works[w.dep].key >= w.key {
			w.dep = -1
		}
	}
	for i := range t.items {
		it := &t.items[i]
		if it.target >= 0 && t.works[it.target].key >= it.end {
			it.target = -1
		}
		if it.also >= 0 && t.works[it.also].key >= it.end {
			it.also = -1
		}
		if it.full >= 0 && t.works[it.full].key >= it.start {
			it.full = -1
		}
	}
}

// orderWork moves work after everything that comes before it, and meetings to their last member.
// It returns true if a meeting moved.
func (t *Trace) orderWork() bool {
	for i := range t.works {
		w := &t.works[i]
		if w.prev < 0 {
			continue
		}
		before := t.works[w.prev].key
		if t.works[w.prev].meet >= 0 {
			before++
		}
		w.key = max(w.key, before)
	}
	moved := false
	for _, set := range t.meets {
		last := t.works[set[0]].key
		for _, w := range set {
			last = max(last, t.works[w].key)
		}
		for _, w := range set {
			if t.works[w].key < last {
				t.works[w].key, moved = last, true
			}
		}
	}
	return moved
}

// Limits of the judged steps: as diagnose judges them (idle.Device).
const (
	keepAll = 3   // below this many steps all are kept
	cutOff  = 0.8 // a last step with less of the previous one's work was cut off
)

// chooseJudged chooses the process that launched most work, and its steps without the
// first after the profiler's start and without a last one that was cut off.
func (t *Trace) chooseJudged() {
	most, process := 0, int32(-1)
	counts := map[int32]int{}
	for _, s := range t.steps {
		if counts[s.process] += s.works; counts[s.process] > most ||
			counts[s.process] == most && most > 0 && s.process < process {
			most, process = counts[s.process], s.process
		}
	}
	if process < 0 {
		return
	}
	from := slices.IndexFunc(t.steps, func(s step) bool { return s.process == process })
	to := from
	for to < len(t.steps) && t.steps[to].process == process {
		to++
	}
	for to > from && t.steps[to-1].works == 0 {
		to--
	}
	if to-from >= keepAll {
		for cut := true; cut && to-from >= keepAll; cut = t.calls < len(t.t.Host.Start) {
			if float64(t.steps[to-1].works) >= cutOff*float64(t.steps[to-2].works) {
				break
			}
			to--
		}
		from++
	}
	var phases []recording.Phase
	for _, s := range t.steps[from:to] {
		phases = append(phases, s.phase)
	}
	begin, end := recording.Stretch(phases)
	t.judged = [2]int{from + begin, from + end}
}
