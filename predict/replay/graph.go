package replay

import (
	"math"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/recording"
)

// Marks are what the caller knows about names, by index into Timeline.Names. Nil means that
// nothing is known.
type Marks struct {
	Elementwise []bool // kernels that read values and write as many
	Scaling     []bool // of them, those whose grid tells nothing of the array
	Memory      []bool // kernels that memory bandwidth limits: these, reductions, moving
	Matrix      []bool // matrix products and convolutions
	Plain       []bool // of them, those known not to use Tensor Cores
}

func isMarked(of []bool, name int32) bool { return int(name) < len(of) && of[name] }

// Trace is a recording made ready to be played again. It holds indices into the
// Timeline, which must not change.
type Trace struct {
	run     *recording.Run // that it was made of, to know it again
	t       *recording.Timeline
	marks   Marks
	machine hardware.Machine
	cores   float64 // that the job may use; 0 unknown

	emulated bool
	workers  int  // of the loader as recorded, -1 unknown
	inferred bool // they are read off the wait times
	supply   workerSupply
	world    int // ranks of the run as far as the file tells, 0 unknown

	processes []int32 // of each thread, the first thread of its process

	calls, count int // of the timeline's host calls and works, that are replayed
	seen         int // steps that were recorded

	items []item
	works []work
	order []int32 // items, works and ends of wait times as they happened; see turn
	meets [][]int32
	loads []load
	steps []step

	judged   [2]int // steps[judged[0]:judged[1]] are judged
	latest   int64  // typical pause between two queued pieces of work, ns
	flight   int64  // least time from a call to the start of its work, ns
	check    *Check
	likely   map[Edit]outcome // of edits that were played in the likely view
	floors   map[Edit]Floor
	fresh    *play                // with the recorded times, never run; nil until one is asked for
	ended    *play                // one that may be used again
	updates  map[int32][][2]int64 // the optimizer's calls by process; nil until they are asked for
	apart    []bool               // of each item, whether it belongs to no model; nil until it is asked for
	late     float64              // LateShare; NaN not asked yet
	unedited float64              // a step of the replay without an edit, ns
	uneven   bool                 // its steps are
	byMean   bool                 // they are counted as if they were

	usual int64 // the same in the median, of work that had nothing to wait for
}

// kind is the kind of an item.
type kind uint8

const (
	launch   kind = iota // a call that starts kernels
	copyIn               // a call that copies to the device
	copyOut              // a call that copies to the host
	wait                 // a call that blocks on the device
	loading              // a piece of a wait for the next batch
	allocate             // a call that allocates or frees
	collect              // Python's garbage collector
	other                // a call without work
)

// item is one thing that a host thread does, with no other inside it.
type item struct {
	start, end int64 // as recorded
	thread     int32
	call       int32 // index into Timeline.Host
	prev       int32 // the thread's item before; -1 none
	anchor     int32 // the item from whose end on the thread thought: prev, or one of another thread
	target     int32 // work for whose end it has to wait, -1 none
	also       int32 // the last work launched before it, of a wait; -1 none
	full       int32 // work that must have ended before a launch finds room; -1 none
	work       int32 // the first that it launched, -1 none
	load       int32 // of a piece of loading: index into loads; -1 none
	inOps      int64 // of the time since prev, how much some operator was open
	step       int32
	kind       kind
	first      bool // of a piece of loading: the first of its span
	ofCopy     bool // a wait that belongs to the copy before it
}

// waitsForWork reports whether the end of an item depends on work.
func (i *item) waitsForWork() bool { return i.target >= 0 }

// work is one piece of device work.
type work struct {
	start, end int64
	key        int64 // its place in the order
	item       int32 // whose call launched it; -1 none known
	prev       int32 // before it on its stream; -1 none
	dep        int32 // work of another stream that it waited for; -1 none
	link       int32 // the copy before it in its direction over the host's link, if it waited for that; -1 none
	meet       int32 // index into meets: the same collective on the other ranks; -1 none
	name       int32
	step       int32
	kind       recording.WorkKind
	down       bool // a copy to the device
	loose      bool // the recording links it to no call
}

// load is one wait for the next batch.
type load struct {
	start, end int64
	process    int32
	by         source
	opens      bool // it is the first of its loader, which is made in the recording
}

// step is one step of one process.
type step struct {
	from, to int64 // on the host
	process  int32
	works    int
	phase    recording.Phase
}

// turn is an entry of Trace.order: an index with two bits that say of what.
const (
	itemTurn = 0
	endTurn  = 1
	workTurn = 2
)

func turn(index, what int) int32 { return int32(index<<2 | what) }

func scaleTime(ns int64, by float64) int64 { return int64(math.Round(float64(ns) * by)) }

func nanos(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// Least lengths of a wait, in nanoseconds.
const (
	leastWait  = 2_000   // the call itself
	longLaunch = 100_000 // [J] a launch takes 5 to 20 us; one that takes so long found the queue full
)

// source says who prepares a batch.
type source uint8

const (
	unnamed source = iota // the span does not tell: the loop or others
	itself                // the thread that asks
	others                // worker processes
)

// workerSupply is what the recorded wait times for batches say about the workers.
type workerSupply struct {
	long      int64 // from here on a wait is for the batch, ns
	saturated bool  // they always have a batch to prepare: how fast they are, steps follow each other
	period    int   // the wait times repeat after so many batches: as many workers take turns; 0 unknown
}

// How far the clocks of host and device are trusted, in nanoseconds.
const (
	slack = 20_000 // [J] ends that lie closer than that are taken for one: Kineto aligns clocks to microseconds
	pause = 10_000 // a longer wait of queued work has another reason than the device itself [J]
)

// readyTimes returns when work could have started by its call, and by its stream.
func (t *Trace) readyTimes(w *work) (byCall, byStream int64) {
	byCall, byStream = never, never
	if w.item >= 0 {
		byCall = t.items[w.item].start + t.flight
	}
	if w.prev >= 0 {
		byStream = t.works[w.prev].end
	}
	return byCall, byStream
}

const never = -1 << 62

// processOf returns the process of a thread, as the number of its first thread.
func (t *Trace) processOf(thread int32) int32 { return t.processes[thread] }

// Check compares a replay without an edit with the recording. What the graph does not explain
// stays as recorded, so Replayed differs from Recorded only if the graph contradicts the
// recording. Usual is the stricter test: the replay with the trace's usual latencies instead of
// the recorded ones.
type Check struct {
	// a judged step as recorded, seconds: the median, unless steps are uneven by themselves
	Recorded float64      `json:"recorded_s"`
	Mean     float64      `json:"mean_s"`            // the mean of the judged steps as recorded
	Replayed float64      `json:"replayed_s"`        // the same, replayed
	Usual    float64      `json:"usual_latencies_s"` // the same, replayed with usual latencies
	Steps    int          `json:"steps"`             // that were judged
	Seen     int          `json:"-"`                 // that were recorded, of all ranks
	Cut      bool         `json:"-"`                 // only the beginning of the trace is replayed
	Path     CriticalTime `json:"-"`                 // what the judged steps were spent on
	Spent    []Spent      `json:"-"`                 // the same by name, most time first
}

// tolerance is how far a replay without an edit may be from the recording for
// gains to be more than upper bounds. [J]
const tolerance = 0.05

// Off returns how far the replay with usual latencies is from the recording, as a
// share of it.
func (c Check) Off() float64 { return c.Usual/c.Recorded - 1 }

// Bounds reports whether gains are upper bounds only.
func (c Check) Bounds() bool {
	return !(math.Abs(c.Off()) <= tolerance && math.Abs(c.Replayed/c.Recorded-1) <= tolerance)
}
