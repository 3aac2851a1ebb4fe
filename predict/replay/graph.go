package replay

import (
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/recording"
)

// Marks are what the caller knows of names, by index into Timeline.Names. Nil is
// nothing known.
type Marks struct {
	Elementwise []bool // kernels that read values and write as many
	Memory      []bool // kernels that memory bandwidth limits: these, reductions, moving
	Matrix      []bool // matrix products and convolutions
	Plain       []bool // of them, those known not to use Tensor Cores
}

func marked(of []bool, name int32) bool { return int(name) < len(of) && of[name] }

// Trace is a recording made ready to be played again. It holds indices into the
// Timeline, which must not change.
type Trace struct {
	t       *recording.Timeline
	marks   Marks
	machine hardware.Machine
	cores   float64 // that the job may use; 0 unknown

	emulated bool
	workers  int // of the loader as recorded, -1 unknown

	processes []int32 // of each thread, the first thread of its process

	calls, count int // of the timeline's host calls and works, that are replayed
	seen         int // steps that were recorded

	items []item
	works []work
	order []int32 // items, works and ends of waits as they happened; see turn
	meets [][]int32
	loads []load
	steps []step

	judged   [2]int // steps[judged[0]:judged[1]] are judged
	latest   int64  // typical pause between two queued pieces of work, ns
	flight   int64  // least time from a call to the start of its work, ns
	check    *Check
	unedited float64 // a step of the replay without an edit, ns
	uneven   bool    // its steps are

	usual int64 // the same in the median, of work that had nothing to wait for
}

// kind is what an item is.
type kind uint8

const (
	launch   kind = iota // a call that starts kernels
	copyIn               // a call that copies to the device
	copyOut              // a call that copies to the host
	wait                 // a call that waits for the device
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
	target     int32 // work for whose end it waits, -1 none
	also       int32 // the last work launched before it, for waits; -1 none
	full       int32 // work that must have ended before a launch finds room; -1 none
	work       int32 // the first that it launched, -1 none
	load       int32 // of a piece of loading: index into loads; -1 none
	inOps      int64 // of the time since prev, how much some operator was open
	step       int32
	kind       kind
	first      bool // of a piece of loading: the first of its span
	ofCopy     bool // a wait that belongs to the copy before it
}

// waits reports whether the end of an item depends on work.
func (i *item) waits() bool { return i.target >= 0 }

// work is one piece of device work.
type work struct {
	start, end int64
	key        int64 // its place in the order
	item       int32 // whose call launched it; -1 none known
	prev       int32 // before it on its stream; -1 none
	dep        int32 // work of another stream that it waited for; -1 none
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
	several    bool // by worker processes
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
