package recording

import (
	"fmt"
	"strconv"
	"strings"
)

// Timeline is a profiler's record: host calls and device work in compact columns, with links
// from the work to the call that launched it. Times are integer nanoseconds since the run's t =
// 0, so that durations add up exactly.
//
// A Timeline does not judge. Package diagnose decides which call caused a gap.
type Timeline struct {
	Names   []string // every name, operand shape and type once; columns hold indices into it
	Threads []Thread
	Devices []Device
	Host    Calls
	Device  Work
	Frames  Frames
	Memory  Memory
	Samples Samples
	Turns   Turns

	// Start and End are the first and the last instant of any event: the span that the
	// profiler covered. Zero if the file has no event.
	Start, End int64

	// Awaits are from when to when a part of a collective waited for another rank, by start, where one rank's file
	// tells.
	Awaits [][2]int64

	// Dropped counts events that were read and not kept, by reason in words for the report:
	// "python frame below 20 us", "without a duration".
	Dropped map[string]int
}

// Thread is one host thread of one process.
type Thread struct {
	PID  int
	ID   int64  // the profiler's number
	Name string // "" if not recorded
	Rank int    // -1 if unknown
}

// mostThread is the highest number that JSON viewers represent exactly. A higher or negative
// number is an address or a hash.
const mostThread = 1 << 53

// String returns the thread's name: "thread 17751 (python3)".
func (t Thread) String() string {
	number := strconv.FormatInt(t.ID, 10)
	if t.ID < 0 || t.ID > mostThread {
		number = fmt.Sprintf("%#x", uint64(t.ID))
	}
	switch {
	case t.Name == "":
		return "thread " + number
	case strings.Contains(t.Name, strconv.FormatInt(t.ID, 10)):
		return t.Name
	}
	return fmt.Sprintf("thread %s (%s)", number, t.Name)
}

// Device is an accelerator as seen by one process.
type Device struct {
	PID   int
	Index int
	Rank  int // -1 if unknown
	GPU   int // index into Facts.GPUs, -1 if the file has none for it
	File  int // index of the file that was read: devices of one file share a clock
}

// CallKind says what a host event is, regardless of its name.
type CallKind uint8

// The kinds of host events.
const (
	Op         CallKind = iota // an operator: aten::conv2d, autograd nodes
	Annotation                 // a span marked by the user or a framework: ProfilerStep#4, enumerate(DataLoader)#…
	Runtime                    // a call of the runtime or driver: cudaLaunchKernel, hipMemcpyAsync
	Collector                  // Python's garbage collector
	Profiling                  // the profiler's own time
)

// Calls are host calls, ordered by start. All columns have the same length.
type Calls struct {
	Start, End []int64
	Name       []int32 // index into Names
	Thread     []int32 // index into Threads
	Kind       []CallKind
	Shapes     []int32 // index into Names of the operand shapes as recorded, "[[32,3,224,224],[64,3,7,7]]"; -1 without
	Types      []int32 // index into Names of the operand types as recorded, "[float,float]"; -1 without
}

// Frames are Python calls, ordered by start: all those in files of the user, and of the others
// those that are long enough to explain a gap.
type Frames struct {
	Start, End []int64
	Name       []int32 // index into Names: "train.py(41): forward"
	Thread     []int32
}

// Work is what ran on a device, ordered by start. All columns have the same length.
type Work struct {
	Start, End []int64
	Name       []int32 // index into Names
	Device     []int32 // index into Devices
	Stream     []int32
	Kind       []WorkKind
	Call       []int32   // index into Host of the launching call, -1 if not recorded
	Bytes      []int64   // of a copy, set or collective as recorded; -1 without
	Blocks     []int32   // thread blocks of a kernel; 0 unknown
	Threads    []int32   // threads of a block; 0 unknown
	PerSM      []float32 // blocks per SM as recorded; NaN unknown
	Occupancy  []float32 // estimated achieved occupancy as recorded, 0 to 1; NaN unknown
	Group      []int32   // of a collective: index into Names of its process group, -1 unknown
}

// Memory is the events of device allocators, in order of time. All columns have the same
// length. Recordings do not contain it.
type Memory struct {
	At      []int64
	Device  []int32 // index into Devices
	Thread  []int32 // index into Threads
	Bytes   []int64 // allocated; negative if freed
	Address []int64
	Total   []int64 // allocated on the device afterwards
}

// Samples are what a sampler of the CPU met on threads, in order of time. Recordings do not contain them.
type Samples struct {
	At     []int64
	Thread []int32   // index into Threads
	Stack  [][]int32 // indices into Names, the innermost function first; those without a name are left out
	Names  []string  // of functions: what a sampler met tells nothing of events
}

// Turns are when threads were on a CPU, by start; those of one thread do not overlap. Recordings do not contain them.
type Turns struct {
	Start, End []int64
	Thread     []int32 // index into Threads
}

// ShortFrames is the reason in Dropped for Python frames that are too short to explain a gap.
const ShortFrames = "python frame of a library below 50 us"

// relink removes links to calls that do not exist, so that no reader of a foreign file follows
// one.
func (t *Timeline) relink() {
	if t == nil {
		return
	}
	for i, call := range t.Device.Call {
		if call < -1 || int(call) >= len(t.Host.Start) {
			t.Device.Call[i] = -1
		}
	}
}

// WorkKind distinguishes kernels, copies and collectives.
type WorkKind uint8

// The kinds of device work.
const (
	Kernel WorkKind = iota
	Copy
	Collective
	Set // memset
)

var workKinds = [...]string{"kernel", "copy", "collective", "set"}

// String returns the kind's word.
func (k WorkKind) String() string {
	if int(k) < len(workKinds) {
		return workKinds[k]
	}
	return "unknown"
}

var callKinds = [...]string{"op", "annotation", "runtime", "collector", "profiling"}

// String returns the kind's word.
func (k CallKind) String() string {
	if int(k) < len(callKinds) {
		return callKinds[k]
	}
	return "unknown"
}
