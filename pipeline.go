package stoker

import "math"

// Interval is an estimate with its doubt. Low and High bound where the truth is
// expected; Point is the best single value.
type Interval struct {
	Low   float64 `json:"low"`
	Point float64 `json:"point"`
	High  float64 `json:"high"`
}

// Exactly is an interval without doubt.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Unknown is the interval of a quantity that nobody measured.
func Unknown() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// Known reports whether the interval holds numbers.
func (i Interval) Known() bool { return !math.IsNaN(i.Point) }

// Contains reports whether v lies inside the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Part is what one stage costs per step (one batch on one rank).
type Part struct {
	Stage Stage

	// Wait is time per batch in which the batch's own process can do nothing
	// else but no core is busy: a disk, a network, a sleeping simulator. Seconds.
	Wait Interval

	// CPU is core time per batch, in seconds, all processes together.
	CPU Interval

	// Shared says that Wait is spent in a queue that all processes share (a disk
	// at its limit): more parallelism does not shorten it. Between 0 (every
	// process waits for itself) and 1 (the device is saturated).
	Shared Interval
}

// Pipeline is the queueing model of a run: derived from a recording by
// predict.From, changed by With, solved by predict.Throughput. It is a plain
// value that can be printed, compared and edited.
//
// Stages Read and Prepare are the input side; they run in the launching thread
// when Settings say num_workers=0, else in that many workers. The other stages
// are the loop.
type Pipeline struct {
	Settings Settings // as they are to be
	Measured Settings // as they were when the costs were measured
	Batch    float64  // samples per step and rank, 0 where unknown
	Bytes    float64  // bytes of one batch as the loader hands it out, NaN where unknown
	Cores    float64  // cores that this rank's processes can really get, neighbours taken off
	Parts    []Part   // stages in order, each at most once

	// PhysCores is the number of physical cores behind Cores, 0 where unknown:
	// two hardware threads of one core are not two cores.
	PhysCores float64

	// Step is how long a step took as measured: the mean in the judged window.
	// Seconds.
	Step float64

	// Loop is how long a step takes when input is always there at once: between
	// the case that device work overlaps with the launching thread and the case
	// that it does not. Seconds.
	Loop Interval

	// LoopCPU is core time of the loop per step, seconds: launching, and spinning
	// while the device works. The low end is without what may be spinning.
	LoopCPU Interval

	// CoresMost is what Cores would be if the machine's other users went away.
	CoresMost float64

	// EpochSteps is the number of steps in an epoch; 0 where it is unknown. At
	// each epoch's start the workers' queue is empty.
	EpochSteps float64

	// StartMethod is how workers are started: "fork", "spawn", "forkserver", ""
	// where it is unknown.
	StartMethod string

	// FetchCV is the coefficient of variation of the time to prepare a batch,
	// NaN where unknown.
	FetchCV float64

	// WorkerMemory is the resident memory of one more worker, bytes, NaN where
	// unknown.
	WorkerMemory float64
}

// Part returns the part of a stage; the zero Part costs nothing.
func (p Pipeline) Part(stage Stage) Part {
	for _, part := range p.Parts {
		if part.Stage == stage {
			return part
		}
	}
	return Part{Stage: stage}
}

// With returns the pipeline with the settings changed. Costs stay as measured:
// what a changed setting does to them is the law's business, in predict.
func (p Pipeline) With(changes ...Change) Pipeline {
	p.Settings = p.Settings.With(changes...)
	return p
}
