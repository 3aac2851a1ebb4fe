package kineto

import (
	"math"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
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
	flags fieldSet

	corr    int64
	ext     int64 // of an operator, of the calls within it, and of their work where a profiler knows no other link
	stream  int64
	device  int64
	bytes   int64
	blocks  int32
	threads int32
	perSM   float32
	occ     float32

	shapes, types, stack []byte
	label                []byte // "name" among the arguments, of metadata
	task                 []byte // what a row of Ascend's hardware did
	nelems               int64
	dtype, group         []byte
	collective           []byte // its name

	allocated, reserved int64 // bytes of a device in use and held, of a memory event
	address             int64 // that it is about
}

// fieldSet say which fields an event had.
type fieldSet uint16

const (
	hasTS fieldSet = 1 << iota
	hasDur
	hasID
	hasStream
	hasDevice
	nanoUnit // ts was in nanoseconds, so dur was too
	absurdTS // a number beyond all reason
	absurdDur
)

// blank is an event before its members are read.
var blank = event{bytes: -1, nelems: -1, perSM: float32(math.NaN()), occ: float32(math.NaN())}

// longest is the longest time an event may take, and a file may cover: a day.
// What exceeds it comes from a damaged clock.
const longest = int64(86400e9)

// shortFrame is below which a Python call in somebody else's file is counted and
// not kept: it explains no gap that anyone would look for.
const shortFrame = int64(50e3)

// row is a pair of pid and tid: a thread, or a stream of a device.
type row struct{ pid, tid int64 }

// Records are the parts of events that are kept. Indices are a scanner's own until the
// store has translated them.
type (
	hostRecord struct {
		start, end          int64
		corr                int64 // correlation id; below 0 the external id, where a call has no other
		name, shapes, types int32
		row                 int32
		kind                recording.CallKind
	}
	workRecord struct {
		start, end, corr, bytes int64
		ext                     int32 // external id; 0 none
		name, group             int32
		row                     int32
		device, stream          int32
		blocks, threads         int32
		perSM, occupancy        float32
		kind                    recording.WorkKind
	}
	looseRecord struct { // an event without a category; the name of its process gives its kind
		start, end, corr int64
		name, task, row  int32
	}
	frameRecord struct {
		start, end int64
		name, row  int32
	}
	flowRecord struct {
		id, at int64 // id is one more than the file's: 0 is none
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

// dropReason an event is not kept.
type dropReason uint8

const (
	shortFrameWhy dropReason = iota
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
	devicesWhy
	numWhy
)

var whyText = [numWhy]string{
	recording.ShortFrames,
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
	columns.TooManyDevices,
}

// batch is what a scanner found in one chunk.
type batch struct {
	host    []hostRecord
	work    []workRecord
	frames  []frameRecord
	loose   []looseRecord
	flows   []flowRecord
	labels  []labelRecord
	sizes   []sizeRecord
	memory  []memoryRecord
	events  int64
	phased  int64
	dropped [numWhy]int64
	lost    int64            // of dropped, work of a device with an impossible time
	strange map[string]int64 // events by unknown category
	stop    int64            // when the recorder stopped; 0 unknown
	began   int64            // when it began; 0 unknown

	// What the scanner knew when it ended: append-only lists, safe to read while
	// the scanner continues.
	names  []string
	traits []traits
	rows   []row
}

func (b *batch) truncate() {
	*b = batch{
		host: b.host[:0], work: b.work[:0], frames: b.frames[:0],
		loose: b.loose[:0], flows: b.flows[:0], labels: b.labels[:0], sizes: b.sizes[:0], memory: b.memory[:0],
	}
}

func (b *batch) countStrange(cat []byte) {
	if b.strange == nil {
		b.strange = map[string]int64{}
	}
	letters := []rune(string(cat))
	name := string(letters[:min(len(letters), 40)])
	if _, found := b.strange[name]; found || len(b.strange) < 20 {
		b.strange[name]++
	}
}
