package nsight

import (
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// calls reads what the host did. The API comes first: it tells which threads
// matter.
func (r *reader) calls() error {
	r.threads, r.cuda = map[int64]int32{}, map[int32]bool{}
	r.growCalls()
	parts := []func() error{
		func() error { return r.api("CUPTI_ACTIVITY_KIND_RUNTIME") },
		func() error { return r.api("CUPTI_ACTIVITY_KIND_DRIVER") },
		r.nvtx, r.osCalls,
		func() error { return r.overhead("CUPTI_ACTIVITY_KIND_OVERHEAD") },
		func() error { return r.overhead("PROFILER_OVERHEAD") },
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) growCalls() {
	n := 0
	for _, table := range callTables {
		n += r.counts[table]
	}
	n = min(n, 2*r.most)
	h := &r.out.Timeline.Host
	h.Start, h.End, h.Name = make([]int64, 0, n), make([]int64, 0, n), make([]int32, 0, n)
	h.Thread, h.Shapes, h.Types = make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	h.Kind, r.callKey = make([]recording.CallKind, 0, n), make([]uint64, 0, n)
}

// call is one host event.
type call struct {
	start, end   int64
	name, shapes int32
	kind         recording.CallKind
	key          uint64
}

func (r *reader) addCall(c call, thread int32) {
	if thread < 0 || r.full() {
		return
	}
	h := &r.out.Timeline.Host
	h.Start, h.End, h.Name = append(h.Start, c.start), append(h.End, c.end), append(h.Name, c.name)
	h.Thread, h.Kind = append(h.Thread, thread), append(h.Kind, c.kind)
	h.Shapes, h.Types = append(h.Shapes, c.shapes), append(h.Types, -1)
	r.callKey = append(r.callKey, c.key)
}

// mostThreads bounds a stranger's list.
const mostThreads = 1 << 16

// thread is the place of a thread among the threads; -1 where there are too many.
func (r *reader) thread(global int64) int32 {
	t, found := r.threads[global]
	if !found {
		if len(r.threads) >= mostThreads {
			r.dropped["of more threads than any machine has"]++
			return -1
		}
		t = int32(len(r.threads))
		r.threads[global] = t
		r.out.Timeline.Threads = append(r.out.Timeline.Threads, recording.Thread{PID: pidOf(global), ID: tidOf(global)})
	}
	return t
}

// api reads calls of the CUDA runtime and driver.
func (r *reader) api(table string) error {
	return r.scan(table, []string{"start", "end", "globalTid", "nameId"}, []string{"correlationId"}, func(row *row) error {
		start, end, ok := r.span(row)
		if !ok {
			return nil
		}
		global := number(row, 2)
		c := call{start: start, end: end, name: r.stringAt(number(row, 3), apiName), shapes: -1, kind: recording.Runtime}
		if c.name < 0 {
			c.name = r.names.id([]byte("call without a name"))
		}
		c.key = r.key(processOf(global), number(row, 4))
		thread := r.thread(global)
		r.cuda[thread] = true
		r.addCall(c, thread)
		return nil
	})
}

// nvtx reads marked ranges. Ranges without an end were open when the recording
// stopped.
func (r *reader) nvtx() error {
	open := 0
	columns := []string{"eventType", "text", "textId", "globalTid"}
	err := r.scan("NVTX_EVENTS", []string{"start", "end"}, columns, func(row *row) error {
		if kind, ok := row.Int(2); ok && !r.labels.ranges[kind] {
			return nil // a mark without length, a category, a domain
		}
		if _, ok := row.Int(1); !ok {
			open++
			return nil
		}
		start, end, ok := r.span(row)
		if !ok {
			return nil
		}
		c := call{start: start, end: end, shapes: -1, kind: recording.Annotation}
		if text := row.Text(3); len(text) > 0 {
			r.setMark(&c, text)
		} else if c.name = r.stringAt(number(row, 4), asIs); c.name >= 0 {
			r.setMark(&c, []byte(r.names.list[c.name]))
		} else {
			c.name = r.names.id([]byte("range without a name"))
		}
		thread := r.thread(number(row, 5))
		r.cuda[thread] = true
		r.addCall(c, thread)
		return nil
	})
	if open > 0 {
		r.dropped["without an end"] += open
	}
	return err
}

func (r *reader) setMark(c *call, text []byte) {
	m := markOf(text)
	c.name, c.kind = r.names.id(m.name), m.kind
	if m.shapes != nil {
		c.shapes = r.names.id(m.shapes)
	}
}

// osCalls reads waits in the operating system, of the threads that call CUDA or
// mark ranges: hundreds of others sleep in every program.
func (r *reader) osCalls() error {
	return r.scan("OSRT_API", []string{"start", "end", "globalTid", "nameId"}, nil, func(row *row) error {
		start, end, ok := r.span(row)
		if !ok {
			return nil
		}
		thread, found := r.threads[number(row, 2)]
		if !found || !r.cuda[thread] {
			r.dropped["calls of the operating system on threads that call no CUDA and mark no range"]++
			return nil
		}
		c := call{start: start, end: end, name: r.stringAt(number(row, 3), asIs), shapes: -1, kind: recording.Annotation}
		if c.name >= 0 {
			r.addCall(c, thread)
		}
		return nil
	})
}

// overhead reads the profiler's own time.
func (r *reader) overhead(table string) error {
	return r.scan(table, []string{"start", "end"}, []string{"globalTid", "nameId"}, func(row *row) error {
		start, end, ok := r.span(row)
		thread, found := r.threads[number(row, 2)]
		if !ok || !found {
			return nil
		}
		c := call{start: start, end: end, name: r.stringAt(number(row, 3), asIs), shapes: -1, kind: recording.Profiling}
		if c.name < 0 {
			c.name = r.names.id([]byte("Nsight Systems"))
		}
		r.addCall(c, thread)
		return nil
	})
}

// sortCalls puts the columns in order of start.
func (r *reader) sortCalls() {
	h := &r.out.Timeline.Host
	order := columns.ByStart(h.Start, h.End)
	if order == nil {
		return
	}
	columns.Pick(h.Start, order)
	columns.Pick(h.End, order)
	columns.Pick(r.callKey, order)
	for _, column := range [][]int32{h.Name, h.Thread, h.Shapes} {
		columns.Pick(column, order)
	}
	columns.Pick(h.Kind, order)
}

// link finds the call that launched each piece of work: the one with its
// correlation id in its process.
func (r *reader) link() {
	t := r.out.Timeline
	t.Device.Call = columns.Link(r.callKey, t.Host.Start, r.keys, t.Device.Start)
	r.callKey, r.keys = nil, nil
}
