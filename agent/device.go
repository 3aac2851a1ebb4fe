//go:build linux

package agent

import (
	"math"
	"slices"
	"time"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/recording"
)

// States of a GPU. The first two follow from a verdict, the others from the driver, which says
// only whether some kernel ran (without a counter of kernels: or a copy). So no state says what
// limits the GPU.
const (
	starved     = "starved"     // the verdict on its job: it is short of input
	fed         = "fed"         // its job does not, by the verdict
	lowUse      = "low-use"     // a process is on it and it is mostly idle; the cause is unknown
	inUse       = "in-use"      // kernels run
	unallocated = "unallocated" // no process is on it
	unknown     = "unknown"     // the driver says nothing
)

const (
	lowBusy = 0.30 // [J] below this share a GPU is low-use

	window  = 60 * time.Second // period for which state and shares are reported
	least   = 10 * time.Second // least part of it that must have been observed
	longest = 5 * time.Second  // greatest interval between two readings that counts as observed
	// how long a state seen from outside must last before it is reported, because load
	// fluctuates
	settles = 30 * time.Second
)

// device is the state of one GPU.
type device struct {
	facts     gpu.Device
	price     float64 // dollars per hour, NaN if unknown
	moments   []moment
	processes []uint32  // from the driver, nil if unknown
	owners    []owner   // owners of the processes that can be seen
	memory    float64   // bytes in use, NaN if unknown
	fills     holder    // the job that holds most of it
	changed   time.Time // when the last of the earlier processes was gone

	observed, idle float64 // seconds since the agent started: observed, and without a kernel

	state      string
	since      time.Time
	next       string // the newest state seen; it may not be reported yet
	nextSince  time.Time
	lastLooked time.Time
}

// moment is one reading.
type moment struct {
	at           time.Time
	busy, active float64              // shares since the reading before, NaN if unknown; busy is GPU-Util
	kernels      recording.KernelTime // share of time in which kernels ran
	slowed       recording.Slowed
	slowedKnown  bool
	waits        []string // what the main threads of its processes did
}

// noteLook stores a reading.
func (d *device) noteLook(r gpu.Reading, owners []owner, fills holder, at time.Time) {
	ratios := make([]float64, 0, len(r.Utilisation))
	for _, u := range r.Utilisation {
		ratios = append(ratios, u.Ratio)
	}
	m := moment{at: at, busy: stat.Mean(ratios), active: r.Active, slowed: r.Slowed, slowedKnown: r.SlowedKnown}
	m.kernels = recording.TellKernelTime(r.Kernels, m.busy, math.NaN())
	for _, o := range owners {
		m.waits = append(m.waits, o.does)
	}
	if since := at.Sub(d.lastLooked); stat.Finite(m.kernels.Share) && since > 0 && since <= longest {
		d.observed += since.Seconds()
		d.idle += since.Seconds() * (1 - m.kernels.Share)
	}
	stays := func(pid uint32) bool { return slices.Contains(d.processes, pid) }
	if r.Processes != nil && !slices.ContainsFunc(r.Processes, stays) {
		d.changed = at
	}
	d.lastLooked, d.processes, d.owners, d.memory, d.fills = at, r.Processes, owners, r.MemoryUsedBytes, fills
	d.moments = slices.DeleteFunc(append(d.moments, m), func(m moment) bool {
		return at.Sub(m.at) >= window ||
			m.at.After(at)
	})
}

// mean returns the mean of the known values in the window; NaN if there are too few.
func (d *device) mean(of func(moment) float64) float64 {
	known := make([]float64, 0, len(d.moments))
	for _, m := range d.moments {
		if v := of(m); stat.Finite(v) {
			known = append(known, v)
		}
	}
	if len(known) < 2 || d.lastLooked.Sub(d.moments[0].at) < least {
		return math.NaN()
	}
	return stat.Mean(known)
}

// busy returns GPU-Util over the window.
func (d *device) busy() float64 { return d.mean(func(m moment) float64 { return m.busy }) }

// countedShare returns the share of the window in which kernels ran by the device's counter;
// NaN if it has none.
func (d *device) countedShare() float64 {
	return d.mean(func(m moment) float64 {
		if m.kernels.From != recording.GPUKernels {
			return math.NaN()
		}
		return m.kernels.Share
	})
}

// slowedShare returns the share of the window in which a cause kept the clock down.
func (d *device) slowedShare(by recording.Slowed) float64 {
	return d.mean(func(m moment) float64 {
		switch {
		case !m.slowedKnown:
			return math.NaN()
		case m.slowed&by != 0:
			return 1
		}
		return 0
	})
}

// stateFromOutside returns the state as seen without a verdict.
func (d *device) stateFromOutside() string {
	busy := stat.Or(d.countedShare(), d.busy())
	switch {
	case math.IsNaN(busy):
		return unknown
	case busy >= lowBusy:
		return inUse
	case d.processes == nil:
		return unknown // an idle GPU without an owner is not low-use
	case len(d.processes) == 0:
		return unallocated
	}
	return lowUse
}

// takeState sets the reported state. A change between two states seen from outside takes effect
// after settles, any other change at once.
func (d *device) takeState(seen string, at time.Time) {
	if seen != d.next {
		d.next, d.nextSince = seen, at
	}
	waver := []string{lowUse, inUse, unallocated}
	if slices.Contains(waver, seen) && slices.Contains(waver, d.state) && at.Sub(d.nextSince) < settles {
		return
	}
	if seen != d.state {
		d.state, d.since = seen, d.nextSince
	}
}

// mainActivity returns what the main threads of the GPU's processes did most of the time; "" if they
// cannot be seen.
func (d *device) mainActivity() string {
	count := map[string]int{}
	most := ""
	for _, m := range d.moments {
		for _, w := range m.waits {
			if count[w]++; count[w] > count[most] || count[w] == count[most] && w < most {
				most = w
			}
		}
	}
	return most
}
