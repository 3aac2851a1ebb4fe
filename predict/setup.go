package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
)

// Setup is a job in figures: as a person describes it before any run, or with the measured costs
// of a run (Baseline). A zero value is not set. An unknown value is stoker.Unknown(), NaN, or a
// wide interval. Solve solves it.
//
// Rates are bytes per second, sizes bytes, costs seconds.
type Setup struct {
	Load  device.Load
	Batch float64         // samples per step and GPU
	GPUs  float64         // of the job; 0 means 1
	Nodes float64         // machines that share them evenly; 0 means 1. Cores and storage are those of one
	Step  stoker.Interval // seconds per step with its input at hand, if it is known; else it comes from Curve
	Curve device.Curve    // step time over batch if it is known; else it comes from Load

	Sample  stoker.Interval // stored bytes of one sample
	Decoded stoker.Interval // bytes of one sample as it is copied to the device
	Tensors float64         // in a batch, where they were counted; 0: unknown

	Workers    float64         // loader processes per GPU; 0 or NaN: not set. WithWorkers(0) is num_workers=0
	Threads    float64         // of stoker's loader, which it has on its own where the loop loads; 0: unknown
	Shards     float64         // parts that the data set gives to workers: more get none; 0: as many as workers
	InLoop     bool            // num_workers=0: the launching thread loads, and there is no worker
	Cores      float64         // logical cores of a machine that the job may use; 0 or NaN: unknown
	Others     float64         // cores that the machine's other users take; 0: none
	PhysCores  float64         // physical cores behind them; 0: as many
	PrepareCPU stoker.Interval // core seconds to prepare one sample in the launching thread, which hands nothing over
	Spread     float64         // coefficient of variation of that time from sample to sample; 0: none
	BatchCV    float64         // of the time of a batch, where that was measured; 0: as Spread gives it
	HandOver   stoker.Interval // seconds per sample of the one process that collects batches; not set: from Decoded

	// PrepareRate is what all workers of one GPU prepare together, in stored
	// bytes/s, where only that is known: it takes the place of PrepareCPU and
	// asks for no workers or cores.
	PrepareRate stoker.Interval

	// Of a loader with workers.
	Prefetch    float64 // batches that each has under way; 0: PyTorch's 2
	AnyOrder    bool    // batches are delivered as they get ready
	Persistent  bool    // workers outlive an epoch
	StartMethod string  // "fork", "spawn", "forkserver"; "": forked
	// seconds by which an epoch's first batch is later for new workers, as the device saw it; not set: by
	// the start method
	Start stoker.Interval
	Epoch float64 // samples of an epoch and GPU; 0: so many that its beginning does not count
	Feeds bool    // stoker's loader: threads that write where the trainer reads, and go on into the next epoch

	Storage stoker.Interval // bytes/s that storage delivers to a machine
	Reads   stoker.Interval // reads/s that it answers
	Latency stoker.Interval // seconds until it has answered one read
	PerFile stoker.Interval // reads that a sample takes; not set: all that is read is in a row
	Cached  float64         // share of the data set that is in memory, 0 to 1
	Link    hardware.Link
	Pinned  bool            // batches are copied from page-locked memory
	Network stoker.Interval // bytes/s of a machine to others, one direction, where there are several

	// Figures that only a run has. Each is added to a figure above or replaces it.
	Wait stoker.Interval // seconds per sample that its process does nothing but wait
	// share of Wait in a queue that all processes share: 0 if each waits on its own, 1 if the
	// device is saturated
	Shared  stoker.Interval
	Waiters float64 // processes that stood in that queue; 0: 1
	// part of Step, in seconds, for launching: it does not grow with the batch, and next to
	// other threads it waits for a core
	Launch  stoker.Interval
	Copy    stoker.Interval // seconds per step that the device stalls on copies
	LoopCPU stoker.Interval // core seconds per step of everything but loading and spinning
	// core seconds per step that the launching thread spins while the device works, if it has a
	// core to itself
	Spin stoker.Interval
	// core time of a process with one thread over PrepareCPU, for which the launching thread had
	// helpers; not set: 1
	Single stoker.Interval
	Moving float64 // cost of a byte that is collated and handed over, over the law's; 0: 1
	// time until a batch is made over what its process works and blocks on data: it also blocks on
	// a core; not set: 1
	Queue stoker.Interval
	Crowd float64 // threads that wanted a core over cores, less 1, when Queue was measured; 0: Queue stays as it is
}

// atLeastOne returns a count, with 1 instead of 0.
func atLeastOne(n float64) float64 {
	if n == 0 {
		return 1
	}
	return n
}

func integer(n float64) bool { return n == math.Trunc(n) }

// checkFields returns an error for a field with an impossible value. It names the field, the
// value and the expected form. An unknown field is valid.
func (s Setup) checkFields() error {
	if !(s.Batch >= 1 && s.Batch <= bounds.MostCount) {
		return fmt.Errorf("batch is %v: expected 1 to %v samples per step and GPU", s.Batch, bounds.MostCount)
	}
	if s.GPUs != 0 && !(s.GPUs >= 1 && s.GPUs <= bounds.MostCount) {
		return fmt.Errorf("gpus is %v: expected 1 to %v", s.GPUs, bounds.MostCount)
	}
	if nodes := atLeastOne(s.Nodes); !(nodes >= 1 && nodes <= atLeastOne(s.GPUs)) ||
		!integer(atLeastOne(s.GPUs)/nodes) {
		return fmt.Errorf("nodes is %v and gpus %v: expected a whole number of GPUs for each machine", nodes,
			atLeastOne(s.GPUs))
	}
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"workers", s.Workers},
		{"cores", s.Cores},
		{"physical cores", s.PhysCores},
		{"spread", s.Spread},
		{"batch cv", s.BatchCV},
		{"prefetch", s.Prefetch},
		{"epoch", s.Epoch},
		{"shards", s.Shards},
		{"threads", s.Threads},
		{"tensors", s.Tensors},
	} {
		if n.value < 0 || n.value > bounds.MostCount {
			return fmt.Errorf("%s is %v: expected 0 to %v, or NaN if it is unknown", n.name, n.value,
				bounds.MostCount)
		}
	}
	if s.InLoop && s.Workers > 0 {
		return fmt.Errorf("workers is %v and the launching thread loads: expected one of the two, as WithWorkers "+
			"sets them", s.Workers)
	}
	if !(s.Cached >= 0 && s.Cached <= 1) {
		return fmt.Errorf("cached is %v: expected the share of the data set that is in memory, 0 to 1", s.Cached)
	}
	return s.checkIntervals()
}

func (s Setup) checkIntervals() error {
	for _, f := range []struct {
		name, unit string
		value      stoker.Interval
	}{
		{"step", "seconds", s.Step},
		{"sample", "bytes", s.Sample},
		{"decoded", "bytes", s.Decoded},
		{"prepare", "core seconds per sample", s.PrepareCPU},
		{"hand-over", "seconds per sample", s.HandOver},
		{"prepare rate", "bytes/s", s.PrepareRate},
		{"storage rate", "bytes/s", s.Storage},
		{"reads", "reads/s", s.Reads},
		{"latency", "seconds", s.Latency},
		{"reads per sample", "reads", s.PerFile},
		{"network rate", "bytes/s", s.Network},
	} {
		i := f.value
		if !bounds.IsSet(i) {
			continue
		}
		if !(i.Low >= bounds.Least && i.High <= bounds.Most && i.Low <= i.Point && i.Point <= i.High) {
			return fmt.Errorf("%s is %v, %v to %v: expected more than 0 %s (%v to %v), low <= point <= high: "+
				"leave it out if it is unknown", f.name, i.Point, i.Low, i.High, f.unit, bounds.Least, bounds.Most)
		}
	}
	return nil
}

// WithWorkers sets num_workers: the loader processes per GPU. With 0 the launching
// thread loads, with NaN it is unknown.
func (s Setup) WithWorkers(n float64) Setup {
	s.Workers, s.InLoop = n, n == 0
	return s
}

// numWorkers returns the loader processes per GPU: 0 if the launching thread loads, NaN if
// that is not set.
func (s Setup) numWorkers() float64 {
	if s.Workers == 0 && !s.InLoop {
		return math.NaN()
	}
	return s.Workers
}

// givingWorkers returns how many workers get a part of the data set, and so deliver batches.
func (s Setup) givingWorkers() float64 {
	if s.Shards > 0 && s.Workers > s.Shards {
		return max(1, s.Shards)
	}
	return s.numWorkers()
}

// WithStorage sets the rates of a class of storage. In shards, samples are stored one after the
// other. A sample in its own file costs one read, and at most three if directory and inode are
// not in memory (assumption). A sample that is an object costs a request. Each read waits for
// its answer.
func (s Setup) WithStorage(storage hardware.Storage, access Access) Setup {
	figure := func(f hardware.Figure) stoker.Interval {
		if !f.Known() {
			return stoker.Interval{}
		}
		return stoker.Exactly(f.Value)
	}
	s.Storage, s.Reads, s.Latency, s.PerFile = figure(storage.Rate), figure(storage.IOPS), figure(storage.Latency),
		stoker.Interval{}
	if storage.Latency.Known() {
		s.Latency.Low, s.Latency.Point, s.Latency.High = storage.LatencyBetween()
	}
	if access == Files {
		s.PerFile = readsPerFile
	}
	if access == Files && storage.Object {
		s.PerFile = stoker.Exactly(1)
	}
	return s
}

var readsPerFile = stoker.Interval{Low: 1, Point: 1, High: 3}
