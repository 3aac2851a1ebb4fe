package replay

import (
	"cmp"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

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

	causeBits uint8 = 0x0f
	endFull   uint8 = 0x10 // the launch queue was full
	endTarget uint8 = 0x20 // the work that it waited for
	endAlso   uint8 = 0x30
	endLoader uint8 = 0x40 // the batch
	endBits   uint8 = 0xf0
)

// Part is what a stretch of the critical path was spent on.
type Part uint8

// The parts of a step.
const (
	Kernels   Part = iota // a kernel ran
	Copies                // a copy ran
	Exchanges             // a collective ran
	Loading               // the loop waited for a batch
	Host                  // the launching thread thought or called
	Launching             // from a call to the start of its work
	Returning             // from the end of work to the return of the call that waited for it
	Device                // from one queued piece of work to the next
	parts
)

var partWords = [parts]string{"kernels", "copies", "exchanges", "loading", "host", "launch to start", "return from a wait", "device latency"}

// String returns the part's word.
func (p Part) String() string {
	if int(p) < len(partWords) {
		return partWords[p]
	}
	return "unknown"
}

// Path is what the judged steps' critical path was spent on, nanoseconds: shorten
// nothing on it and no step gets shorter.
type Path [parts]int64

// Parts are those that take something, most first.
func (p Path) Parts() []Spent {
	var out []Spent
	for part, ns := range p {
		if ns > 0 {
			out = append(out, Spent{Part(part), -1, ns})
		}
	}
	slices.SortStableFunc(out, func(a, b Spent) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// sum is the length of the path.
func (p Path) sum() int64 {
	sum := int64(0)
	for _, ns := range p {
		sum += ns
	}
	return sum
}

// binds are the two resources with most of the path.
func (p Path) binds(several bool) (first, second stoker.Resource) {
	var order []stoker.Resource
	of := map[stoker.Resource]int64{}
	for part, ns := range p {
		r := Part(part).resource(several)
		if _, seen := of[r]; !seen {
			order = append(order, r)
		}
		of[r] += ns
	}
	sort.SliceStable(order, func(i, j int) bool { return of[order[i]] > of[order[j]] })
	return order[0], order[1]
}

// Network is what exchanges between ranks are bound by. The closed law has no such
// resource.
const Network stoker.Resource = "network"

// resource is what a part binds.
func (p Part) resource(several bool) stoker.Resource {
	switch p {
	case Kernels, Device:
		return stoker.GPU
	case Copies:
		return stoker.Link
	case Exchanges:
		return Network
	case Loading:
		if several {
			return stoker.Worker
		}
		return stoker.MainThread
	case Host, Launching, Returning, parts:
	}
	return stoker.MainThread
}

// Spent is what the critical path spent on one name.
type Spent struct {
	Part Part
	Name int32 // index into Timeline.Names: of the work, of the innermost operator around what the host did; -1 none
	Time int64
}

// walk is a place on the critical path.
type walk struct {
	p    *play
	path Path
	stop int64

	names map[Spent]int64 // times by part and name; nil where nobody asks
	ops   []int32         // of each item the name of the operator around it, -1 none
}

// path is what the judged steps' critical path was spent on: it follows what decided,
// backwards.
func (p *play) path() Path {
	w := walk{p: p}
	w.back()
	return w.path
}

// spent is the path by part and name, most time first.
func (p *play) spent() []Spent {
	w := walk{p: p, names: map[Spent]int64{}, ops: p.t.around()}
	w.back()
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

// around is the name of the innermost operator around each item, -1 where none is open.
func (t *Trace) around() []int32 {
	h := &t.t.Host
	open := make([][]int32, len(t.t.Threads))
	out := filled(len(t.items))
	call := 0
	for i := range t.items {
		it := &t.items[i]
		for ; call < t.calls && h.Start[call] <= it.start; call++ {
			if h.Kind[call] == recording.Op {
				th := h.Thread[call]
				open[th] = append(ended(open[th], h.End, h.Start[call]), int32(call))
			}
		}
		stack := ended(open[it.thread], h.End, it.start)
		open[it.thread] = stack
		if n := len(stack); n > 0 {
			out[i] = h.Name[stack[n-1]]
		}
	}
	return out
}

// ended drops calls that are over from the end of a thread's open ones.
func ended(open []int32, end []int64, at int64) []int32 {
	for len(open) > 0 && end[open[len(open)-1]] <= at {
		open = open[:len(open)-1]
	}
	return open
}

// back goes from the last work of the judged steps to their begin.
func (w *walk) back() {
	last, from := w.p.window()
	w.stop = from
	at, item := last, false
	for at >= 0 {
		if item {
			at, item = w.item(at)
		} else {
			at, item = w.work(at)
		}
	}
}

// window is the last work of the judged steps and the time at which they began.
func (p *play) window() (last int32, from int64) {
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
	for _, s := range p.steps() {
		from -= s
	}
	return last, from
}

// spend adds a stretch, as far as it lies in the window; false before it.
func (w *walk) spend(part Part, name int32, from, to int64) bool {
	if from = max(from, w.stop); to > from {
		w.path[part] += to - from
		if w.names != nil {
			w.names[Spent{Part: part, Name: name}] += to - from
		}
	}
	return to > w.stop
}

// op is the name of the operator around an item, -1 where nobody asks.
func (w *walk) op(item int32) int32 {
	if w.ops == nil {
		return -1
	}
	return w.ops[item]
}

func (w *walk) work(i int32) (next int32, item bool) {
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
				return w.started(other, part, p.end[i])
			}
		}
		return -1, false
	}
	return w.started(i, part, p.end[i])
}

// started spends a work that ended at an instant and goes to what decided its
// start.
func (w *walk) started(i int32, part Part, end int64) (next int32, item bool) {
	p := w.p
	if !w.spend(part, p.t.works[i].name, p.begin[i], end) {
		return -1, false
	}
	switch p.reason[i] {
	case byCall:
		call := p.t.works[i].item
		w.spend(Launching, w.op(call), p.from[call], p.begin[i])
		return w.before(call)
	case byStream:
		w.spend(Device, -1, p.end[p.prev[i]], p.begin[i])
		return p.prev[i], false
	case byDep:
		w.spend(Device, -1, p.end[p.dep[i]], p.begin[i])
		return p.dep[i], false
	}
	return -1, false
}

// item spends an item and goes to what decided its end, else its start.
func (w *walk) item(i int32) (next int32, item bool) {
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
		if !w.spend(Returning, w.op(i), p.end[decided], p.to[i]) {
			return -1, false
		}
		return decided, false
	}
	if !w.spend(part, w.op(i), p.from[i], p.to[i]) {
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
		if !w.spend(Host, w.op(i), within, p.from[i]) || !w.spend(Host, -1, p.to[it.anchor], within) {
			return -1, false
		}
		return it.anchor, true
	case byThread:
		return it.prev, true
	}
	return -1, false
}
