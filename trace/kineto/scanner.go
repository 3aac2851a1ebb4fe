package kineto

import (
	"bytes"
	"math"

	"github.com/stoker-dev/stoker/recording"
)

// autogradName begins the names of operators, which only torch.autograd's old profiler
// writes without a category.
const autogradName = "aten::"

// scanner turns events into records. It is not safe for concurrent use; each
// worker has its own.
type scanner struct {
	names        *nameTable
	shapes       *lists
	stacks       *stacks
	classes      map[string]class
	lastCat      []byte
	lastWas      class
	rows         map[row]int32
	rowList      []row
	lately       [64]recentRow     // rows that were asked for lately
	decoded      map[string][]byte // strings with escapes, as written
	decodedBytes int
	slow         bool // read every event with the general reader
	e            event
}

func newScanner() *scanner {
	n := newNames()
	return &scanner{
		names: n, shapes: newLists(n), stacks: newStacks(n),
		classes: map[string]class{}, rows: map[row]int32{}, decoded: map[string][]byte{},
	}
}

// recentRow is a row with its number plus one.
type recentRow struct {
	row row
	id  int32
}

func (s *scanner) rowID(pid, tid int64) int32 {
	r := row{pid, tid}
	l := &s.lately[(pid^tid)&63]
	if l.row == r && l.id > 0 {
		return l.id - 1
	}
	id, found := s.rows[r]
	if !found {
		id = int32(len(s.rowList))
		s.rows[r] = id
		s.rowList = append(s.rowList, r)
	}
	*l = recentRow{r, id + 1}
	return id
}

func (s *scanner) classOf(cat []byte) class {
	if len(cat) > 80 {
		return unknownClass
	}
	if string(cat) == string(s.lastCat) && s.lastWas != unknownClass {
		return s.lastWas
	}
	c, found := s.classes[string(cat)]
	if !found {
		c = categories[lowerCase(cat)]
		if len(s.classes) < mostRaw {
			s.classes[string(cat)] = c
		}
	}
	s.lastCat, s.lastWas = append(s.lastCat[:0], cat...), c
	return c
}

// keepEvent keeps the needed parts of the event that was read last.
func (s *scanner) keepEvent(out *batch) {
	e := &s.e
	out.events++
	if e.ph != 0 {
		out.phased++
	}
	switch e.ph {
	case 'X':
		s.keepSpan(e, out)
	case 's', 'f', 't':
		if s.classOf(e.cat) == linkClass && e.flags&(hasID|hasTS|absurdTS) == hasID|hasTS {
			out.flows = append(out.flows, flowRecord{e.id + 1, e.ts, s.rowID(e.pid, e.tid), e.ph == 's'})
		}
	case 'M':
		s.keepLabel(e, out)
	case 'i', 'I', 'C', 'n', 'N', 'O', 'D':
		if e.reserved > 0 && e.device >= 0 && e.flags&(hasTS|absurdTS) == hasTS && string(e.name) == "[memory]" {
			out.memory = append(out.memory, memoryRecord{
				e.ts, e.bytes, e.address, e.allocated, e.reserved, number32(e.device),
				s.rowID(e.pid, e.tid),
			})
			break
		}
		if e.flags&(hasTS|absurdTS) == hasTS && string(e.name) == "Record Window End" {
			out.stop = e.ts
		}
		out.dropped[instantWhy]++
	default:
		out.dropped[unknownWhy]++
		out.countStrange(e.cat)
	}
}

func (s *scanner) keepLabel(e *event, out *batch) {
	thread, process := string(e.name) == "thread_name", string(e.name) == "process_name"
	if len(e.label) > 0 && (thread || process) {
		out.labels = append(out.labels, labelRecord{s.rowID(e.pid, e.tid), s.names.intern(e.label), process})
	}
}

// keepSpan is for events with a start and a duration.
func (s *scanner) keepSpan(e *event, out *batch) {
	c := s.classOf(e.cat)
	if e.flags&nanoUnit != 0 {
		e.dur /= 1000
	}
	if drop, reason := e.useless(c); drop {
		if c == spanClass && e.isTimed() && bytes.HasPrefix(e.name, []byte("PyTorch Profiler (")) && out.began == 0 {
			out.began = e.ts
		}
		if isOp := string(e.cat) == timelineOp; (c == noCategory || isOp) && e.isTimed() {
			if isOp {
				e.task = e.label
			}
			s.keepLoose(e, out)
		} else {
			out.dropped[reason]++
		}
		if c.isWork() && reason != noName {
			out.lost++
		}
		switch {
		case reason != unknownWhy:
		case len(e.cat) == 0 && bytes.HasPrefix(e.name, []byte(autogradName)):
			out.countStrange([]byte(autogradName))
		default:
			out.countStrange(e.cat)
		}
		return
	}
	switch c {
	case frameClass:
		s.keepFrame(e, out)
	case kernelClass, copyClass, setClass, commClass:
		s.keepWork(e, c, out)
	default:
		s.keepCall(e, c, out)
	}
}

// useless says whether an event cannot be kept, and why.
func (e *event) useless(c class) (bool, dropReason) {
	switch c {
	case unknownClass, noCategory:
		return true, unknownWhy
	case shadowClass:
		return true, shadowWhy
	case syncClass:
		return true, syncWhy
	case instantClass:
		return true, instantWhy
	case spanClass, linkClass:
		return true, spanWhy
	default: // may be kept
	}
	switch {
	case e.flags&(absurdTS|absurdDur) != 0 || e.flags&hasTS == 0 || e.dur > longest:
		return true, absurdTime
	case e.flags&hasDur == 0:
		return true, noDuration
	case e.dur < 0:
		return true, negative
	case len(e.name) == 0:
		return true, noName
	}
	return false, 0
}

// isTimed reports whether an event has a name, a start and a length that are possible.
func (e *event) isTimed() bool {
	return e.flags&(absurdTS|absurdDur|hasTS|hasDur) == hasTS|hasDur && e.dur >= 0 && e.dur <= longest &&
		len(e.name) > 0
}

// keepLoose keeps an event without a category, which Ascend's exporter writes: its process tells what
// it is, and that is named behind it.
func (s *scanner) keepLoose(e *event, out *batch) {
	r := looseRecord{e.ts, e.ts + e.dur, e.corr, s.names.intern(e.name), -1, s.rowID(e.pid, e.tid)}
	if len(e.task) > 0 {
		r.task = s.names.intern(e.task)
	}
	out.loose = append(out.loose, r)
}

func (s *scanner) keepFrame(e *event, out *batch) {
	name := s.names.intern(e.name)
	t := s.names.traits[name]
	if t&collecting != 0 {
		e.shapes, e.types, e.stack = nil, nil, nil // its arguments may not have been read
		s.keepCall(e, profilingClass, out)
		return
	}
	if t&own == 0 && e.dur < shortFrame {
		out.dropped[shortFrameWhy]++
		return
	}
	out.frames = append(out.frames, frameRecord{e.ts, e.ts + e.dur, name, s.rowID(e.pid, e.tid)})
}

// linkID is what ties a call to its work: the correlation id, else the external id, negated.
func (e *event) linkID() int64 {
	if e.corr > 0 || e.ext <= 0 {
		return e.corr
	}
	return -e.ext
}

func (s *scanner) keepCall(e *event, c class, out *batch) {
	name := s.names.intern(e.name)
	t := s.names.traits[name]
	kind := recording.Op
	switch {
	case t&collecting != 0:
		kind = recording.Collector
	case c == runtimeClass:
		kind = recording.Runtime
	case c == profilingClass:
		kind = recording.Profiling
	case c == annotationClass || t&marked != 0:
		kind = recording.Annotation
	}
	r := s.rowID(e.pid, e.tid)
	h := hostRecord{start: e.ts, end: e.ts + e.dur, name: name, row: r, kind: kind, shapes: -1, types: -1}
	if c == runtimeClass || kind == recording.Op {
		h.corr = e.linkID()
	}
	if c == runtimeClass {
		if e.bytes >= 0 && e.corr > 0 && t&moving != 0 {
			out.sizes = append(out.sizes, sizeRecord{e.corr, e.bytes})
		}
	} else {
		h.shapes, h.types = s.shapes.intern(e.shapes), s.shapes.intern(e.types)
		if frame := s.stacks.internFrame(e.stack); frame >= 0 {
			out.frames = append(out.frames, frameRecord{h.start, h.end, frame, r})
		}
	}
	out.host = append(out.host, h)
}

func (s *scanner) keepWork(e *event, c class, out *batch) {
	name := s.names.intern(e.name)
	t := s.names.traits[name]
	if t&waiting != 0 {
		out.dropped[syncWhy]++
		return
	}
	w := workRecord{
		start: e.ts, end: e.ts + e.dur, corr: e.corr, ext: max(0, number32(e.ext)), bytes: e.bytes, name: name,
		row: s.rowID(e.pid, e.tid), device: number32(e.pid), stream: number32(e.tid),
		group: -1, blocks: e.blocks, threads: e.threads, perSM: e.perSM, occupancy: e.occ, kind: recording.Kernel,
	}
	if e.flags&hasDevice != 0 {
		w.device = number32(e.device)
	}
	if e.flags&hasStream != 0 {
		w.stream = number32(e.stream)
	}
	switch {
	case c == copyClass || t&copying != 0:
		w.kind = recording.Copy
	case c == setClass:
		w.kind = recording.Set
	case c == commClass || t&exchanging != 0 || len(e.collective) > 0:
		w.kind = recording.Collective
		s.fillExchange(e, &w)
	}
	out.work = append(out.work, w)
}

// fillExchange fills in a collective: how much it moves, among whom.
func (s *scanner) fillExchange(e *event, w *workRecord) {
	if width := widths[lowerCase(e.dtype)]; e.nelems >= 0 && width > 0 && e.nelems < math.MaxInt64/width {
		w.bytes = e.nelems * width
	}
	if len(e.group) > 0 {
		w.group = s.names.intern(e.group)
	}
}

// number32 is a number that may not fit: handles of streams are pointers in some
// dialects. Equal numbers stay equal.
func number32(v int64) int32 {
	if v == int64(int32(v)) {
		return int32(v)
	}
	return int32(uint32(v^v>>32) & math.MaxInt32)
}

func lowerCase(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return string(out)
}
