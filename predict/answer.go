package predict

import (
	"github.com/stoker-dev/stoker"
)

// Answer is what Solve says about a Setup. NaN is unknown; a ratio is 0 to 1.
//
// Where an input of some stage is unknown, that stage may take any time. Of Step,
// Slowdown and Stall only Low is known then, of Throughput and Utilization only High;
// Bound is unknown unless what binds of the known stages is the one that is not known
// whole. Unknown says what was missing.
type Answer struct {
	Stages []StageTime // in the order in which a batch passes, unknown ones included

	Step        stoker.Interval // seconds per step
	Throughput  stoker.Interval // samples/s of the whole machine
	PerGPU      stoker.Interval // samples/s of one GPU
	Utilization stoker.Interval // AU: share of a step in which the device computes
	Slowdown    stoker.Interval // step over compute: 1 where the device never stalls
	Stall       stoker.Interval // share of a step in which the device stalls on input

	Waits stoker.Interval // share of a worker's time in which it blocks on storage; unknown without workers

	Bound   Limit           // what binds: its part of the path, and how long that takes per step
	Longest Limit           // the limit among the known parts
	Next    Limit           // what binds when that one is free
	Gain    stoker.Interval // how many times faster a step gets until Next binds

	Demand    Demand
	Crossover Crossover

	Unknown []Missing // inputs that were not given
	Wrong   []string  // what would have to be true for the answer to be wrong
	Notes   []string  // the assumptions
}

// Compute returns the device's time for a step. It is unknown if no input gives it.
func (a Answer) Compute() stoker.Interval {
	for _, s := range a.Stages {
		if s.Resource == stoker.GPU {
			return s.Time
		}
	}
	return stoker.Unknown()
}

// StageTime is what one part of the path needs for a step.
type StageTime struct {
	Stage    stoker.Stage    `json:"stage"`
	Resource stoker.Resource `json:"resource"`
	Time     stoker.Interval `json:"time_s"` // per step
	Text     string          `json:"text"`   // how it was computed, for people
	Source   string          `json:"source"` // where its figures come from, "" where they were given
}

// Limit names one part of the path.
type Limit struct {
	Stage    stoker.Stage
	Resource stoker.Resource // "" where nothing is known
	Time     stoker.Interval // seconds per step
}

// Demand is the rate at which the device takes data if it computes all the time. It does not
// depend on what the setup delivers, and is unknown if the costs are.
type Demand struct {
	Samples  stoker.Interval `json:"samples_per_s"`        // of the machine
	Storage  stoker.Interval `json:"storage_bytes_per_s"`  // of the machine
	Reads    stoker.Interval `json:"reads_per_s"`          // of the machine, where samples are files
	Prepared stoker.Interval `json:"prepared_bytes_per_s"` // stored bytes that have to be prepared, of the machine
	Cores    stoker.Interval `json:"cores"`                // of the machine
	Workers  stoker.Interval `json:"workers_per_gpu"`
	Link     stoker.Interval `json:"link_bytes_per_s"` // of each GPU
}

// Crossover is the batch size at which input takes as long as compute.
type Crossover struct {
	Batch stoker.Interval `json:"batch"` // NaN if it does not exist or is unknown
	Text  string          `json:"text"`  // says what happens on both sides, or why it does not exist
}

// Missing is an input that was not given.
type Missing struct {
	Input string // "storage rate"
	Needs string // what the device needs it to be: "at least 282 MB/s", or what to give; "" where that is unknown too
}

// Point is one setting of a sweep, solved: the likely value and its bounds.
// Seconds and samples/s; NaN is unknown.
type Point struct {
	X, Y        float64 // values on the axes; Y is NaN where there is one axis
	Step        stoker.Interval
	Throughput  stoker.Interval // of the machine
	Utilization stoker.Interval
	Bound       stoker.Resource
	BoundStage  stoker.Stage
	Fits        Truth // in device memory
}

// Truth is yes, no, or not known. A question that is not modelled has neither answer.
type Truth string

// The three truths.
const (
	Yes      Truth = "yes"
	No       Truth = "no"
	NotKnown Truth = "unknown"
)
