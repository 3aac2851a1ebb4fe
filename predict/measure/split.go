package measure

import (
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// heldBack is the share of the time that a quota has to throttle before it counts as the cause
// of time in which a thread could run but neither ran nor queued: newer kernels take throttled
// threads off the queue. [J]
const heldBack = 0.03

// splitFetch returns the time of a fetch by cause; nil if that is unknown. The length of a fetch
// and its core time were measured around it. The samples in which its thread was in storage or
// in the network bound the rest, and otherwise it slept.
func (c *Costs) splitFetch(run *recording.Run) *FetchSplit {
	if !(c.Fetch > 0) {
		return c.seenOnly(run)
	}
	if math.IsNaN(c.FetchCPU) {
		return nil
	}
	rest := c.Fetch
	take := func(seconds float64) float64 {
		part := min(rest, max(0, stat.Or(seconds, 0)))
		rest -= part
		return part / c.Fetch
	}
	thread := c.HostStep * float64(max(1, c.Workers)) // of all that fetch, per batch
	s := FetchSplit{
		Core: take(c.FetchCPU), Queued: take(c.FetchQueue), Storage: take(c.OnDisk * thread),
		Network: take(c.Remote * thread),
	}
	if c.Throttled >= heldBack {
		s.Queued += take(c.Runnable*thread - c.wantedCores())
	}
	s.Asleep = rest / c.Fetch
	if math.IsNaN(c.FetchQueue) && math.IsNaN(c.Runnable) && s.Asleep > unexplained {
		return nil // asleep or queued
	}
	return &s
}

// unexplained is the share of a fetch that a clock's own error may leave over. [J]
const unexplained = 0.05

// wantedCores returns the core time per batch, had or queued for, of the threads that fetch.
func (c *Costs) wantedCores() float64 {
	cpu := c.FetchCPU
	if c.Workers == 0 {
		cpu = c.LaunchCPU
	}
	return stat.Or(cpu, 0) + stat.Or(c.FetchQueue, 0)
}

// seenOnly returns the split for workers that have no hook: by the states in which they were
// sampled, and by the kernel's count of their core time. It says nothing about a thread that
// loads next to other work.
func (c *Costs) seenOnly(run *recording.Run) *FetchSplit {
	if c.Workers == 0 || !(c.WorkersBusy > 0) {
		return nil
	}
	from, to := c.Window.Start, c.Window.End
	var core, queued []float64
	for _, thread := range c.threads(run) {
		if on := run.Find(recording.ThreadCPU, thread).Rate(from, to); !math.IsNaN(on) {
			core = append(core, on)
			queued = append(queued, stat.Or(run.Find(recording.ThreadQueue, thread).Rate(from, to), 0))
		}
	}
	if len(core) == 0 {
		return nil
	}
	s := FetchSplit{Core: stat.Mean(core), Queued: stat.Mean(queued), Storage: c.OnDisk, Network: c.Remote}
	s.Asleep = max(0, c.WorkersBusy-c.Runnable-c.OnDisk-c.Remote)
	sum := s.Wants() + s.Storage + s.Network + s.Asleep
	if !(sum > 0) {
		return nil
	}
	return &FetchSplit{s.Core / sum, s.Queued / sum, s.Storage / sum, s.Network / sum, s.Asleep / sum}
}
