package idle

import (
	"math"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// smallCopy is the size below which a copy is all overhead: 64 KiB (published
// procedure; at PCIe rates it takes a few microseconds, a launch takes as long).
const smallCopy = 64 << 10

// Copies is what the copies of a device's window amount to. Times in
// nanoseconds.
type Copies struct {
	ToDevice, ToHost Direction
	Pageable         Direction // to the device, named pageable, 1 MB and more
	Pinned           Direction // to the device, named pinned
	Tiny             Direction // to the device, below 64 KiB
	Migrated         Direction // to the device, pages of managed memory: no call copies them
	Within           Direction // from device to device
	Serial           int64     // time of copies to the device in which no kernel ran
	Joint            int       // tiny ones to the device that follow another copy to it, no kernel between them
}

// Direction is the copies of one kind.
type Direction struct {
	Count   int
	Time    int64
	Bytes   int64 // of those whose size is recorded
	Sized   int64 // time of those
	Alone   int64 // time in which no kernel ran at the same time
	Largest int32 // the work that moved most, -1 none
}

// Rate is bytes per second; NaN if no size is recorded.
func (d Direction) Rate() float64 {
	if d.Sized == 0 {
		return math.NaN()
	}
	return 1e9 * float64(d.Bytes) / float64(d.Sized)
}

func (d *Direction) addCopy(w *recording.Work, i int32, alone int64) {
	length := w.End[i] - w.Start[i]
	d.Count++
	d.Time += length
	d.Alone += alone
	if w.Bytes[i] >= 0 {
		d.Bytes += w.Bytes[i]
		d.Sized += length
	}
	if d.Largest < 0 || w.Bytes[i] > w.Bytes[d.Largest] ||
		w.Bytes[i] < 0 && length > w.End[d.Largest]-w.Start[d.Largest] {
		d.Largest = i
	}
}

// SumCopies adds up a device's copies in its window.
func (a *Analysis) SumCopies(d *Device) *Copies {
	none := Direction{Largest: -1}
	c := &Copies{none, none, none, none, none, none, none, 0, 0}
	follows := false // a copy to the device
	w := &a.t.Device
	computing := a.computing(d.Index)
	for _, i := range a.works.members(d.Index) {
		if w.Start[i] >= d.To {
			break
		}
		if w.Kind[i] != recording.Copy || w.Start[i] < d.From {
			follows = follows && w.Kind[i] != recording.Kernel
			continue
		}
		if follows && a.tiny(i) {
			c.Joint++
		}
		follows = recording.ToDevice(a.t.Names[w.Name[i]])
		name, alone := a.t.Names[w.Name[i]], a.uncovered(computing, i)
		switch {
		case recording.ToHost(name):
			c.ToHost.addCopy(w, i, alone)
		case recording.ToDevice(name):
			c.addCopy(w, i, name, alone)
		default:
			c.Within.addCopy(w, i, alone)
		}
	}
	c.Serial = c.ToDevice.Alone
	return c
}

func (c *Copies) addCopy(w *recording.Work, i int32, name string, alone int64) {
	c.ToDevice.addCopy(w, i, alone)
	switch {
	case strings.Contains(name, "Pageable") && large(w, i):
		c.Pageable.addCopy(w, i, alone)
	case strings.Contains(name, "Pinned"):
		c.Pinned.addCopy(w, i, alone)
	}
	switch {
	case recording.Migrates(name):
		c.Migrated.addCopy(w, i, alone)
	case w.Bytes[i] >= 0 && w.Bytes[i] < smallCopy:
		c.Tiny.addCopy(w, i, alone)
	}
}

// tiny reports whether a piece of work is a copy to the device that is all
// overhead: a page that migrates has no call.
func (a *Analysis) tiny(work int32) bool {
	w := &a.t.Device
	return w.Kind[work] == recording.Copy && w.Bytes[work] >= 0 && w.Bytes[work] < smallCopy &&
		recording.ToDevice(a.t.Names[w.Name[work]]) && !a.migrates(work)
}

// A large copy, by its bytes. Where those are not recorded, it takes as long as they do at 10 GB/s. [J]
const (
	largeCopy     = 1e6     // bytes
	largeCopyTime = 100_000 // nanoseconds
)

// large reports whether a copy is a large one.
func large(w *recording.Work, i int32) bool {
	return w.Bytes[i] >= largeCopy || w.Bytes[i] < 0 && w.End[i]-w.Start[i] >= largeCopyTime
}

// HostWait is one host call that waited for the device.
type HostWait struct {
	Call   int32 // index into Timeline.Host
	Op     int32 // the operator or mark around it, index into Timeline.Host; -1 none
	From   int64 // of the call
	To     int64
	Hidden bool // the program wrote no wait: a copy to the host, or a value that Python asked for
}

// WaitTotals add up the host's waiting for the device in a window.
type WaitTotals struct {
	Hidden, Explicit struct {
		Count int
		Time  int64 // of the judged steps
		Most  HostWait
	}
}

const (
	leastWait   = 100_000 // [J] a call that returns sooner held nothing up; nanoseconds
	hiddenTimes = 10      // [J] how much longer than its copy a call must take to have waited
)

// Waits finds the blocking calls of a device's process in its judged steps.
func (a *Analysis) Waits(d *Device) *WaitTotals {
	found := &WaitTotals{}
	for _, w := range a.waits(d) {
		group := &found.Explicit
		if w.Hidden {
			group = &found.Hidden
		}
		group.Count++
		group.Time += w.To - w.From
		if w.To-w.From > group.Most.To-group.Most.From {
			group.Most = w
		}
	}
	return found
}

// waits are the blocking calls of a device's process, cut at its judged steps, in order of
// their ends.
func (a *Analysis) waits(d *Device) []HostWait {
	if d.Process < 0 {
		return nil
	}
	var found, behind []HostWait
	h := &a.t.Host
	from, to, end := d.From, d.To, d.To
	if n := len(d.Steps); n > 0 { // a host that runs ahead blocks when its steps are over
		from, to = d.Steps[0].HostFrom, d.Steps[n-1].HostTo
		end = max(to, d.To)
	}
	if d.Earlier { // before it the host waited for work that is not in the file
		from = max(from, d.From)
	}
	for thread := range a.t.Threads {
		if a.of[thread] != int32(d.Process) {
			continue
		}
		var around []int32 // operators that are open
		for _, i := range a.calls.members(int32(thread)) {
			if h.Start[i] >= end {
				break
			}
			if h.End[i] <= from {
				continue
			}
			switch h.Kind[i] {
			case recording.Runtime:
				w := HostWait{Call: i, Op: -1, From: max(h.Start[i], from), To: min(h.End[i], end)}
				if w.To-w.From >= leastWait {
					around = alive(around, h.End, h.Start[i])
					switch is, last := a.isWait(&w, around); {
					case is && (last || h.Start[i] >= to):
						behind = append(behind, w)
					case is:
						found = append(found, w)
					}
				}
			case recording.Op:
				around = append(alive(around, h.End, h.Start[i]), i)
			case recording.Annotation, recording.Collector, recording.Profiling:
			}
		}
	}
	found = append(found, a.ofSteps(behind, found, len(d.Steps))...)
	sort.SliceStable(found, func(i, j int) bool { return found[i].To < found[j].To })
	return found
}

// ofSteps are waits behind the last launch that belong to steps: half of the steps or more have the same one.
// Any other ends the recording, and no step.
func (a *Analysis) ofSteps(behind, found []HostWait, steps int) (kept []HostWait) {
	count := map[int32]int{}
	for _, w := range found {
		count[a.t.Host.Name[w.Call]]++
	}
	for _, w := range behind {
		if n := count[a.t.Host.Name[w.Call]]; n >= 2 && 2*n >= steps {
			kept = append(kept, w)
		}
	}
	return kept
}

// isWait reports whether a long call of the runtime waited for the device, fills in why, and tells whether it is one
// that the program wrote behind all of its launches.
func (a *Analysis) isWait(w *HostWait, around []int32) (is, last bool) {
	if len(around) > 0 {
		w.Op = around[len(around)-1]
	}
	switch a.causeRow(uint8(recording.Runtime), a.t.Host.Name[w.Call]) {
	case rowSync:
		w.Hidden = a.asksValue(around)
		return true, !w.Hidden && a.last(w.Call)
	case rowCopies:
		w.Hidden = true
		return a.hidesWait(w.Call), false
	}
	return false, false
}

// last reports whether a thread launches nothing after a call.
func (a *Analysis) last(call int32) bool { return a.launched[a.t.Host.Thread[call]] <= call }

// asksValue reports whether an operator around a wait hands data to Python.
func (a *Analysis) asksValue(around []int32) bool {
	for _, i := range around {
		name := a.t.Names[a.t.Host.Name[i]]
		if readsValue(name) || name == "aten::nonzero" || name == "aten::masked_select" || name == "aten::_to_copy" ||
			name == "aten::copy_" || name == "aten::to" {
			return true
		}
	}
	return false
}

// hidesWait reports whether a copying call waited for the device: one towards the
// host that took far longer than its copy.
func (a *Analysis) hidesWait(call int32) bool {
	work := a.first[call]
	if work < 0 || !a.toHost(call) {
		return false
	}
	w, h := &a.t.Device, &a.t.Host
	return h.End[call]-h.Start[call] > hiddenTimes*(w.End[work]-w.Start[work])
}
