package nsight

import (
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// readCalls reads what the host did. The API comes first: it tells which threads
// matter.
func (r *reader) readCalls() error {
	r.threads, r.cuda = map[int64]int32{}, map[int32]bool{}
	r.growCalls()
	parts := []func() error{
		func() error { return r.readAPI("CUPTI_ACTIVITY_KIND_RUNTIME") },
		func() error { return r.readAPI("CUPTI_ACTIVITY_KIND_DRIVER") },
		r.readRanges, r.readOSCalls,
		func() error { return r.readOverhead("CUPTI_ACTIVITY_KIND_OVERHEAD") },
		func() error { return r.readOverhead("PROFILER_OVERHEAD") },
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
	r.out.Timeline.Host.Grow(n)
	r.callKey = make([]uint64, 0, n)
}

// call is one host event.
type call struct {
	start, end   int64
	name, shapes int32
	kind         recording.CallKind
	key          uint64
}

func (r *reader) addCall(c call, thread int32) {
	if thread < 0 || r.isFull() {
		return
	}
	r.out.Timeline.Host.Append(recording.CallRow{
		Start: c.start, End: c.end, Name: c.name, Thread: thread, Kind: c.kind, Shapes: c.shapes, Types: -1,
	})
	r.callKey = append(r.callKey, c.key)
}

// mostThreads bounds a stranger's list.
const mostThreads = 1 << 16

// threadPlace is the place of a thread among the threads; -1 if there are too many.
func (r *reader) threadPlace(global int64) int32 {
	t, found := r.threads[global]
	if !found {
		if len(r.threads) >= mostThreads {
			r.dropped["of more threads than any machine has"]++
			return -1
		}
		t = int32(len(r.threads))
		r.threads[global] = t
		r.out.Timeline.Threads = append(r.out.Timeline.Threads,
			recording.Thread{PID: processID(global), ID: threadID(global)})
	}
	return t
}

// readAPI reads calls of the CUDA runtime and driver.
func (r *reader) readAPI(table string) error {
	must := []string{"start", "end", "globalTid", "nameId"}
	return r.scanColumns(table, must, []string{"correlationId"}, func(row *row) error {
		start, end, ok := r.readSpan(row)
		if !ok {
			return nil
		}
		global := readNumber(row, 2)
		c := call{
			start: start, end: end, name: r.stringAt(readNumber(row, 3), apiName), shapes: -1,
			kind: recording.Runtime,
		}
		if c.name < 0 {
			c.name = r.names.intern([]byte("call without a name"))
		}
		c.key = r.correlationKey(processOf(global), readNumber(row, 4))
		thread := r.threadPlace(global)
		r.cuda[thread] = true
		r.addCall(c, thread)
		return nil
	})
}

// readRanges reads marked ranges. Ranges without an end were open when the recording
// stopped.
func (r *reader) readRanges() error {
	open := 0
	columns := []string{"eventType", "text", "textId", "globalTid"}
	err := r.scanColumns("NVTX_EVENTS", []string{"start", "end"}, columns, func(row *row) error {
		if kind, ok := row.intAt(2); ok && !r.labels.ranges[kind] {
			return nil // a mark without length, a category, a domain
		}
		if _, ok := row.intAt(1); !ok {
			open++
			return nil
		}
		start, end, ok := r.readSpan(row)
		if !ok {
			return nil
		}
		c := call{start: start, end: end, shapes: -1, kind: recording.Annotation}
		if text := row.textAt(3); len(text) > 0 {
			r.setMark(&c, text)
		} else if c.name = r.stringAt(readNumber(row, 4), unchanged); c.name >= 0 {
			r.setMark(&c, []byte(r.names.list[c.name]))
		} else {
			c.name = r.names.intern([]byte("range without a name"))
		}
		thread := r.threadPlace(readNumber(row, 5))
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
	c.name, c.kind = r.names.intern(m.name), m.kind
	if m.shapes != nil {
		c.shapes = r.names.intern(m.shapes)
	}
}

// readOSCalls reads blocking calls of the operating system, of the threads that call CUDA or
// mark ranges: hundreds of others sleep in every program.
func (r *reader) readOSCalls() error {
	return r.scanColumns("OSRT_API", []string{"start", "end", "globalTid", "nameId"}, nil, func(row *row) error {
		start, end, ok := r.readSpan(row)
		if !ok {
			return nil
		}
		thread, found := r.threads[readNumber(row, 2)]
		if !found || !r.cuda[thread] {
			r.dropped["calls of the operating system on threads that call no CUDA and mark no range"]++
			return nil
		}
		c := call{
			start: start, end: end, name: r.stringAt(readNumber(row, 3), unchanged), shapes: -1,
			kind: recording.Annotation,
		}
		if c.name >= 0 {
			r.addCall(c, thread)
		}
		return nil
	})
}

// readOverhead reads the profiler's own time.
func (r *reader) readOverhead(table string) error {
	return r.scanColumns(table, []string{"start", "end"}, []string{"globalTid", "nameId"}, func(row *row) error {
		start, end, ok := r.readSpan(row)
		thread, found := r.threads[readNumber(row, 2)]
		if !ok || !found {
			return nil
		}
		c := call{
			start: start, end: end, name: r.stringAt(readNumber(row, 3), unchanged), shapes: -1,
			kind: recording.Profiling,
		}
		if c.name < 0 {
			c.name = r.names.intern([]byte("Nsight Systems"))
		}
		r.addCall(c, thread)
		return nil
	})
}

// sortCalls puts the columns in order of start.
func (r *reader) sortCalls() {
	h := &r.out.Timeline.Host
	order := columns.ByStart(h.Start, h.End)
	h.Reorder(order)
	recording.Reorder(order, r.callKey)
}

// linkWork finds the call that launched each piece of work: the one with its
// correlation id in its process.
func (r *reader) linkWork() {
	t := r.out.Timeline
	t.Device.Call = columns.LinkCalls(r.callKey, t.Host.Start, r.keys, t.Device.Start)
	r.callKey, r.keys = nil, nil
}
