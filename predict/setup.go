package predict

import (
	"fmt"
	"math"

	"stoker"
	"stoker/hardware"
)

// Setup is a job as a person describes it, before any run. What is zero is not
// set (Workers apart: 0 is a setting there); what nobody knows stays unknown, as
// stoker.Unknown() or NaN, or carries a wide interval. Solve answers it.
//
// Rates are bytes per second, sizes bytes, costs seconds.
type Setup struct {
	Load  Load
	Batch float64         // samples per step and GPU
	GPUs  float64         // that share this machine's cores and storage; 0 means 1
	Ranks float64         // GPUs that train together, in all machines; 0: those of this one
	Step  stoker.Interval // seconds per step at this batch where it is known; else it comes from Curve
	Curve Curve           // step time over batch where it is known; else it comes from Load

	Sample  stoker.Interval // stored bytes of one sample
	Decoded stoker.Interval // bytes of one sample as it is copied to the device

	Workers    float64         // loader processes per GPU; NaN: unknown, 0 loads in the launching thread
	Cores      float64         // logical cores of the machine that the job may use; 0 or NaN: unknown
	PhysCores  float64         // physical cores behind them; 0: as many
	PrepareCPU stoker.Interval // core seconds to prepare one sample
	Spread     float64         // coefficient of variation of that time from sample to sample; 0: none
	HandOver   stoker.Interval // seconds per sample of the one process that collects batches; not set: from Decoded

	// PrepareRate is what all workers of one GPU prepare together, in stored
	// bytes/s, where that is what is known: it takes the place of PrepareCPU and
	// asks for no workers or cores.
	PrepareRate stoker.Interval

	Storage stoker.Interval // bytes/s that storage delivers to this machine
	Cached  float64         // share of the data set that lies in memory, 0 to 1
	Link    hardware.Link
	Pinned  bool            // batches are copied from page-locked memory
	Network stoker.Interval // bytes/s of this machine to others, one direction, where Ranks reach over several
}

// set reports whether an interval was given and is known.
func set(i stoker.Interval) bool { return i != (stoker.Interval{}) && i.Known() }

// sharing is the number of GPUs, at least 1.
func (s Setup) sharing() float64 {
	if s.GPUs == 0 {
		return 1
	}
	return s.GPUs
}

// Check returns an error where a field cannot be: it names the field, its value
// and what is expected. An unknown field is fine.
func (s Setup) Check() error {
	if !(s.Batch >= 1 && s.Batch <= mostCount) {
		return fmt.Errorf("batch is %v: expected 1 to %v samples per step and GPU", s.Batch, mostCount)
	}
	if s.GPUs != 0 && !(s.GPUs >= 1 && s.GPUs <= mostCount) {
		return fmt.Errorf("gpus is %v: expected 1 to %v", s.GPUs, mostCount)
	}
	if s.Ranks != 0 && !(s.Ranks >= 1 && s.Ranks <= mostCount) {
		return fmt.Errorf("ranks is %v: expected 1 to %v, or 0 for the GPUs of this machine", s.Ranks, mostCount)
	}
	for _, n := range []struct {
		name  string
		value float64
	}{{"workers", s.Workers}, {"cores", s.Cores}, {"physical cores", s.PhysCores}, {"spread", s.Spread}} {
		if n.value < 0 || n.value > mostCount {
			return fmt.Errorf("%s is %v: expected 0 to %v, or NaN where it is unknown", n.name, n.value, mostCount)
		}
	}
	if !(s.Cached >= 0 && s.Cached <= 1) {
		return fmt.Errorf("cached is %v: expected the share of the data set that lies in memory, 0 to 1", s.Cached)
	}
	return s.checkIntervals()
}

// Bounds of what is taken for an input rather than a slip: nothing within them
// overflows.
const (
	mostCount   = 1e9
	least, most = 1e-18, 1e24
)

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
		{"network rate", "bytes/s", s.Network},
	} {
		i := f.value
		if !set(i) {
			continue
		}
		if !(i.Low >= least && i.High <= most && i.Low <= i.Point && i.Point <= i.High) {
			return fmt.Errorf("%s is %v, %v to %v: expected more than 0 %s (%v to %v), low <= point <= high; leave it out where it is unknown",
				f.name, i.Point, i.Low, i.High, f.unit, least, most)
		}
	}
	return nil
}

// WithProfile fills in what a kind of data usually costs, where the setup does
// not say: stored and decoded bytes, core time, its spread. Samples that are
// computed rather than read ask nothing of storage. A profile per token is to be
// made one per sample first (Profile.For).
func (s Setup) WithProfile(p Profile) Setup {
	fill := func(to *stoker.Interval, from Amount) {
		if !set(*to) && set(from.Interval) {
			*to = from.Interval
		}
	}
	fill(&s.Sample, p.Stored)
	fill(&s.Decoded, p.Decoded)
	if !set(s.PrepareRate) {
		fill(&s.PrepareCPU, p.Prepare)
	}
	if s.Spread == 0 && p.Spread.Point > 0 {
		s.Spread = p.Spread.Point
	}
	if p.Access == NoStorage {
		s.Cached = 1
	}
	return s
}

// WithStorage sets what a class of storage delivers for samples of this size. In
// shards it is the sequential rate. One file per sample costs at least one random
// read and at most three (directory, inode, data: assumption), which bounds small
// files.
func (s Setup) WithStorage(storage hardware.Storage, access Access) Setup {
	rate := storage.Rate.Value
	if !(rate > 0) {
		return s
	}
	s.Storage = stoker.Exactly(rate)
	if iops := storage.IOPS.Value; access == Files && iops > 0 && set(s.Sample) {
		s.Storage = stoker.Interval{
			Low: min(rate, iops/readsPerFile*s.Sample.Low), Point: min(rate, iops/2*s.Sample.Point), High: min(rate, iops*s.Sample.High),
		}
	}
	return s
}

const readsPerFile = 3

func sqrt4(v float64) float64 { return math.Sqrt(math.Sqrt(v)) }
