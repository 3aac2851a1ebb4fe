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
func (m *meter) splitFetch() *FetchSplit {
	if !(m.Fetch > 0) {
		return m.seenOnly()
	}
	if math.IsNaN(m.FetchCPU) {
		return nil
	}
	rest := m.Fetch
	take := func(seconds float64) float64 {
		part := min(rest, max(0, stat.Or(seconds, 0)))
		rest -= part
		return part / m.Fetch
	}
	thread := m.HostStep * float64(max(1, m.Workers)) // of all that fetch, per batch
	s := FetchSplit{
		Core: take(m.FetchCPU), Queued: take(m.FetchQueue), Storage: take(m.OnDisk * thread),
		Network: take(m.Remote * thread),
	}
	if m.Throttled >= heldBack {
		s.Queued += take(m.Runnable*thread - m.wantedCores())
	}
	s.Asleep = rest / m.Fetch
	if math.IsNaN(m.FetchQueue) && math.IsNaN(m.Runnable) && s.Asleep > unexplained {
		return nil // asleep or queued
	}
	return &s
}

// unexplained is the share of a fetch that a clock's own error may leave over. [J]
const unexplained = 0.05

// wantedCores returns the core time per batch, had or queued for, of the threads that fetch.
func (m *meter) wantedCores() float64 {
	cpu := m.FetchCPU
	if m.Workers == 0 {
		cpu = m.LaunchCPU
	}
	return stat.Or(cpu, 0) + stat.Or(m.FetchQueue, 0)
}

// seenOnly returns the split for workers that have no hook: by the states in which they were
// sampled, and by the kernel's count of their core time. It says nothing about a thread that
// loads next to other work.
func (m *meter) seenOnly() *FetchSplit {
	if m.Workers == 0 || !(m.WorkersBusy > 0) {
		return nil
	}
	var core, queued []float64
	for _, thread := range m.threads() {
		if on := m.rate(recording.ThreadCPU, thread); !math.IsNaN(on) {
			core = append(core, on)
			queued = append(queued, stat.Or(m.rate(recording.ThreadQueue, thread), 0))
		}
	}
	if len(core) == 0 {
		return nil
	}
	s := FetchSplit{Core: stat.Mean(core), Queued: stat.Mean(queued), Storage: m.OnDisk, Network: m.Remote}
	s.Asleep = max(0, m.WorkersBusy-m.Runnable-m.OnDisk-m.Remote)
	sum := s.Wants() + s.Storage + s.Network + s.Asleep
	if !(sum > 0) {
		return nil
	}
	return &FetchSplit{s.Core / sum, s.Queued / sum, s.Storage / sum, s.Network / sum, s.Asleep / sum}
}
