package kineto

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// linkWork finds the call that launched each piece of work.
//
// The correlation id is CUPTI's: unique within a process, not beyond. A file of
// several processes repeats ids, and so does one that was recorded in several
// rounds; of several calls with the id, the one counts that belongs to the
// process whose calls drive the device, and of those the last that started before
// the work. One launch of a graph owns many kernels. Work without an id is linked
// by the flow arrows that a viewer would draw.
func (b *builder) linkWork() {
	calls := b.callsByID()
	b.call = recording.NoPlaces(len(b.work))
	b.findOwners(calls)
	missing := 0
	for k, i := range b.work {
		w := b.store.work.at(int(i))
		if w.corr > 0 {
			b.call[k] = b.pickCall(calls, w)
		}
		if b.call[k] < 0 {
			missing++
		}
	}
	if missing > 0 && b.store.flows.n > 0 {
		b.linkByFlows()
	}
	if missing > 0 {
		b.linkByExternalIDs()
	}
	b.store.flows = blocks[flowRecord]{}
}

// callIndex finds calls by correlation id: the last one with an id, and the one
// before it with the same id.
type callIndex struct {
	least  int64
	dense  []int32         // by id minus least, plus one; where ids lie close together
	sparse map[int64]int32 // else
	prev   map[int32]int32
}

// closeTogether is how many places per call a list by id may have.
const closeTogether = 16

func (b *builder) callsByID() callIndex {
	least, most, n := int64(math.MaxInt64), int64(0), int64(0)
	for _, i := range b.host {
		if corr := b.store.host.at(int(i)).corr; corr > 0 {
			least, most, n = min(least, corr), max(most, corr), n+1
		}
	}
	c := callIndex{least: least, prev: map[int32]int32{}}
	if n > 0 && most-least < closeTogether*n {
		c.dense = make([]int32, most-least+1)
	} else {
		c.sparse = make(map[int64]int32, n)
	}
	for k, i := range b.host {
		corr := b.store.host.at(int(i)).corr
		if corr <= 0 {
			continue
		}
		if before, found := c.lastCall(corr); found {
			c.prev[int32(k)] = before
		}
		if c.dense != nil {
			c.dense[corr-least] = int32(k) + 1
		} else {
			c.sparse[corr] = int32(k)
		}
	}
	return c
}

// lastCall is the last call with an id.
func (c *callIndex) lastCall(corr int64) (int32, bool) {
	if c.dense == nil {
		k, found := c.sparse[corr]
		return k, found
	}
	if corr < c.least || corr-c.least >= int64(len(c.dense)) {
		return -1, false
	}
	k := c.dense[corr-c.least] - 1
	return k, k >= 0
}

// findOwners finds, for each device, the process with most launches on it: by
// the ids that only one call has, and without such ids the process with most
// calls.
func (b *builder) findOwners(calls callIndex) {
	votes := map[int32]columns.Tally{}
	for _, i := range b.work {
		w := b.store.work.at(int(i))
		of := votes[w.device]
		if of == nil {
			of = columns.Tally{}
			votes[w.device] = of
		}
		k, found := calls.lastCall(w.corr)
		if !found || w.corr <= 0 {
			continue
		}
		if _, several := calls.prev[k]; !several {
			of[b.processOf(k)]++
		}
	}
	main := b.mainProcess()
	b.owner = map[int32]int{}
	for device, of := range votes {
		b.owner[device] = of.FindMost(main)
	}
}

// mainProcess is the process with most runtime calls, else with most calls; 0
// without any.
func (b *builder) mainProcess() int {
	runtime, all := columns.Tally{}, columns.Tally{}
	for k := range b.t.Host.Start {
		pid := b.processOf(int32(k))
		all[pid]++
		if b.t.Host.Kind[k] == recording.Runtime {
			runtime[pid]++
		}
	}
	if len(runtime) > 0 {
		return runtime.FindMost(0)
	}
	return all.FindMost(0)
}

// mostAlike is how many calls with one id are looked at: as many as processes times rounds
// may be in a file. [J]
const mostAlike = 1024

// pickCall chooses among the last calls with the work's id.
func (b *builder) pickCall(calls callIndex, w *workRecord) int32 {
	k, found := calls.lastCall(w.corr)
	if !found {
		return -1
	}
	if _, several := calls.prev[k]; !several {
		return k
	}
	best, bestScore := int32(-1), -1
	for range mostAlike {
		score := 0
		if b.processOf(k) == b.owner[w.device] {
			score = 2
		}
		if b.t.Host.Start[k]+b.base <= w.start {
			score++
		}
		if score > bestScore { // later calls come first, so the first of equals wins
			best, bestScore = k, score
		}
		before, more := calls.prev[k]
		if !more || bestScore == 3 {
			break
		}
		k = before
	}
	return best
}

// place is where a flow begins or ends.
type place struct {
	row int32
	at  int64
}

// linkByFlows links what has no correlation id, by the flow that ends where the
// work starts.
func (b *builder) linkByFlows() {
	idAt := map[place]int64{}
	for k, i := range b.work {
		if w := b.store.work.at(int(i)); b.call[k] < 0 {
			idAt[place{w.row, w.start}] = 0
		}
	}
	begins := map[int64]place{}
	for i := range b.store.flows.n {
		f := b.store.flows.at(i)
		if _, wanted := idAt[place{f.row, f.at}]; wanted && !f.begin {
			idAt[place{f.row, f.at}] = f.id
			begins[f.id] = place{row: -1}
		}
	}
	callAt := map[place]int32{}
	for i := range b.store.flows.n {
		f := b.store.flows.at(i)
		if _, wanted := begins[f.id]; wanted && f.begin {
			begins[f.id] = place{f.row, f.at}
			callAt[place{f.row, f.at}] = -1
		}
	}
	for k, i := range b.host {
		h := b.store.host.at(int(i))
		if _, wanted := callAt[place{h.row, h.start}]; wanted && h.kind == recording.Runtime {
			callAt[place{h.row, h.start}] = int32(k)
		}
	}
	b.findAround(callAt)
	for k, i := range b.work {
		w := b.store.work.at(int(i))
		if b.call[k] >= 0 {
			continue
		}
		if id := idAt[place{w.row, w.start}]; id != 0 {
			if call, found := callAt[begins[id]]; found {
				b.call[k] = call
			}
		}
	}
}

// findAround finds, for the places at which a flow begins and no call does, the innermost call around each: Ascend's
// flows begin within the call that hands an operator to the device.
func (b *builder) findAround(callAt map[place]int32) {
	var open []place
	for at, call := range callAt {
		if call < 0 {
			open = append(open, at)
		}
	}
	slices.SortFunc(open, func(x, y place) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.row, y.row)) })
	around := map[int32][]int32{} // of a row, the calls that are open, the innermost last
	next := 0
	for _, at := range open {
		for ; next < len(b.host) && b.store.host.at(int(b.host[next])).start <= at.at; next++ {
			h := b.store.host.at(int(b.host[next]))
			if h.kind == recording.Op || h.kind == recording.Runtime {
				around[h.row] = append(b.dropOver(around[h.row], h.start), int32(next))
			}
		}
		calls := b.dropOver(around[at.row], at.at)
		around[at.row] = calls
		if n := len(calls); n > 0 {
			callAt[at] = calls[n-1]
		}
	}
}

// dropOver drops calls that are over at an instant from the end of a row's open ones.
func (b *builder) dropOver(calls []int32, at int64) []int32 {
	for n := len(calls); n > 0 && b.store.host.at(int(b.host[calls[n-1]])).end <= at; n = len(calls) {
		calls = calls[:n-1]
	}
	return calls
}
