package kineto

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/steps"
)

// trace builds the columns of everything that was read.
func (m *merger) trace() (*Trace, error) {
	s := m.store
	b := &builder{store: s, t: &recording.Timeline{Names: s.names}, threadOf: filled(len(s.rows), -1)}
	b.order()
	if len(b.host)+len(b.work)+len(b.frames) == 0 {
		if err := m.foreign(); err != nil {
			return nil, err
		}
	}
	b.zero()
	b.hostColumns()
	b.frameColumns()
	b.link()
	s.host = blocks[hostRecord]{} // half of the memory, before the rest is built
	b.workColumns()
	s.work = blocks[workRecord]{}
	b.memoryColumns()
	b.threads()
	out := &Trace{Timeline: b.t, Zero: b.base, Bytes: m.offset, Events: s.events, Warnings: m.warnings, Rank: -1}
	b.t.Dropped = b.dropped()
	m.facts(b, out)
	found := steps.Find(b.t, out.Facts.Processes, "ProfilerStep marks", "The trace has no ProfilerStep marks (call prof.step() in the loop)")
	out.Steps, out.Facts.StepsFrom, out.Warnings = found.Steps, found.Rule, append(out.Warnings, found.Said...)
	return out, nil
}

// builder turns records into columns.
type builder struct {
	store *store
	t     *recording.Timeline

	host, work, frames []int32 // records in order of start
	base               int64   // t = 0 on the file's clock, ns
	threadOf           []int32 // row: its place in Threads, -1 while unused
	call               []int32 // of each work record in order: its call in Host
	owner              map[int32]int
}

func filled(n int, with int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = with
	}
	return out
}

// order sorts the records by start and leaves out those whose clock was damaged:
// more than a day from the middle of all.
func (b *builder) order() {
	s := b.store
	b.host = byStart(s.host.n, func(i int) (int64, int64) { h := s.host.at(i); return h.start, h.end })
	b.work = byStart(s.work.n, func(i int) (int64, int64) { w := s.work.at(i); return w.start, w.end })
	b.frames = byStart(s.frames.n, func(i int) (int64, int64) { f := s.frames.at(i); return f.start, f.end })
	var middle int64
	switch {
	case len(b.host) > 0:
		middle = s.host.at(int(b.host[len(b.host)/2])).start
	case len(b.work) > 0:
		middle = s.work.at(int(b.work[len(b.work)/2])).start
	case len(b.frames) > 0:
		middle = s.frames.at(int(b.frames[len(b.frames)/2])).start
	}
	before := len(b.host) + len(b.work) + len(b.frames)
	b.host = near(b.host, middle, func(i int32) int64 { return s.host.at(int(i)).start })
	b.work = near(b.work, middle, func(i int32) int64 { return s.work.at(int(i)).start })
	b.frames = near(b.frames, middle, func(i int32) int64 { return s.frames.at(int(i)).start })
	s.dropped[absurdTime] += int64(before - len(b.host) - len(b.work) - len(b.frames))
}

// near cuts off the ends that lie more than a day from the middle.
func near(order []int32, middle int64, start func(i int32) int64) []int32 {
	far := func(i int32) bool {
		at := start(i)
		return uint64(max(at, middle))-uint64(min(at, middle)) > uint64(longest)
	}
	for len(order) > 0 && far(order[0]) {
		order = order[1:]
	}
	for len(order) > 0 && far(order[len(order)-1]) {
		order = order[:len(order)-1]
	}
	return order
}

// zero finds t = 0 and the end.
func (b *builder) zero() {
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
	n := len(b.host)
	h := &b.t.Host
	h.Start, h.End = make([]int64, n), make([]int64, n)
	h.Name, h.Thread, h.Shapes, h.Types = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	h.Kind = make([]recording.CallKind, n)
	for k, i := range b.host {
		r := b.store.host.at(int(i))
		h.Start[k], h.End[k] = r.start-b.base, r.end-b.base
		h.Name[k], h.Shapes[k], h.Types[k], h.Kind[k] = r.name, r.shapes, r.types, r.kind
		h.Thread[k] = b.thread(r.row)
	}
}

func (b *builder) frameColumns() {
	n := len(b.frames)
	f := &b.t.Frames
	f.Start, f.End, f.Name, f.Thread = make([]int64, n), make([]int64, n), make([]int32, n), make([]int32, n)
	for k, i := range b.frames {
		r := b.store.frames.at(int(i))
		f.Start[k], f.End[k], f.Name[k], f.Thread[k] = r.start-b.base, r.end-b.base, r.name, b.thread(r.row)
	}
	b.store.frames = blocks[frameRecord]{}
}

// thread is the place of a row among the threads, which get their numbers in
// order of their first call.
func (b *builder) thread(r int32) int32 {
	if b.threadOf[r] < 0 {
		b.threadOf[r] = int32(len(b.t.Threads))
		of := b.store.rows[r]
		b.t.Threads = append(b.t.Threads, recording.Thread{PID: int(of.pid), ID: of.tid})
	}
	return b.threadOf[r]
}

// threads names the threads.
func (b *builder) threads() {
	for r, t := range b.threadOf {
		if t < 0 {
			continue
		}
		if name, found := b.store.labels[int32(r)]; found {
			b.t.Threads[t].Name = b.store.names[name]
		}
	}
}

func (b *builder) workColumns() {
	n := len(b.work)
	d := &b.t.Device
	d.Start, d.End, d.Bytes = make([]int64, n), make([]int64, n), make([]int64, n)
	d.Name, d.Device, d.Stream, d.Group = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	d.Kind, d.Blocks, d.Threads = make([]recording.WorkKind, n), make([]int32, n), make([]int32, n)
	d.PerSM, d.Occupancy, d.Call = make([]float32, n), make([]float32, n), b.call
	known := map[recording.Device]int32{}
	for k, i := range b.work {
		w := b.store.work.at(int(i))
		d.Start[k], d.End[k], d.Bytes[k] = w.start-b.base, w.end-b.base, w.bytes
		d.Name[k], d.Stream[k], d.Group[k], d.Kind[k] = w.name, w.stream, w.group, w.kind
		d.Blocks[k], d.Threads[k], d.PerSM[k], d.Occupancy[k] = w.blocks, w.threads, w.perSM, w.occupancy
		if w.bytes < 0 && w.kind == recording.Copy {
			if bytes, found := b.store.sizes[w.corr]; found {
				d.Bytes[k] = bytes
			}
		}
		on := recording.Device{PID: b.owner[w.device], Index: int(w.device), GPU: -1}
		if c := b.call[k]; c >= 0 {
			on.PID = b.t.Threads[b.t.Host.Thread[c]].PID
		}
		at, found := known[on]
		if !found {
			at = int32(len(b.t.Devices))
			known[on] = at
			b.t.Devices = append(b.t.Devices, on)
		}
		d.Device[k] = at
	}
}

// memoryColumns takes the allocator's events of the devices that worked.
func (b *builder) memoryColumns() {
	s := b.store
	order := byStart(s.memory.n, func(i int) (int64, int64) { m := s.memory.at(i); return m.at, m.at })
	place := map[recording.Device]int32{}
	for i, d := range b.t.Devices {
		place[recording.Device{PID: d.PID, Index: d.Index}] = int32(i)
	}
	c, n := &b.t.Memory, len(order)
	c.At, c.Bytes, c.Address, c.Total = make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	c.Device, c.Thread = make([]int32, 0, n), make([]int32, 0, n)
	for _, i := range order {
		m := s.memory.at(int(i))
		s.held[m.device] = memoryRecord{allocated: max(s.held[m.device].allocated, m.allocated), reserved: max(s.held[m.device].reserved, m.reserved)}
		on, known := place[recording.Device{PID: int(s.rows[m.row].pid), Index: int(m.device)}]
		at := m.at - b.base
		if !known || at < 0 || at > b.t.End {
			s.dropped[instantWhy]++
			continue
		}
		c.At, c.Bytes, c.Address, c.Total = append(c.At, at), append(c.Bytes, m.bytes), append(c.Address, m.address), append(c.Total, m.allocated)
		c.Device, c.Thread = append(c.Device, on), append(c.Thread, b.thread(m.row))
	}
	s.memory = blocks[memoryRecord]{}
}

// dropped are the counts of what was not kept, in words.
func (b *builder) dropped() map[string]int {
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

// strangest are the categories that nobody knows, most frequent first.
func (s *store) strangest() []string {
	var cats []string
	for cat := range s.strange {
		if cat != "" {
			cats = append(cats, cat)
		}
	}
	slices.SortFunc(cats, func(a, b string) int {
		if s.strange[a] != s.strange[b] {
			return int(s.strange[b] - s.strange[a])
		}
		return compare(a, b)
	})
	return cats
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// foreign says what a file without a single event of PyTorch's is.
func (m *merger) foreign() error {
	s := m.store
	if s.events == 0 && m.arrays == 0 {
		return &ForeignError{"JSON without traceEvents", "give the file that torch.profiler wrote: prof.export_chrome_trace(\"trace.json\") or tensorboard_trace_handler"}
	}
	for _, name := range s.names {
		switch {
		case contains(name, "/host:CPU", "/device:GPU", "/device:TPU", "/job:"):
			return &ForeignError{"a trace of TensorFlow or XLA in JSON", "give the .xplane.pb that lies beside it"}
		case contains(name, "CrRendererMain", "CrBrowserMain", "VizCompositorThread"):
			return &ForeignError{"a Chrome browser trace", "only PyTorch profiler traces are read; record with torch.profiler"}
		}
	}
	for _, cat := range s.strangest() {
		if contains(cat, "devtools", "blink", "v8", "loading", "toplevel", "netlog", "cc,", "gpu,") {
			return &ForeignError{"a Chrome browser trace", "only PyTorch profiler traces are read; record with torch.profiler"}
		}
	}
	if _, found := m.meta["viztracer_metadata"]; found {
		return &ForeignError{"a trace of VizTracer", "record the device's work too, with torch.profiler"}
	}
	if s.strange["Op"] > 0 {
		return &ForeignError{"a trace of TensorFlow in JSON", "give the .xplane.pb that lies beside it"}
	}
	if len(m.warnings) > 0 || s.events == 0 {
		return &SyntaxError{m.offset, "no event of PyTorch's profiler was found before the end of the file"}
	}
	what := "a Chrome trace without events of PyTorch's profiler"
	if cats := s.strangest(); len(cats) > 0 {
		what += fmt.Sprintf(" (its categories: %.60q)", cats[:min(3, len(cats))])
	}
	return &ForeignError{what, "record with torch.profiler and export_chrome_trace"}
}
