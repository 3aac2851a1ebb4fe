package replay

import (
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// findWorks links work to the items that launched it, and to what was before it on
// its stream.
func (t *Trace) findWorks() {
	d := &t.t.Device
	of := t.itemOfCalls()
	streams := map[[2]int32]int32{} // last work of each stream
	hosts := t.deviceHosts(of)
	t.works = make([]work, t.count)
	for i := range t.works {
		w := &t.works[i]
		*w = work{
			start: d.Start[i], end: max(d.End[i], d.Start[i]), key: d.Start[i], item: -1, prev: -1, dep: -1, meet: -1,
			name: d.Name[i], step: -1, kind: d.Kind[i],
			down: d.Kind[i] == recording.Copy && recording.ToDevice(t.t.Names[d.Name[i]]),
		}
		stream := [2]int32{d.Device[i], d.Stream[i]}
		if before, known := streams[stream]; known {
			w.prev = before
		}
		streams[stream] = int32(i)
		if call := d.Call[i]; call >= 0 && int(call) < t.calls {
			w.item = of[call]
		}
		if w.item < 0 {
			t.adopt(w, hosts[d.Device[i]])
		}
		if w.item >= 0 {
			w.key, w.step = max(w.key, t.items[w.item].start), t.items[w.item].step
		}
		if w.prev >= 0 {
			w.key = max(w.key, t.works[w.prev].key)
		}
		if w.step >= 0 {
			t.steps[w.step].works++
		}
	}
	t.alignClocks()
	t.measure()
	t.crossings()
	t.queueCopies()
}

// alignClocks moves the device's work to where the host's waits allow it. A wait for a copy to
// the host returns when the copy has ended. If the file says that the copy ends later, the
// device's clock is ahead, by no more than the least time from a call to its work.
func (t *Trace) alignClocks() {
	most, late := int64(math.MaxInt64), int64(0)
	for i := range t.works {
		if w := &t.works[i]; w.item >= 0 && !w.loose {
			most = min(most, w.start-t.items[w.item].start)
		}
	}
	for i := range t.items {
		it := &t.items[i]
		if it.kind != wait || !it.ofCopy || t.items[it.prev].kind != copyOut {
			continue
		}
		if w := &t.works[t.items[it.prev].work]; w.start >= it.end {
			late = max(late, w.end-it.end+1)
		}
	}
	if late = min(late, most-1); late <= 0 {
		return
	}
	for i := range t.works {
		w := &t.works[i]
		w.start, w.end = w.start-late, w.end-late
		if w.key -= late; w.item >= 0 {
			w.key = max(w.key, t.items[w.item].start)
		}
	}
}

// itemOfCalls is, for each host call, the item that it is or is in; -1 none.
func (t *Trace) itemOfCalls() []int32 {
	h := &t.t.Host
	of := recording.NoPlaces(t.calls)
	last := recording.NoPlaces(len(t.t.Threads))
	next := 0
	for call := range t.calls {
		for next < len(t.items) && t.items[next].start <= h.Start[call] {
			last[t.items[next].thread] = int32(next)
			next++
		}
		i := last[h.Thread[call]]
		for ; i >= 0 && t.items[i].kind == loading && h.Kind[call] == recording.Runtime &&
			t.items[i].call != int32(call); i = t.items[i].prev {
			if t.items[i].end > h.Start[call] {
				break
			}
		}
		if i >= 0 && t.items[i].end >= h.Start[call] {
			of[call] = i
		}
	}
	return of
}

// deviceHosts are, of each device, the items of the process that launches most of
// its work: what adopts work without a call.
func (t *Trace) deviceHosts(of []int32) [][]int32 {
	d := &t.t.Device
	votes := make([]map[int32]int, len(t.t.Devices))
	for i, call := range d.Call[:t.count] {
		if call >= 0 && int(call) < t.calls && of[call] >= 0 {
			if votes[d.Device[i]] == nil {
				votes[d.Device[i]] = map[int32]int{}
			}
			votes[d.Device[i]][t.items[of[call]].thread]++
		}
	}
	hosts := make([][]int32, len(t.t.Devices))
	items := map[int32][]int32{} // of a thread
	for device, of := range votes {
		best := int32(-1)
		for thread, n := range of {
			if best < 0 || n > of[best] || n == of[best] && thread < best {
				best = thread
			}
		}
		if best < 0 {
			continue
		}
		if _, listed := items[best]; !listed {
			items[best] = t.itemsOf(best)
		}
		hosts[device] = items[best]
	}
	return hosts
}

// itemsOf returns the items of a thread.
func (t *Trace) itemsOf(thread int32) (list []int32) {
	for i := range t.items {
		if t.items[i].thread == thread {
			list = append(list, int32(i))
		}
	}
	return list
}

// adopt links work without a call to what the launching thread did when the work started, unless
// it follows other work at once.
func (t *Trace) adopt(w *work, host []int32) {
	w.loose = true
	if w.prev >= 0 && w.start-t.works[w.prev].end <= pause {
		w.step = t.works[w.prev].step
		return
	}
	n := sort.Search(len(host), func(i int) bool { return t.items[host[i]].start > w.start })
	if n > 0 {
		w.item = host[n-1]
	}
}

// measure takes the trace's own constants: the fastest way from a call to its
// work, and the usual pause between two pieces of queued work.
func (t *Trace) measure() {
	var flights, pauses []int64
	for i := range t.works {
		w := &t.works[i]
		if w.item < 0 || w.loose {
			continue
		}
		call := t.items[w.item].start
		if w.prev < 0 || t.works[w.prev].end <= call {
			if w.start > call && t.items[w.item].work == int32(i) && !t.startsLate(w) {
				flights = append(flights, w.start-call)
			}
		} else if gap := w.start - t.works[w.prev].end; gap >= 0 && gap <= pause {
			pauses = append(pauses, gap)
		}
	}
	t.flight, t.usual, t.latest = 2_000, 2_000, 1_000 // [J] 2 us; 1 us between kernels
	if len(flights) > 0 {
		slices.Sort(flights)
		t.flight = min(flights[len(flights)/100], 50_000)
		t.usual = flights[len(flights)/2]
	}
	if len(pauses) > 0 {
		slices.Sort(pauses)
		t.latest = pauses[len(pauses)/2]
	}
}

// crossings finds work that waited for another stream: by a recorded pair of cudaEventRecord and
// cudaStreamWaitEvent, or because it started when another stream's work had ended although it
// was queued before.
func (t *Trace) crossings() {
	d := &t.t.Device
	t.recordedEvents()
	last := map[int32]map[int32]int32{} // by device and stream, the last work
	for i := range t.works {
		w := &t.works[i]
		device, stream := d.Device[i], d.Stream[i]
		if last[device] == nil {
			last[device] = map[int32]int32{}
		}
		byCall, byStream := t.readyTimes(w)
		if w.dep < 0 && w.item >= 0 && !w.loose && w.start-max(byCall, byStream) > pause {
			w.dep = t.justEnded(last[device], stream, w.start)
		}
		last[device][stream] = int32(i)
	}
}

// justEnded returns the work on another stream that ended last before an instant, if
// it was shortly before.
func (t *Trace) justEnded(last map[int32]int32, stream int32, at int64) int32 {
	best := int32(-1)
	for other, i := range last {
		for ; i >= 0 && t.works[i].end > at; i = t.works[i].prev {
			if t.works[i].start < at-slack && t.works[i].end > at+slack {
				break // still runs
			}
		}
		if other == stream || i < 0 || t.works[i].end < at-slack || t.works[i].end > at {
			continue
		}
		if best < 0 || t.works[i].end > t.works[best].end || t.works[i].end == t.works[best].end && i < best {
			best = i
		}
	}
	return best
}

// recordedEvents reads the pairs of calls that order one stream after another. The event marks
// the last launch of its thread before it was recorded. The first launch after the wait is the
// one that waits.
func (t *Trace) recordedEvents() {
	type state struct{ work, event, waits int32 }
	states := make([]state, len(t.t.Threads))
	for i := range states {
		states[i] = state{-1, -1, -1}
	}
	d := &t.t.Device
	for i := range t.items {
		it := &t.items[i]
		s := &states[it.thread]
		name := ""
		if it.call >= 0 && it.kind == other {
			name = t.t.Names[t.t.Host.Name[it.call]]
		}
		switch {
		case recordsEvent(name):
			s.event = s.work
		case waitsEvent(name):
			s.waits = s.event
		case it.work >= 0:
			w := &t.works[it.work]
			if s.waits >= 0 && d.Device[s.waits] == d.Device[it.work] && d.Stream[s.waits] != d.Stream[it.work] &&
				t.works[s.waits].end <= w.start+slack && t.works[s.waits].key <= w.key {
				w.dep = s.waits
			}
			s.work, s.waits = it.work, -1
		}
	}
}
