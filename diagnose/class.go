package diagnose

import (
	"slices"
	"strings"
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

	// SlowSamples says that few samples take far longer than the others, and batches behind them wait.
	SlowSamples Class = "cpu-bound/slow-samples"

	// HandsOver says that taking a batch over from a worker takes long, not preparing it.
	HandsOver Class = "cpu-bound/hand-over"

	IOBound Class = "io-bound"
	// the disk, or what the control group may read from it, is used up
	DeviceSaturated Class = "io-bound/device-saturated"
	SmallFiles      Class = "io-bound/small-files"     // requests take the time, not bytes
	RemoteFS        Class = "io-bound/remote-fs"       // over a network, or from a program (FUSE)
	MemoryPressure  Class = "io-bound/memory-pressure" // what was read is thrown out and fetched again

	TransferBound Class = "transfer-bound"
	LaunchBound   Class = "launch-bound"
	NetworkBound  Class = "network-bound"
	StragglerRank Class = "straggler"
	ThrottledGPU  Class = "throttled"  // heat or the board's protection keeps its clock down
	SharedGPU     Class = "shared-gpu" // programs outside the job compute on it
	ComputeOnCPU  Class = "compute-on-cpu"
	WaitsOutside  Class = "waits-outside" // for requests, a timer, a network: nothing of the job works
	NotTraining   Class = "not-training"

	// Of servers.
	NoLoad        Class = "no-load"         // no request is there for much of the time
	BatchTooSmall Class = "batch-too-small" // requests wait, and a pass takes one or few of them
	ServerHost    Class = "cpu-bound/server"
	Tokenizing    Class = "cpu-bound/tokenizer"
	ServerWaits   Class = "server-waits" // requests are there, the device idles, and no core works for them
	CacheFull     Class = "cache-full"   // a language model's key-value cache

	StartUp Class = "start-up" // of a program: nothing of it is about steady steps
	Unknown Class = "unknown"

	// Of runs that lose most outside of their steps.
	InEvaluation  Class = "evaluation"
	InCheckpoints Class = "checkpoint"
	AtEpochEdges  Class = "epoch-edge"
	BetweenSteps  Class = "between-steps"
	Skipping      Class = "skipping"
)

// Starves reports whether the class says that the device is waiting for input.
func (c Class) Starves() bool {
	return c.Is(IOBound) || slices.Contains([]Class{
		MainThread, TooFewWorkers, CPUExhausted, Neighbour,
		CgroupThrottled, HandsOver, SlowSamples,
	}, c)
}

// LacksCores reports whether the class says that loading gets no core, whoever has them.
func (c Class) LacksCores() bool { return c == CPUExhausted || c == Neighbour || c == CgroupThrottled }

// Is reports whether the class is the other one or a kind of it: gpu-bound/memory
// is gpu-bound.
func (c Class) Is(other Class) bool {
	return c == other || strings.HasPrefix(string(c), string(other)+"/")
}
