package predict

import (
	"math"

	"stoker"
	"stoker/hardware"
)

// Setup is a job as a person describes it, before any run. What is zero is not
// set; what nobody knows stays unknown or carries a wide interval.
type Setup struct {
	Load    Load
	Batch   float64         // samples per step and GPU
	GPUs    float64         // that share this machine's cores and storage; 0 means 1
	Step    stoker.Interval // seconds per step where it is known; else it comes from Load
	Sample  stoker.Interval // stored bytes of one sample
	Decoded stoker.Interval // bytes of one sample as it is copied to the device

	Workers    float64         // loader processes per GPU; NaN: unknown, 0 loads in the launching thread
	Cores      float64         // cores of the machine; NaN unknown
	PrepareCPU stoker.Interval // core seconds to prepare one sample
	HandOver   stoker.Interval // core seconds per sample of the one process that collects batches

	Storage stoker.Interval // bytes/s that storage delivers to this machine
	Cached  float64         // share of the data set that lies in memory, 0 to 1
	Link    hardware.Link
	Pinned  bool
}

// Stage of an Answer: what one part of the path needs for a step.
type StageTime struct {
	Stage    stoker.Stage
	Resource stoker.Resource
	Time     stoker.Interval // seconds per step
	Text     string          // how it was computed, for people
	Source   string
}

func sqrt4(v float64) float64 { return math.Sqrt(math.Sqrt(v)) }
