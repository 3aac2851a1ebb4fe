package diagnose

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// Class names what limits a run, in the words of Classes.
type Class string

// The classes that rules of this package can give. Later ailments add theirs.
const (
	GPUBound      Class = "gpu-bound"
	GPUTensor     Class = "gpu-bound/tensor"    // most kernel time is matrix work on Tensor Cores
	GPUMemory     Class = "gpu-bound/memory"    // most kernel time moves data and computes little
	GPUPrecision  Class = "gpu-bound/precision" // matrix work that could run on Tensor Cores and does not
	CPUBound      Class = "cpu-bound"           // the host works between launches, at something else than loading
	MainThread    Class = "cpu-bound/main-thread-loader"
	TooFewWorkers Class = "cpu-bound/too-few-workers"
	CPUExhausted  Class = "cpu-bound/cpu-exhausted"
	Neighbour     Class = "cpu-bound/neighbour" // other programs have the cores

	// CgroupThrottled says that a CPU quota holds the job back.
	CgroupThrottled Class = "cpu-bound/cgroup-throttled"

	IOBound         Class = "io-bound"
	DeviceSaturated Class = "io-bound/device-saturated" // the disk, or what the control group may read from it, is used up
	SmallFiles      Class = "io-bound/small-files"      // requests take the time, not bytes
	RemoteFS        Class = "io-bound/remote-fs"        // over a network, or from a program (FUSE)
	MemoryPressure  Class = "io-bound/memory-pressure"  // what was read is thrown out and fetched again

	TransferBound Class = "transfer-bound"
	LaunchBound   Class = "launch-bound"
	NetworkBound  Class = "network-bound"
	StragglerRank Class = "straggler"
	ThrottledGPU  Class = "throttled"  // heat or the board's protection keeps its clock down
	SharedGPU     Class = "shared-gpu" // programs outside the job compute on it
	ComputeOnCPU  Class = "compute-on-cpu"
	NotTraining   Class = "not-training"
	Unknown       Class = "unknown"
)

// FedStall is the share of the time that a fed device waits for input at most. [J] A tenth is
// what several published tools call a busy device; verdicts of runs that need nothing lie
// below 5 %.
const FedStall = 0.10

// Starves reports whether the class says that the device waits for input.
func (c Class) Starves() bool {
	return c.Is(IOBound) || slices.Contains([]Class{MainThread, TooFewWorkers, CPUExhausted, Neighbour, CgroupThrottled}, c)
}

// LacksCores reports whether the class says that loading gets no core, whoever has them.
func (c Class) LacksCores() bool {
	return c == CPUExhausted || c == Neighbour || c == CgroupThrottled
}

// Is reports whether the class is the other one or a kind of it: gpu-bound/memory
// is gpu-bound.
func (c Class) Is(other Class) bool {
	return c == other || strings.HasPrefix(string(c), string(other)+"/")
}

// Source says how a stall is known, in order of trust.
type Source string

// The sources of a stall.
const (
	DeviceEvents Source = "device-events" // the device's own clock at the input boundary
	FromTrace    Source = "trace"         // gaps on a profiler's timeline
	HostWait     Source = "host-wait"     // the host hardly waited, so the device did not either
	Utilisation  Source = "utilisation"   // idle by GPU-Util: an upper bound
	NoSource     Source = ""
)

// State says how much a verdict rests on.
type State string

// The states of a verdict.
const (
	Provisional State = "provisional" // less than 30 stationary seconds so far
	Final       State = "final"       // the last 30 seconds were one regime
)

// Verdict is the answer for one run. Ratios are 0 to 1; NaN is unknown.
type Verdict struct {
	Class      Class
	RunnerUp   Class   // the second best rule, "" where none scored
	Confidence float64 // NaN until the published test set exists
	State      State

	Rank        int     // the rank that was judged: the most starved one
	Device      int     // index into Timeline.Devices of the device that was judged; -1 without a trace
	Stall       float64 // share of the window in which the device waited for input
	StallSource Source
	Idle        float64 // share of the window in which nothing ran on the device
	Unexplained float64 // share of the window in which nothing ran on the device, and nothing that was measured says why
	Shares      Shares
	Costs       predict.Costs // what the verdict was computed from; without steps its Window is empty
	HasSteps    bool          // of a loader (Costs.Fed) or of the loop itself

	Most   float64 // by how much the step gets shorter at most without what the class names; NaN unknown
	Causes []Cause // causes of idle time, most first; nil without a trace
	Lines  []Line  // on which preparing a batch spends its time, most first; nil where nobody looked
	Cost   Cost    // what the idle share costs
	Traced *Traced // what a trace of the same run adds; nil without, see Merge

	Evidence  []Evidence // most causal first
	Findings  []Finding  // what stands beside the class
	Questions []Question // what was asked, the classic three first
	Scores    []Score    // every rule's, best first
	Warnings  []string
}

// Shares are parts of the judged window and sum to 1; NaN is unknown.
type Shares struct {
	Kernel, Copy, Communication, Idle float64
}

// Evidence is one measured reason for the class.
type Evidence struct {
	Text   string
	Signal string // where it comes from
	Value  float64
	Unit   string
}

// Cause is a part of the judged window's idle time: what the host or the device
// did in the gaps. The causes of a window add up to its idle time.
type Cause struct {
	Cause   string // a word of idle.Cause
	Seconds float64
	Share   float64 // of the window
}

// Finding is something worth saying that does not name the class. What is known
// of its place and worth is filled in, NaN is unknown; findings of live runs have a
// name and a text alone.
type Finding struct {
	Name string // as in Findings
	Text string

	From, To float64 // where to look, seconds of the run; equal where there is no one place
	Thread   string  // of the host, "" unknown
	Kernel   string  // or copy, as recorded; "" unknown
	Source   string  // the user's innermost line there, "train.py(41): forward"; "" unknown
	Seconds  float64 // of the judged window that it is about
	Share    float64 // of the window
	Saves    float64 // at most, share of the window
	Settings []stoker.Change
	Advice   string // the exact setting in words, where it is more than a change of a Setting
}

// Question is what a rule asked and what the run answered.
type Question struct {
	Rule   Class // "" for the classic three
	Text   string
	Answer string  // with the figure: "yes, 97 %", "unknown"
	Score  float64 // how much of a yes, 0 to 1
	Note   string  // where the question misleads
}

// Score is how well a rule fits, 0 to 1.
type Score struct {
	Class Class
	Value float64
}
