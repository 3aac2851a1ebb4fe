package kineto

import (
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// builder turns records into columns.
type builder struct {
	store *recordStore
	t     *recording.Timeline

	host, work, frames []int32 // records in order of start
	base               int64   // t = 0 on the file's clock, ns
	threadOf           []int32 // row: its place in Threads, -1 while unused
	call               []int32 // of each work record in order: its call in Host
	owner              map[int32]int
	clipped            int // works whose length was impossible
}

// sortRecords sorts the records by start and leaves out those whose clock was damaged:
// more than a day from the middle of all.
func (b *builder) sortRecords() {
	s := b.store
	b.host = byStart(s.host.n, func(i int) (int64, int64) { h := s.host.at(i); return h.start, h.end })
	b.work = byStart(s.work.n, func(i int) (int64, int64) { w := s.work.at(i); return w.start, w.end })
	b.frames = byStart(s.frames.n, func(i int) (int64, int64) { f := s.frames.at(i); return f.start, f.end })
	before, works := len(b.host)+len(b.work)+len(b.frames), len(b.work)
	all := []sorted{
		{&b.host, func(i int32) int64 { return s.host.at(int(i)).start }},
		{&b.work, func(i int32) int64 { return s.work.at(int(i)).start }},
		{&b.frames, func(i int32) int64 { return s.frames.at(int(i)).start }},
	}
	leaveZeros(all)
	if at := slices.IndexFunc(all, func(r sorted) bool { return len(*r.order) > 0 }); at >= 0 {
		middle := all[at].at(len(*all[at].order) / 2)
		for _, r := range all {
			r.cutFar(middle)
		}
	}
	s.dropped[absurdTime] += int64(before - len(b.host) - len(b.work) - len(b.frames))
	s.lost += int64(works - len(b.work))
}

// setLater is how long nothing is recorded behind a time of 0 that was never set, at least: a recording whose clock
// begins with it has something in its first second.
const setLater = 1e9

// sorted are records of one kind in the order of their starts.
type sorted struct {
	order *[]int32
	start func(record int32) int64
}

// at is the start of the record at a place of the order.
func (r sorted) at(place int) int64 { return r.start((*r.order)[place]) }

// leaveZeros leaves out records at 0 whose time was never set: all others begin later than they take together, and
// later than setLater.
func leaveZeros(all []sorted) {
	first, last := int64(math.MaxInt64), int64(0)
	for _, r := range all {
		if n := r.countZeros(); n < len(*r.order) {
			first, last = min(first, r.at(n)), max(last, r.at(len(*r.order)-1))
		}
	}
	if last < first || first <= max(last-first, setLater) {
		return
	}
	for _, r := range all {
		*r.order = (*r.order)[r.countZeros():]
	}
}

// countZeros is how many records at the begin are at 0.
func (r sorted) countZeros() (n int) {
	for n < len(*r.order) && r.at(n) == 0 {
		n++
	}
	return n
}

// cutFar cuts off the ends that lie more than a day from the middle.
func (r sorted) cutFar(middle int64) {
	far := func(place int) bool {
		at := r.at(place)
		return uint64(max(at, middle))-uint64(min(at, middle)) > uint64(longest)
	}
	for len(*r.order) > 0 && far(0) {
		*r.order = (*r.order)[1:]
	}
	for len(*r.order) > 0 && far(len(*r.order)-1) {
		*r.order = (*r.order)[:len(*r.order)-1]
	}
}

// endMarks ends the ranges that were open when the recorder stopped: the length in the file is what their program
// took, of which nothing was recorded from there on.
func (b *builder) endMarks() {
	s := b.store
	if s.stop == 0 {
		return
	}
	last := s.stop
	for _, i := range b.host {
		if h := s.host.at(int(i)); h.kind != recording.Annotation {
			last = max(last, h.end)
		}
	}
	for _, i := range b.work {
		last = max(last, s.work.at(int(i)).end)
	}
	for _, i := range b.host {
		if h := s.host.at(int(i)); h.kind == recording.Annotation && h.start < last {
			h.end = min(h.end, last)
		}
	}
}

// findZero finds t = 0 and the end.
func (b *builder) findZero() {
	first := true
	see := func(start, end int64) {
		if first {
			b.base, b.t.End, first = start, end, false
		}
		b.base, b.t.End = min(b.base, start), max(b.t.End, end)
	}
	s := b.store
	for _, i := range b.host {
		see(s.host.at(int(i)).start, s.host.at(int(i)).end)
	}
	for _, i := range b.work {
		see(s.work.at(int(i)).start, s.work.at(int(i)).end)
	}
	for _, i := range b.frames {
		see(s.frames.at(int(i)).start, s.frames.at(int(i)).end)
	}
	b.t.End -= b.base
}

func (b *builder) hostColumns() {
	b.t.Host.Grow(len(b.host))
	for _, i := range b.host {
		r := b.store.host.at(int(i))
		b.t.Host.Append(recording.CallRow{
			Start: r.start - b.base, End: r.end - b.base, Name: r.name, Thread: b.threadPlace(r.row), Kind: r.kind,
			Shapes: r.shapes, Types: r.types,
		})
	}
}

func (b *builder) frameColumns() {
	b.t.Frames.Grow(len(b.frames))
	for _, i := range b.frames {
		r := b.store.frames.at(int(i))
		b.t.Frames.Append(recording.FrameRow{
			Start: r.start - b.base, End: r.end - b.base, Name: r.name, Thread: b.threadPlace(r.row),
		})
	}
	b.store.frames = blocks[frameRecord]{}
}

// threadPlace is the place of a row among the threads, which get their numbers in
// order of their first call.
func (b *builder) threadPlace(r int32) int32 {
	if b.threadOf[r] < 0 {
		b.threadOf[r] = int32(len(b.t.Threads))
		of := b.store.rows[r]
		b.t.Threads = append(b.t.Threads, recording.Thread{PID: int(of.pid), ID: of.tid})
	}
	return b.threadOf[r]
}

// nameThreads names the threads.
func (b *builder) nameThreads() {
	for r, t := range b.threadOf {
		if t < 0 {
			continue
		}
		if name, found := b.store.labels[int32(r)]; found {
			b.t.Threads[t].Name = strings.TrimSuffix(b.store.names[name], " ()") // what has no name
		}
	}
}

func (b *builder) workColumns() {
	b.t.Device.Grow(len(b.work))
	known := map[recording.Device]int32{}
	for k, i := range b.work {
		w := b.store.work.at(int(i))
		device := b.devicePlace(known, w, b.call[k])
		if device < 0 {
			b.store.dropped[devicesWhy]++
			continue
		}
		bytes := w.bytes
		if bytes < 0 && w.kind == recording.Copy {
			if moved, found := b.store.sizes[w.corr]; found {
				bytes = moved
			}
		}
		b.t.Device.Append(recording.WorkRow{
			Start: w.start - b.base, End: w.end - b.base, Name: w.name, Device: device,
			Stream: w.stream, Kind: w.kind, Call: b.call[k], Bytes: bytes, Blocks: w.blocks, Threads: w.threads,
			PerSM: w.perSM, Occupancy: w.occupancy, Group: w.group,
		})
	}
	b.call = nil
}

// devicePlace is the place of the device that did a piece of work, in the process of its
// call; -1 if there are too many.
func (b *builder) devicePlace(known map[recording.Device]int32, w *workRecord, call int32) int32 {
	on := recording.Device{PID: b.owner[w.device], Index: int(w.device), GPU: -1}
	if call >= 0 {
		on.PID = b.processOf(call)
	}
	at, found := known[on]
	if !found {
		if len(b.t.Devices) >= columns.MostDevices {
			return -1
		}
		at = int32(len(b.t.Devices))
		known[on] = at
		b.t.Devices = append(b.t.Devices, on)
	}
	return at
}

// memoryColumns takes the allocator's events of the devices that worked.
func (b *builder) memoryColumns() {
	s := b.store
	order := byStart(s.memory.n, func(i int) (int64, int64) { m := s.memory.at(i); return m.at, m.at })
	place := map[recording.Device]int32{}
	for i, d := range b.t.Devices {
		place[recording.Device{PID: d.PID, Index: d.Index}] = int32(i)
	}
	b.t.Memory.Grow(len(order))
	for _, i := range order {
		m := s.memory.at(int(i))
		s.held[m.device] = memoryRecord{
			allocated: max(s.held[m.device].allocated, m.allocated),
			reserved:  max(s.held[m.device].reserved, m.reserved),
		}
		on, known := place[recording.Device{PID: int(s.rows[m.row].pid), Index: int(m.device)}]
		at := m.at - b.base
		if !known || at < 0 || at > b.t.End {
			s.dropped[instantWhy]++
			continue
		}
		b.t.Memory.Append(recording.MemoryRow{
			At: at, Device: on, Thread: b.threadPlace(m.row), Bytes: m.bytes, Address: m.address, Total: m.allocated,
		})
	}
	s.memory = blocks[memoryRecord]{}
}

// countDropped counts what was not kept, in words.
func (b *builder) countDropped() map[string]int {
	out := map[string]int{}
	for w, n := range b.store.dropped {
		if n > 0 {
			out[whyText[w]] = int(n)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// processOf is the process of a call.
func (b *builder) processOf(call int32) int { return b.t.Threads[b.t.Host.Thread[call]].PID }
