package kineto

import (
	"math"

	"github.com/stoker-dev/stoker/recording"
)

// event is one element of traceEvents as read, before it becomes a record. Texts
// point into the chunk.
type event struct {
	ph    byte
	cat   []byte
	name  []byte
	pid   int64
	tid   int64
	ts    int64 // ns
	dur   int64 // ns
	id    int64 // of a flow
	flags flags

	corr    int64
	stream  int64
	device  int64
	bytes   int64
	blocks  int32
	threads int32
	perSM   float32
	occ     float32

	shapes, types, stack []byte
	label                []byte // "name" among the arguments, of metadata
	nelems               int64
	dtype, group         []byte

	allocated, reserved int64 // bytes of a device in use and held, of a memory event
	address             int64 // that it is about
}

// flags say which fields an event had.
type flags uint16

const (
	hasTS flags = 1 << iota
	hasDur
	hasID
	hasStream
	hasDevice
	hasCollective
	nanoUnit // ts was in nanoseconds, so dur was too
	absurdTS // a number beyond all reason
	absurdDur
)

// blank is an event before its members are read.
var blank = event{
	bytes: -1, nelems: -1,
	perSM: float32(math.NaN()), occ: float32(math.NaN()),
}

// longest is the longest time an event may take, and a file may cover: a day.
// What exceeds it comes from a damaged clock.
const longest = int64(86400e9)

// shortFrame is below which a Python call in somebody else's file is counted and
// not kept: it explains no gap that anyone would look for.
const shortFrame = int64(50e3)

// row is a pair of pid and tid: a thread, or a stream of a device.
type row struct{ pid, tid int64 }

// Records are what is kept of events. Indices are a scanner's own until the
// store has translated them.
type (
	hostRecord struct {
		start, end, corr    int64
		name, shapes, types int32
		row                 int32
		kind                recording.CallKind
	}
	workRecord struct {
		start, end, corr, bytes int64
		name, group             int32
		row                     int32
		device, stream          int32
		blocks, threads         int32
		perSM, occupancy        float32
		kind                    recording.WorkKind
	}
	frameRecord struct {
		start, end int64
		name, row  int32
	}
	flowRecord struct {
		id, at int64
		row    int32
		begin  bool
	}
	sizeRecord struct { // how much a copying call moves, where the copy itself does not say
		corr, bytes int64
	}
	memoryRecord struct { // an allocation, or what was freed: bytes below 0
		at, bytes, address, allocated, reserved int64
		device, row                             int32
	}
	labelRecord struct { // the name of a thread or process
		row, name int32
		process   bool
	}
)

// why an event is not kept.
type why uint8

const (
	shortFrameWhy why = iota
	noDuration
	negative
	absurdTime
	shadowWhy
	syncWhy
	instantWhy
	spanWhy
	unknownWhy
	damaged
	noName
	numWhy
)

var whyText = [numWhy]string{
	"python frame of a library below 50 us",
	"without a duration",
	"with a negative duration",
	"with an absurd time",
	"copy of a host span on a device row",
	"synchronisation on a device row",
	"memory or counter event",
	"span of the profiler itself",
	"of an unknown kind",
	"damaged",
	"without a name",
}

// batch is what a scanner found in one chunk.
type batch struct {
	host    []hostRecord
	work    []workRecord
	frames  []frameRecord
	flows   []flowRecord
	labels  []labelRecord
	sizes   []sizeRecord
	memory  []memoryRecord
	events  int64
	dropped [numWhy]int64
	strange map[string]int64 // events by a category that nobody knows

	// What the scanner knew when it ended: append-only lists, safe to read while
	// the scanner goes on.
	names  []string
	traits []traits
	rows   []row
}

func (b *batch) reset() {
	*b = batch{
		host: b.host[:0], work: b.work[:0], frames: b.frames[:0],
		flows: b.flows[:0], labels: b.labels[:0], sizes: b.sizes[:0], memory: b.memory[:0],
	}
}

// scanner turns events into records. It is not safe for concurrent use; each
// worker has its own.
type scanner struct {
	names        *names
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

func (s *scanner) row(pid, tid int64) int32 {
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

func (s *scanner) class(cat []byte) class {
	if len(cat) > 80 {
		return unknownClass
	}
	if string(cat) == string(s.lastCat) && s.lastWas != unknownClass {
		return s.lastWas
	}
	c, found := s.classes[string(cat)]
	if !found {
		c = categories[lower(cat)]
		if len(s.classes) < mostRaw {
			s.classes[string(cat)] = c
		}
	}
	s.lastCat, s.lastWas = append(s.lastCat[:0], cat...), c
	return c
}

// record keeps what is needed of the event that was read last.
func (s *scanner) record(out *batch) {
	e := &s.e
	out.events++
	switch e.ph {
	case 'X':
		s.complete(e, out)
	case 's', 'f':
		if s.class(e.cat) == linkClass && e.flags&(hasID|hasTS|absurdTS) == hasID|hasTS {
			out.flows = append(out.flows, flowRecord{e.id, e.ts, s.row(e.pid, e.tid), e.ph == 's'})
		}
	case 'M':
		s.label(e, out)
	case 'i', 'I', 'C', 'n', 'N', 'O', 'D':
		if e.reserved > 0 && e.device >= 0 && e.flags&(hasTS|absurdTS) == hasTS && string(e.name) == "[memory]" {
			out.memory = append(out.memory, memoryRecord{e.ts, e.bytes, e.address, e.allocated, e.reserved, number32(e.device), s.row(e.pid, e.tid)})
			break
		}
		out.dropped[instantWhy]++
	default:
		out.dropped[unknownWhy]++
		out.stray(e.cat)
	}
}

func (s *scanner) label(e *event, out *batch) {
	thread, process := string(e.name) == "thread_name", string(e.name) == "process_name"
	if len(e.label) > 0 && (thread || process) {
		out.labels = append(out.labels, labelRecord{s.row(e.pid, e.tid), s.names.id(e.label), process})
	}
}

// complete is for events with a start and a duration.
func (s *scanner) complete(e *event, out *batch) {
	c := s.class(e.cat)
	if e.flags&nanoUnit != 0 {
		e.dur /= 1000
	}
	if drop, reason := e.useless(c); drop {
		out.dropped[reason]++
		if reason == unknownWhy {
			out.stray(e.cat)
		}
		return
	}
	switch c {
	case frameClass:
		s.frame(e, out)
	case kernelClass, copyClass, setClass, commClass:
		s.work(e, c, out)
	default:
		s.host(e, c, out)
	}
}

// useless says whether an event cannot be kept, and why.
func (e *event) useless(c class) (bool, why) {
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

func (s *scanner) frame(e *event, out *batch) {
	name := s.names.id(e.name)
	t := s.names.traits[name]
	if t&collecting != 0 {
		e.shapes, e.types, e.stack = nil, nil, nil // its arguments may not have been read
		s.host(e, profilingClass, out)
		return
	}
	if t&own == 0 && e.dur < shortFrame {
		out.dropped[shortFrameWhy]++
		return
	}
	out.frames = append(out.frames, frameRecord{e.ts, e.ts + e.dur, name, s.row(e.pid, e.tid)})
}

func (s *scanner) host(e *event, c class, out *batch) {
	name := s.names.id(e.name)
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
	r := s.row(e.pid, e.tid)
	h := hostRecord{start: e.ts, end: e.ts + e.dur, name: name, row: r, kind: kind, shapes: -1, types: -1}
	if c == runtimeClass {
		h.corr = e.corr
		if e.bytes >= 0 && e.corr > 0 && t&moving != 0 {
			out.sizes = append(out.sizes, sizeRecord{e.corr, e.bytes})
		}
	} else {
		h.shapes, h.types = s.shapes.id(e.shapes), s.shapes.id(e.types)
		if frame := s.stacks.id(e.stack); frame >= 0 {
			out.frames = append(out.frames, frameRecord{h.start, h.end, frame, r})
		}
	}
	out.host = append(out.host, h)
}

func (s *scanner) work(e *event, c class, out *batch) {
	name := s.names.id(e.name)
	t := s.names.traits[name]
	w := workRecord{
		start: e.ts, end: e.ts + e.dur, corr: e.corr, bytes: e.bytes, name: name, group: -1,
		row: s.row(e.pid, e.tid), device: number32(e.pid), stream: number32(e.tid),
		blocks: e.blocks, threads: e.threads, perSM: e.perSM, occupancy: e.occ, kind: recording.Kernel,
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
	case c == commClass || t&exchanging != 0 || e.flags&hasCollective != 0:
		w.kind = recording.Collective
		s.exchange(e, &w)
	}
	out.work = append(out.work, w)
}

// exchange fills what is known of a collective: how much it moves, among whom.
func (s *scanner) exchange(e *event, w *workRecord) {
	if width := widths[lower(e.dtype)]; e.nelems >= 0 && width > 0 && e.nelems < math.MaxInt64/width {
		w.bytes = e.nelems * width
	}
	if len(e.group) > 0 {
		w.group = s.names.id(e.group)
	}
}

func (b *batch) stray(cat []byte) {
	if b.strange == nil {
		b.strange = map[string]int64{}
	}
	letters := []rune(string(cat))
	name := string(letters[:min(len(letters), 40)])
	if _, found := b.strange[name]; found || len(b.strange) < 20 {
		b.strange[name]++
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

func lower(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return string(out)
}
