package replay

import (
	"cmp"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// walk is a place on the critical path.
type walk struct {
	p    *play
	path CriticalTime
	stop int64

	names map[Spent]int64 // times by part and name; nil if it is not asked for
	ops   []int32         // of each item the name of the operator around it, -1 none
}

// criticalPath returns the judged steps' critical path by part. It follows, backwards, what each
// start had to wait for.
func (p *play) criticalPath() CriticalTime {
	w := walk{p: p}
	w.walkBack()
	return w.path
}

// pathByName returns the path by part and name, most time first.
func (p *play) pathByName() []Spent {
	w := walk{p: p, names: map[Spent]int64{}, ops: p.t.innermostOperators()}
	w.walkBack()
	var out []Spent
	for s, ns := range w.names {
		s.Time = ns
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Spent) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// innermostOperators returns the name of the innermost operator around each item, -1 if there is
// none.
func (t *Trace) innermostOperators() []int32 {
	h := &t.t.Host
	open := make([][]int32, len(t.t.Threads))
	out := recording.NoPlaces(len(t.items))
	call := 0
	for i := range t.items {
		it := &t.items[i]
		for ; call < t.calls && h.Start[call] <= it.start; call++ {
			if h.Kind[call] == recording.Op {
				th := h.Thread[call]
				open[th] = append(dropEnded(open[th], h.End, h.Start[call]), int32(call))
			}
		}
		stack := dropEnded(open[it.thread], h.End, it.start)
		open[it.thread] = stack
		if n := len(stack); n > 0 {
			out[i] = h.Name[stack[n-1]]
		}
	}
	return out
}

// dropEnded drops calls that are over from the end of a thread's open ones.
func dropEnded(open []int32, end []int64, at int64) []int32 {
	for len(open) > 0 && end[open[len(open)-1]] <= at {
		open = open[:len(open)-1]
	}
	return open
}

// walkBack goes from the last work of the judged steps to their begin.
func (w *walk) walkBack() {
	last, from := w.p.judgedWindow()
	w.stop = from
	at, item := last, false
	for at >= 0 {
		if item {
			at, item = w.fromItem(at)
		} else {
			at, item = w.fromWork(at)
		}
	}
}

// judgedWindow returns the last work of the judged steps and the time at which they began.
func (p *play) judgedWindow() (last int32, from int64) {
	t := p.t
	last = -1
	for i := range t.works {
		if s := int(t.works[i].step); s >= t.judged[0] && s < t.judged[1] && (last < 0 || p.end[i] > p.end[last]) {
			last = int32(i)
		}
	}
	if last < 0 {
		return -1, 0
	}
	from = p.end[last]
	for _, s := range p.stepTimes() {
		from -= s
	}
	return last, from
}

// spendTime adds a stretch, as far as it is in the window. It returns false if the stretch is
// before the window.
func (w *walk) spendTime(part Part, name int32, from, to int64) bool {
	if from = max(from, w.stop); to > from {
		w.path[part] += to - from
		if w.names != nil {
			w.names[Spent{Part: part, Name: name}] += to - from
		}
	}
	return to > w.stop
}

// operatorOf returns the name of the operator around an item, -1 if it is not asked for.
func (w *walk) operatorOf(item int32) int32 {
	if w.ops == nil {
		return -1
	}
	return w.ops[item]
}

func (w *walk) fromWork(i int32) (next int32, item bool) {
	p, t := w.p, w.p.t
	part := Kernels
	switch t.works[i].kind {
	case recording.Copy, recording.Set:
		part = Copies
	case recording.Collective:
		part = Exchanges
	case recording.Kernel:
	}
	if p.reason[i] == byMeet { // another rank came last: its work is the path
		for _, other := range t.meets[t.works[i].meet] {
			if p.reason[other] != byMeet {
				return w.startItem(other, part, p.end[i])
			}
		}
		return -1, false
	}
	return w.startItem(i, part, p.end[i])
}

// startItem spends a work that ended at an instant and goes to what decided its
// start.
func (w *walk) startItem(i int32, part Part, end int64) (next int32, item bool) {
	p := w.p
	if !w.spendTime(part, p.t.works[i].name, p.begin[i], end) {
		return -1, false
	}
	switch p.reason[i] {
	case byCall:
		call := p.t.works[i].item
		w.spendTime(Launching, w.operatorOf(call), p.from[call], p.begin[i])
		return w.before(call)
	case byStream:
		w.spendTime(Device, -1, p.end[p.prev[i]], p.begin[i])
		return p.prev[i], false
	case byDep:
		w.spendTime(Device, -1, p.end[p.dep[i]], p.begin[i])
		return p.dep[i], false
	case byLink:
		return p.t.works[i].link, false
	}
	return -1, false
}

// fromItem spends an item and goes to what decided its end, else its start.
func (w *walk) fromItem(i int32) (next int32, item bool) {
	p, it := w.p, &w.p.t.items[i]
	part := Host
	if it.kind == loading {
		part = Loading
	}
	decided := int32(-1)
	switch p.cause[i] & endBits {
	case endTarget:
		decided = it.target
	case endAlso:
		decided = it.also
	case endFull:
		decided = it.full
	}
	if decided >= 0 {
		if !w.spendTime(Returning, w.operatorOf(i), p.end[decided], p.to[i]) {
			return -1, false
		}
		return decided, false
	}
	if !w.spendTime(part, w.operatorOf(i), p.from[i], p.to[i]) {
		return -1, false
	}
	return w.before(i)
}

// before goes to what decided an item's start.
func (w *walk) before(i int32) (next int32, item bool) {
	p, it := w.p, &w.p.t.items[i]
	switch p.cause[i] & causeBits {
	case byAnchor:
		within := max(p.to[it.anchor], p.from[i]-it.inOps) // the operator opens last
		if !w.spendTime(Host, w.operatorOf(i), within, p.from[i]) || !w.spendTime(Host, -1, p.to[it.anchor], within) {
			return -1, false
		}
		return it.anchor, true
	case byThread:
		return it.prev, true
	}
	return -1, false
}
