package replay

import "slices"

// play is one replay of a trace: its times, which edits change, and its result. Nanoseconds.
type play struct {
	t *Trace

	// Of each item: the time to think before it, its own time, and whether its wait was
	// removed.
	think, own []int64
	free       []bool

	// Of each work: from its call to its start, from the end of the work before it
	// on its stream, how long it runs, and all that is before it.
	flight, gap, length []int64
	prev, dep           []int32
	depGap              []int64
	late                []int64 // of each work, what passed before its start for no reason that was recorded: it stays
	early               []int32 // item at whose start the work may start instead of its own call's; -1 its own

	queue loader  // where batches come from
	ready []int64 // of each item, when the batch that it blocks on arrives; nil: waiting takes as long as recorded

	from, to   []int64 // items
	begin, end []int64 // works
	cause      []uint8 // of an item's end or start, and of a work's start: see path.go
	reason     []uint8
}

// startPlay makes the trace's own times ready. A play that has ended is used again.
func (t *Trace) startPlay() *play {
	if t.fresh == nil {
		t.fresh = t.makePlay()
		t.fresh.takeRecorded()
	}
	p := t.ended
	if t.ended = nil; p == nil {
		p = t.makePlay()
	}
	p.takeTimes(t.fresh)
	return p
}

// endPlay hands a play back: nothing of it is looked at any more.
func (t *Trace) endPlay(p *play) { t.ended = p }

// takeTimes makes a play what another one was before it ran.
func (p *play) takeTimes(of *play) {
	copy(p.think, of.think)
	copy(p.own, of.own)
	copy(p.flight, of.flight)
	copy(p.gap, of.gap)
	copy(p.length, of.length)
	copy(p.prev, of.prev)
	copy(p.dep, of.dep)
	copy(p.depGap, of.depGap)
	copy(p.late, of.late)
	clear(p.free)
	for _, times := range [][]int64{p.from, p.to, p.begin, p.end} {
		clear(times)
	}
	clear(p.cause)
	clear(p.reason)
	p.early, p.ready, p.queue = nil, nil, loader{}
}

// makePlay makes room for a play.
func (t *Trace) makePlay() *play {
	n, m := len(t.items), len(t.works)
	return &play{
		t: t, think: make([]int64, n), own: make([]int64, n), free: make([]bool, n),
		flight: make([]int64, m), gap: make([]int64, m), length: make([]int64, m), prev: make([]int32, m),
		dep: make([]int32, m), depGap: make([]int64, m), late: make([]int64, m),
		from: make([]int64, n), to: make([]int64, n), begin: make([]int64, m), end: make([]int64, m),
		cause: make([]uint8, n), reason: make([]uint8, m),
	}
}

// takeRecorded takes the times that were recorded.
func (p *play) takeRecorded() {
	t := p.t
	for i := range t.items {
		it := &t.items[i]
		p.think[i], p.own[i] = it.start, it.end-it.start
		if it.anchor >= 0 {
			p.think[i] = it.start - t.items[it.anchor].end
		}
		if it.waitsForWork() {
			p.own[i] = min(p.own[i], leastWait)
			if end := t.works[it.target].end; end <= it.start {
				p.own[i] = it.end - it.start // it had nothing to wait for
			}
		}
	}
	for i := range t.works {
		p.takeWork(int32(i))
	}
}

// takeWork splits what was between a work's call, the work before it and its
// start: what decided keeps its recorded distance, the other its usual one.
func (p *play) takeWork(i int32) {
	t := p.t
	w := &t.works[i]
	p.length[i], p.prev[i], p.dep[i] = w.end-w.start, w.prev, w.dep
	byCall, byStream := t.readyTimes(w)
	if w.prev >= 0 {
		p.gap[i] = w.start - byStream
	}
	if w.item >= 0 {
		p.flight[i] = w.start - t.items[w.item].start
	}
	if w.dep >= 0 {
		p.depGap[i] = w.start - t.works[w.dep].end
	}
	switch {
	case w.dep >= 0:
		p.gap[i], p.flight[i] = min(p.gap[i], t.latest), min(p.flight[i], t.flight)
	case w.prev < 0 || w.item >= 0 && byCall > byStream:
		p.gap[i] = min(p.gap[i], t.latest)
		if t.startsLate(w) {
			p.late[i], p.flight[i] = p.flight[i]-t.flight, t.flight
		}
	case w.item >= 0:
		p.flight[i] = min(p.flight[i], t.flight)
	}
}

// runAll plays: one pass in the order in which things happened.
func (p *play) runAll() {
	p.queue.startEpoch()
	for _, entry := range p.t.order {
		switch i := entry >> 2; entry & 3 {
		case itemTurn:
			p.runItem(i)
		case endTurn:
			p.ending(i)
		case workTurn:
			p.runWork(i)
		}
	}
}

func (p *play) runItem(i int32) {
	it := &p.t.items[i]
	at, cause := p.think[i], byNothing
	if it.anchor >= 0 {
		at, cause = p.to[it.anchor]+p.think[i], byAnchor
	}
	if it.prev >= 0 && p.to[it.prev] > at {
		at, cause = p.to[it.prev], byThread
	}
	p.from[i], p.cause[i] = at, cause
	p.to[i] = at + p.own[i]
	if it.full >= 0 && p.end[it.full] > p.to[i] {
		p.to[i] = p.end[it.full]
		p.cause[i] |= endFull
	}
	if it.first && it.kind == loading && p.queue.workers > 0 {
		if p.t.loads[it.load].opens {
			p.queue.open(at)
		}
		if ready := p.queue.takeBatch(it.load, at); ready > p.to[i] {
			p.to[i] = ready
			p.cause[i] |= endLoader
		}
		p.queue.returned = append(p.queue.returned, p.to[i])
	}
	if p.ready != nil && p.ready[i] > p.to[i] {
		p.to[i] = p.ready[i]
		p.cause[i] |= endLoader
	}
}

// ending is the end of an item that blocks.
func (p *play) ending(i int32) {
	it := &p.t.items[i]
	if p.free[i] {
		return
	}
	tail := it.end - p.t.works[it.target].end
	if done := p.end[it.target] + tail; done > p.to[i] {
		p.to[i] = done
		p.cause[i] = p.cause[i]&causeBits | endTarget
	}
	if it.also >= 0 && p.end[it.also]+tail > p.to[i] {
		p.to[i] = p.end[it.also] + tail
		p.cause[i] = p.cause[i]&causeBits | endAlso
	}
}

func (p *play) runWork(i int32) {
	w := &p.t.works[i]
	at, reason := w.start, byNothing
	if w.item >= 0 || p.prev[i] >= 0 || p.dep[i] >= 0 {
		at = never
	}
	if w.item >= 0 {
		call := p.from[w.item]
		if p.early != nil && p.early[i] >= 0 {
			call = min(call, p.from[p.early[i]])
		}
		at, reason = call+p.flight[i], byCall
	}
	if before := p.prev[i]; before >= 0 && p.end[before]+p.gap[i] > at {
		at, reason = p.end[before]+p.gap[i], byStream
	}
	if dep := p.dep[i]; dep >= 0 && p.end[dep]+p.depGap[i] > at {
		at, reason = p.end[dep]+p.depGap[i], byDep
	}
	at += p.late[i]
	if before := w.link; before >= 0 && p.end[before] > at {
		at, reason = p.end[before], byLink
	}
	p.begin[i], p.reason[i] = at, reason
	p.end[i] = at + p.length[i]
	if w.meet >= 0 {
		p.runMeeting(p.t.meets[w.meet], i)
	}
}

// runMeeting ends a collective on all ranks once its last one is there: it takes as long
// as it took after the last one came.
func (p *play) runMeeting(set []int32, now int32) {
	if now != set[len(set)-1] {
		return // works of one instant are played in order, the last member last
	}
	last, lastWas := int64(never), int64(never)
	late := set[0]
	for _, w := range set {
		if p.begin[w] > last {
			last, late = p.begin[w], w
		}
		lastWas = max(lastWas, p.t.works[w].start)
	}
	for _, w := range set {
		was := &p.t.works[w]
		whole := max(1, was.end-was.start)
		took := max(0, was.end-lastWas)
		p.end[w] = last + took*p.length[w]/whole // edits of a collective's length are edits of its transfer
		if w != late {
			p.reason[w] = byMeet
		}
	}
}

// stepTimes returns how long the judged steps take on the device: from the end of the last work
// of one step to the end of the last work of the next.
func (p *play) stepTimes() []int64 {
	t := p.t
	ends := make([]int64, t.judged[1]-t.judged[0])
	before := int64(never)
	first := int64(-never)
	process := t.steps[t.judged[0]].process
	for i := range t.works {
		s := int(t.works[i].step)
		if s < 0 || t.steps[s].process != process {
			if t.works[i].item >= 0 && s < 0 && t.processOf(t.items[t.works[i].item].thread) == process &&
				t.items[t.works[i].item].start < t.steps[t.judged[0]].from {
				before = max(before, p.end[i])
			}
			continue
		}
		switch {
		case s < t.judged[0]:
			before = max(before, p.end[i])
		case s < t.judged[1]:
			ends[s-t.judged[0]] = max(ends[s-t.judged[0]], p.end[i])
			first = min(first, p.begin[i])
		}
	}
	if before == never {
		before = p.opening(first)
	}
	for k := range ends {
		ends[k] = max(ends[k], before)
		ends[k], before = ends[k]-before, ends[k]
	}
	return ends
}

// opening returns when the first judged step began on the host, where no work was
// before it.
func (p *play) opening(first int64) int64 {
	process := p.t.steps[p.t.judged[0]].process
	for i := range p.t.items {
		it := &p.t.items[i]
		if int(it.step) >= p.t.judged[0] && p.t.processOf(it.thread) == process {
			return min(first, p.from[i]-(it.start-p.t.steps[p.t.judged[0]].from))
		}
	}
	return first
}

// median and mean of steps, nanoseconds.
func median(values []int64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return float64(sorted[(n-1)/2]+sorted[n/2]) / 2
}

func mean(values []int64) float64 {
	sum := int64(0)
	for _, v := range values {
		sum += v
	}
	return float64(sum) / float64(max(1, len(values)))
}

// What decided when something began or ended. An item's byte holds both: the low
// bits its start, the high ones its end.
const (
	byNothing uint8 = iota // as recorded
	byAnchor               // its thread, or the one that it waited for, had thought
	byThread               // its thread was busy
	byCall
	byStream
	byDep
	byMeet
	byLink

	causeBits uint8 = 0x0f
	endFull   uint8 = 0x10 // the launch queue was full
	endTarget uint8 = 0x20 // the work that it waited for
	endAlso   uint8 = 0x30
	endLoader uint8 = 0x40 // the batch
	endBits   uint8 = 0xf0
)
