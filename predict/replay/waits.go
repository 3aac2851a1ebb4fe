package replay

import (
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// queueDepth is how many launches may be outstanding before the next one blocks:
// CUDA's queue is full at 1,024 (HTA's launch-queue analysis). A trace that shows
// more has a longer one.
const queueDepth = 1024

// underWay is the longest from the return of a launch to its work's start on a device that has
// nothing else to do, nanoseconds. [J] As diagnose has it.
const underWay = 100_000

// startsLate reports whether work began long after its launch though nothing that was recorded
// held it up: memory that moves first, another process on the device, a debugger. Whether an
// earlier launch would help is unknown.
func (t *Trace) startsLate(w *work) bool {
	return w.item >= 0 && !w.loose && w.start-t.items[w.item].end > underWay
}

// findWaits says of each call which work it waited for: the last that ended
// before the call returned, of those launched before it.
func (t *Trace) findWaits() {
	ends := t.byEnd()
	launched := make([]int32, len(t.t.Threads)) // last work by thread's process
	for i := range launched {
		launched[i] = -1
	}
	for i := range t.items {
		it := &t.items[i]
		process := t.processOf(it.thread)
		switch it.kind {
		case wait:
			if w := launched[process]; w >= 0 && t.isSettled(it, w) {
				it.also = w
			}
			if it.target = t.endedIn(ends, it, process); it.target < 0 {
				it.target = it.also // it returned at once: nothing was left
			}
		case copyIn, copyOut:
			if t.isBlocked(it) {
				it.target = it.work
			}
		case launch:
			if it.end-it.start >= longLaunch {
				if w := t.endedIn(ends, it, process); w >= 0 && t.works[w].end > it.start &&
					t.outstanding(ends, it) > queueDepth/2 {
					it.target = w
				}
			}
		case loading, allocate, collect, other:
		}
		if it.target >= 0 && it.end <= it.start {
			it.target = -1
		}
		if it.work >= 0 {
			launched[process] = it.work
		}
	}
	t.findFullQueue()
}

// isSettled reports whether work was over when an item ended.
func (t *Trace) isSettled(it *item, w int32) bool {
	return t.works[w].end <= it.end+slack && t.works[w].key < it.end
}

// byEnd returns all work in order of its end.
func (t *Trace) byEnd() []int32 {
	ends := make([]int32, len(t.works))
	for i := range ends {
		ends[i] = int32(i)
	}
	sort.Slice(ends, func(a, b int) bool {
		x, y := t.works[ends[a]].end, t.works[ends[b]].end
		return x < y || x == y && ends[a] < ends[b]
	})
	return ends
}

// endedIn returns the last work that ended while an item lasted, of that which its
// process launched before; -1 none.
func (t *Trace) endedIn(ends []int32, it *item, process int32) int32 {
	n := sort.Search(len(ends), func(i int) bool { return t.works[ends[i]].end > it.end+slack })
	for n--; n >= 0; n-- {
		w := &t.works[ends[n]]
		if w.end < it.start {
			break
		}
		if w.item >= 0 && !w.loose && t.items[w.item].start < it.start &&
			t.processOf(t.items[w.item].thread) == process && w.key < it.end {
			return ends[n]
		}
	}
	return -1
}

// outstanding returns how much work was launched before an item and not over when it
// began.
func (t *Trace) outstanding(ends []int32, it *item) int {
	over := sort.Search(len(ends), func(i int) bool { return t.works[ends[i]].end > it.start })
	begun := sort.Search(len(t.works), func(i int) bool { return t.works[i].start > it.start })
	queued := 0
	for i := begun; i < len(t.works) && queued <= queueDepth; i++ {
		if w := &t.works[i]; w.item >= 0 && t.items[w.item].start < it.start {
			queued++
		}
	}
	return begun - over + queued
}

// isBlocked reports whether a copying call returned when its copy was done.
func (t *Trace) isBlocked(it *item) bool {
	if it.work < 0 || t.works[it.work].key >= it.end || t.works[it.work].end > it.end+slack {
		return false
	}
	w := &t.works[it.work]
	name := t.t.Names[t.t.Host.Name[it.call]]
	length := it.end - it.start
	switch {
	case blocksAlways(name):
		return true
	case isPinned(t.t.Names[w.name]):
		return length > 50_000 && w.end >= it.start+length/2 // else it returned while the copy was young
	}
	return length > 50_000 || w.end-w.start > leastWait
}

// findFullQueue finds, for each launch, the work that must have ended before it: the one
// as many launches before as the queue has room.
func (t *Trace) findFullQueue() {
	d := &t.t.Device
	launches := make([][]int32, len(t.t.Devices)) // last work of each launch, by device
	last := t.lastOf()
	for i := range t.items {
		it := &t.items[i]
		if it.work < 0 {
			continue
		}
		of := &launches[d.Device[it.work]]
		if n := len(*of); n >= queueDepth {
			full := (*of)[n-queueDepth]
			if t.works[full].key <= it.start && t.works[full].end <= it.start {
				it.full = full
			}
		}
		*of = append(*of, last[i])
	}
}

// lastOf returns the last work of each item: a graph's launch owns many.
func (t *Trace) lastOf() []int32 {
	last := recording.NoPlaces(len(t.items))
	for w := range t.works {
		if i := t.works[w].item; i >= 0 {
			last[i] = int32(w)
		}
	}
	return last
}
