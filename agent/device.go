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

// States of a GPU. The first two stand on a verdict, the others on what the driver tells,
// which is only whether some kernel ran (without a counter of kernels: or a copy): that no label
// says what holds the GPU back.
const (
	starved     = "starved"     // its job's verdict: it waits for input
	fed         = "fed"         // its job's verdict: it does not
	lowUse      = "low-use"     // a process is on it and little runs; why is not known
	inUse       = "in-use"      // kernels run
	unallocated = "unallocated" // no process is on it
	unknown     = "unknown"     // nothing is told
)

const (
	lowBusy = 0.30 // [J] below it a GPU is low-use

	window  = 60 * time.Second // over which a state and shares are told
	least   = 10 * time.Second // of it that must have been seen
	longest = 5 * time.Second  // between two looks, whose time then counts
	settles = 30 * time.Second // a state seen from outside holds so long before it is told: load comes and goes
)

// device is one GPU.
type device struct {
	facts     gpu.Device
	price     float64 // dollars per hour, NaN unknown
	moments   []moment
	processes []uint32  // as the driver tells, nil unknown
	owners    []owner   // of those that can be seen
	changed   time.Time // when no process of before was on it any more

	observed, idle float64 // seconds since we began: looked at, and no kernel ran

	state      string
	since      time.Time
	next       string // the state that is seen, if it is not the one told
	nextSince  time.Time
	lastLooked time.Time
}

// moment is one look.
type moment struct {
	at           time.Time
	busy, active float64              // shares since the look before, NaN unknown; busy is GPU-Util
	kernels      recording.KernelTime // in which kernels ran
	slowed       recording.Slowed
	slowedKnown  bool
	waits        []string // what the first threads of its processes did
}

// noteLook notes a look.
func (d *device) noteLook(r gpu.Reading, owners []owner, at time.Time) {
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
	d.lastLooked, d.processes, d.owners = at, r.Processes, owners
	d.moments = slices.DeleteFunc(append(d.moments, m), func(m moment) bool {
		return at.Sub(m.at) >= window ||
			m.at.After(at)
	})
}

// mean is that of what is known in the window; NaN where too little is.
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

func (d *device) busy() float64 { return d.mean(func(m moment) float64 { return m.busy }) }

// counted is for how much of the window kernels ran by the device's counter; NaN where it has none.
func (d *device) counted() float64 {
	return d.mean(func(m moment) float64 {
		if m.kernels.From != recording.GPUKernels {
			return math.NaN()
		}
		return m.kernels.Share
	})
}

// slowedShare is the share of the window in which something kept the clock down.
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

// outside is the state as it is seen without a verdict.
func (d *device) outside() string {
	busy := stat.Or(d.counted(), d.busy())
	switch {
	case math.IsNaN(busy):
		return unknown
	case busy >= lowBusy:
		return inUse
	case d.processes == nil:
		return unknown // an idle GPU that nobody has is none that does too little
	case len(d.processes) == 0:
		return unallocated
	}
	return lowUse
}

// takeState takes a state over that is seen: from one that is seen from outside to another
// such when it has held for a while, else at once.
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

// does is what the first threads of the GPU's processes did most of the time; "" where
// they cannot be seen.
func (d *device) does() string {
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
