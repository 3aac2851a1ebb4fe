package idle

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Cause is what the time of a gap went into.
type Cause uint8

// The causes of a gap, in the words of the verdict.
const (
	DataLoader    Cause = iota // the loop waited for its next batch, or made it
	Python                     // Python code that is no operator
	HostCode                   // a marked range of a program without Python, or unmarked code that a CPU ran
	CPUOp                      // an operator's own time on the host
	Launch                     // launching a kernel, and its way to the device
	CopyIssue                  // starting a copy, pageable staging included
	Sync                       // returning from a wait for the device
	Allocator                  // allocating or freeing device or pinned memory
	GC                         // Python's garbage collector
	Communication              // a wait for a collective, on the host or the device
	DeviceWait                 // queued work waited for another stream or an event
	DeviceLatency              // from one queued piece of work to the next
	WarmUp                     // what happens once: contexts, modules, first allocations
	Unlinked                   // the work that ends the gap has no recorded launch
	Unrecorded                 // the host thread did nothing that was recorded

	Causes = int(Unrecorded) + 1 // how many there are
)

var causeWords = [Causes]string{
	"data-loader", "python", "host-code", "cpu-op", "launch", "copy-issue", "sync", "allocator", "gc",
	"communication", "device-wait", "device-latency", "warm-up", "unlinked", "unrecorded",
}

// String returns the cause's word.
func (c Cause) String() string {
	if int(c) < Causes {
		return causeWords[c]
	}
	return "unknown"
}

// Host reports whether the cause is what the launching thread did between two
// launches, loading and copying left out.
func (c Cause) Host() bool {
	switch c {
	case Python, HostCode, CPUOp, Launch, Sync, Allocator, GC, WarmUp, Unrecorded:
		return true
	case DataLoader, CopyIssue, Communication, DeviceWait, DeviceLatency, Unlinked:
		return false
	}
	return false
}

// kinds of host events that a row of the table speaks of.
const (
	anOp      = 1 << recording.Op
	aMark     = 1 << recording.Annotation
	aRuntime  = 1 << recording.Runtime
	aCollect  = 1 << recording.Collector
	aProfiler = 1 << recording.Profiling
	aFrame    = 1 << 7 // a Python frame; no CallKind names it
)

// row of the table: host events of some kinds with some names have a cause.
type row struct {
	kinds uint8
	named func(name string) bool // nil: any name
	cause Cause
}

// rows of the table. Of the events that are open at a moment, the one whose row comes
// first is charged; of two in the same row the inner one. A loader's span owns all that
// happens within it; what the runtime does is closer to the gap than the operator around
// it, and an operator closer than the Python code around that.
const (
	rowLoaderSpan uint8 = iota
	rowLoaderFrame
	rowAllocates
	rowSync
	rowCopies
	rowLaunches
	rowRuntime
	rowCompiles
	rowReadsValue
	rowCollects
	rowWaitSpan
	rowExchanges
	rowOperator
	rowEngine
	rowMark
	rowFrame
	rowProfiles
	rowSteps
	noRow
)

// table is the one place that maps host events to causes.
var table = [noRow]row{
	rowLoaderSpan:  {anOp | aMark | aRuntime, recording.LoaderSpan, DataLoader},
	rowLoaderFrame: {aFrame, loaderFrame, DataLoader},
	rowAllocates:   {aRuntime, recording.AllocatesMemory, Allocator},
	rowSync:        {aRuntime, recording.WaitsForDevice, Sync},
	rowCopies:      {aRuntime, recording.CopiesMemory, CopyIssue}, // towards the host: Sync, see sweep.refine
	rowLaunches:    {aRuntime, recording.LaunchesWork, Launch},
	rowRuntime:     {aRuntime, nil, Launch}, // the long ones set something up: WarmUp, see sweep.refine
	rowCompiles:    {anOp | aMark | aFrame, recording.CompileSpan, WarmUp},
	rowReadsValue:  {anOp, readsValue, Sync},
	rowCollects:    {aCollect, nil, GC},
	// behind Python's collector, before operators around it
	rowWaitSpan:  {anOp | aMark | aFrame, recording.WaitSpan, Sync},
	rowExchanges: {anOp | aMark, hostExchange, Communication},
	rowOperator:  {anOp, noStep, CPUOp},
	rowEngine:    {aFrame, runsEngine, CPUOp},
	rowMark:      {aMark, noStep, Python}, // a marked span in which no operator runs
	rowFrame:     {aFrame, nil, Python},
	rowProfiles:  {aProfiler, nil, Unrecorded},
	rowSteps:     {anOp | aMark, nil, Unrecorded}, // they cover everything and explain nothing
}

func rowOf(kind uint8, name string) uint8 {
	for i := range table {
		if r := &table[i]; r.kinds&kind != 0 && (r.named == nil || r.named(name)) {
			return uint8(i)
		}
	}
	return noRow
}

// loaderFrame reports whether a Python frame awaits or makes a batch: if
// the profiler recorded stacks and the program marked no span. Trainers that mark
// nothing show up here: transformers' get_batch_samples, Accelerate's and
// WebDataset's iterators, Grain's and tf.data's.
func loaderFrame(name string) bool {
	file, function, ok := strings.Cut(name, "): ")
	if !ok {
		return false
	}
	switch function {
	case "__next__":
		return recording.ContainsAny(file, "utils/data/dataloader.py(", "torchdata/", "grain/",
			"tensorflow/python/data/", "litdata/", "nvidia/dali/")
	case "__iter__":
		return recording.ContainsAny(file, "accelerate/data_loader.py(", "webdataset/")
	case "get_batch_samples":
		return strings.Contains(file, "transformers/trainer.py(")
	}
	return false
}

// readsValue: operators that hand a value of the device to Python.
func readsValue(name string) bool {
	return name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::is_nonzero"
}

// hostExchange: exchanges between ranks that block the host.
func hostExchange(name string) bool {
	return recording.HostExchange(name) ||
		strings.HasSuffix(name, "barrier") && recording.ContainsAny(name, "c10d", "nccl", "dist")
}

func isStep(name string) bool {
	if _, marked := recording.StepSpan(name); marked {
		return true
	}
	_, _, named := recording.StepRange(name)
	return named
}

func noStep(name string) bool { return !isStep(name) }

// runsEngine: the frame under which another thread runs the backward pass.
func runsEngine(name string) bool { return strings.Contains(name, "run_backward") }

// shells name a thread that was named before its program was loaded.
var shells = []string{"", "sh", "bash", "dash", "zsh"}

// showsPython reports whether a program may be one of Python: recorders of any program tell by a thread's name or by
// Python's frames, and those of a framework are called from Python.
func showsPython(run *recording.Run) bool {
	if by := run.Facts.Software.Recorder; by != recording.NsightSystems && by != recording.Rocprof {
		return true
	}
	t := run.Timeline
	return len(t.Threads) == 0 || len(t.Frames.Start) > 0 ||
		slices.ContainsFunc(t.Threads, func(th recording.Thread) bool {
			return slices.Contains(shells, th.Name) || strings.HasPrefix(th.Name, "python") ||
				strings.HasPrefix(th.Name, "pt_")
		})
}
