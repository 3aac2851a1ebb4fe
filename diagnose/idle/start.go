package idle

import (
	"math"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// cutStart takes a program's start and end off a recording that is judged as a whole: what
// it did before its first call of the device, where that call sets the device up, and
// after all of its work. A program that the recorder met on its way has set up before.
func (a *Analysis) cutStart(d *Device) {
	begin, end, setsUp := a.deviceCalls(d)
	for _, w := range a.works.members(d.Index) {
		end = max(end, a.t.Device.End[w])
	}
	if a.unloads(d, end) {
		d.To = min(d.To, end)
	}
	d.To = min(d.To, a.recorderStop(d))
	if made, works := a.contextMade(d); made > begin && d.To-works >= made-max(begin, d.From) {
		begin, setsUp, d.SetUp = made, true, true // the device works for longer than that: it is judged
	}
	if setsUp && begin > d.From && begin < d.To && (d.Process < 0 || !a.Processes[d.Process].runs) {
		d.Start = begin - d.From
		d.From, d.To = begin, min(d.To, max(end, begin))
	}
	a.cutEdge(d)
	d.To = a.lastUse(d, d.To)
}

// lastUse returns when a device last worked, if the host afterwards only waits for it or frees resources: no work in
// the file depends on that time. Otherwise it returns the window's end. A marked step keeps its end too, unless the
// time after the work is longer than the step before it.
func (a *Analysis) lastUse(d *Device, to int64) int64 {
	end, works := d.From, a.works.members(d.Index)
	for _, w := range works {
		end = max(end, a.t.Device.End[w])
	}
	if end >= to || a.usesDevice(d, end) || a.marked && (len(works) < leastRun || to-end <= end-d.From) {
		return to
	}
	return end
}

// leastRun is the number of kernels and copies below which a recording is not about the device. [J]
const leastRun = 10

// usesDevice reports whether a device's process computes or calls the device's runtime after an instant, other than to
// wait, to note an event or to give something back.
func (a *Analysis) usesDevice(d *Device, after int64) bool {
	h := &a.t.Host
	for _, i := range a.callsBetween(d, after, math.MaxInt64) {
		switch name := a.t.Names[h.Name[i]]; {
		case h.Kind[i] == recording.Op && !a.marked:
			return true
		case h.Kind[i] != recording.Runtime || a.causeRow(uint8(recording.Runtime), h.Name[i]) == rowSync:
		case !a.marked && (releases(name) || recording.ContainsAny(name, "EventRecord")):
		default:
			return true
		}
	}
	return false
}

// recorderStop is when the recorder is stopped behind all work: its buffers are no part of the
// program. The end of time without one.
func (a *Analysis) recorderStop(d *Device) int64 {
	works := a.works.members(d.Index)
	last := a.t.Device.Start[works[len(works)-1]]
	f := &a.t.Frames
	for i := sort.Search(len(f.Start), func(i int) bool { return f.Start[i] > last }); i < len(f.Start); i++ {
		if a.owns(d, f.Thread[i]) && recording.RecorderFrame(a.t.Names[f.Name[i]]) {
			end := f.Start[i]
			for _, w := range works {
				end = max(end, a.t.Device.End[w])
			}
			return end
		}
	}
	return math.MaxInt64
}

// cutEdge takes the gap before the first work off a recording that no mark bounds, if it belongs to
// the program's start or the rest is most of it. It is one gap at the recorder's edge, and it is unknown whether it
// comes again. If it is more, the recording is mostly about that gap.
func (a *Analysis) cutEdge(d *Device) {
	works := a.works.members(d.Index)
	lead := a.t.Device.Start[works[0]] - d.From
	window := d.To - d.From
	long := window-lead >= judgedAlone
	seen := d.Start > 0 && (long || len(works) >= judgedWorks) // the program's beginning: it comes once
	short := lead < longGap && edgeShare*lead < window
	// What ran before the recorder began is in no file, and what was queued behind it began late.
	held := d.Start == 0 && (a.queuesUp(works) || lead >= longGap && a.awaitsEarlier(d, works[0], lead))
	early := held || a.isQueued(works[0], d.From+lead/queuedEarly, lead)
	queued := (held || long || len(works) >= fewAtStart) && !short && early
	if !queued && (!a.isUnbounded(d) || short || edgeParts*lead > window && !seen) {
		return
	}
	d.Edge, d.Earlier = lead, d.Start == 0 && lead >= longGap && early
	if call := a.t.Device.Call[works[0]]; d.Earlier && call >= 0 {
		d.Queued = a.t.Device.Start[works[0]] - max(d.From, a.t.Host.Start[call])
	}
	d.From += lead
}

// judgedAlone is how long the device has to be used for a program to be judged without its beginning,
// however long that was, nanoseconds. [J] What takes less is mostly a program's start.
const judgedAlone = 100_000_000

// judgedWorks is how many kernels and copies do the same for a program that is done sooner. [J] A program
// that only starts launches tens of them, one pass of a large network some hundreds.
const judgedWorks = 1000

// queuedEarly is the part of the first gap in which its work was launched if it then waited for work from before
// the recording. [J]
const queuedEarly = 10

// isQueued reports whether the call that launched some work had returned at an instant, or was inside a copy that
// waited for the stream for most of some lead.
func (a *Analysis) isQueued(work int32, at, lead int64) bool {
	call := a.t.Device.Call[work]
	return call >= 0 && (a.t.Host.End[call] <= at || a.waitsInCopy(work, lead))
}

// queuesUp reports whether a device's first work did not start for long after the call that launched it had returned,
// while the host launched more behind it: something before the recording held the device.
func (a *Analysis) queuesUp(works []int32) bool {
	first := a.t.Device.Start[works[0]]
	if call := a.t.Device.Call[works[0]]; call < 0 || first-a.t.Host.End[call] < longHeld {
		return false
	}
	behind := 0
	for _, work := range works {
		if call := a.t.Device.Call[work]; call >= 0 && a.t.Host.End[call] <= first {
			behind++
		}
	}
	return behind >= farAhead
}

// awaitsEarlier reports whether the host waited for the device for most of a lead behind the call that launched some
// work, before that began: it waited for work from before the recording.
func (a *Analysis) awaitsEarlier(d *Device, work int32, lead int64) bool {
	call, start := a.t.Device.Call[work], a.t.Device.Start[work]
	if call < 0 {
		return false
	}
	h, waited := &a.t.Host, int64(0)
	for _, i := range a.callsBetween(d, h.End[call], start) {
		if h.Thread[i] == h.Thread[call] && h.Kind[i] == recording.Runtime &&
			a.causeRow(uint8(recording.Runtime), h.Name[i]) == rowSync {
			waited += min(start, h.End[i]) - h.Start[i]
		}
	}
	return 2*waited > lead
}

// What a host that runs ahead of a busy device has launched before the first work starts, and how long that waits. [J]
// A host that only starts waits for the first of them.
const (
	farAhead = 50
	longHeld = 1_000_000 // nanoseconds
)

// waitsInCopy reports whether the call that copies something waited for the stream for most of some time.
func (a *Analysis) waitsInCopy(work int32, time int64) bool {
	call, h := a.t.Device.Call[work], &a.t.Host
	return call >= 0 && h.Kind[call] == recording.Runtime && 2*(a.t.Device.Start[work]-h.Start[call]) > time &&
		a.causeRow(uint8(recording.Runtime), h.Name[call]) == rowCopies
}

// edgeParts is how many times as long as its first gap a recording is at least, for that
// gap to be no evidence. [J] Gpu-bound begins with three quarters of the window.
const edgeParts = 4

// edgeShare is the part of a recording from which a short gap at its edge matters. [J]
const edgeShare = 20

// isUnbounded reports whether a process has one step at most, from its first event on and
// bounded by no mark.
func (a *Analysis) isUnbounded(d *Device) bool {
	if d.Process < 0 || len(a.Processes[d.Process].steps) == 0 {
		return true
	}
	p, h := &a.Processes[d.Process], &a.t.Host
	if len(p.steps) > 1 {
		return false
	}
	first := p.End // of work that is not the recorder's
	for _, i := range a.callsOf(d) {
		if h.Kind[i] != recording.Profiling {
			first = h.Start[i]
			break
		}
	}
	if p.steps[0].from > first {
		return false
	}
	for _, i := range a.callsOf(d) {
		if h.Kind[i] == recording.Annotation && h.Start[i] <= p.steps[0].from && h.End[i] >= p.steps[0].to {
			return false
		}
	}
	return true
}

// deviceCalls are when a process first calls the runtime and when it last asks it for
// something, and whether a call before its first work sets something up.
func (a *Analysis) deviceCalls(d *Device) (begin, end int64, setsUp bool) {
	h := &a.t.Host
	first := a.t.Device.Start[a.works.members(d.Index)[0]]
	seen, opens := false, false
	for _, i := range a.callsOf(d) {
		if h.Kind[i] != recording.Runtime {
			continue
		}
		name := a.t.Names[h.Name[i]]
		if !seen || opens { // the context is made between the driver's first call and the next
			opens = firstCall(name)
			begin, seen, setsUp = h.Start[i], true, setsUp || opens
		}
		if !releases(name) {
			end = max(end, h.End[i])
		}
		if h.Start[i] < first && h.End[i]-h.Start[i] >= setUp {
			switch a.causeRow(uint8(recording.Runtime), h.Name[i]) {
			case rowAllocates, rowRuntime:
				setsUp = true
			}
		}
	}
	return begin, end, setsUp
}

// contextMade returns when the program's first long call ended, which creates the context;
// 0 without one. Its name does not matter. works is when the first device work began.
func (a *Analysis) contextMade(d *Device) (made, works int64) {
	h := &a.t.Host
	first := a.t.Device.Start[a.works.members(d.Index)[0]]
	for _, i := range a.callsOf(d) {
		if h.Kind[i] != recording.Runtime {
			continue
		}
		if h.Start[i] >= first || a.causeRow(uint8(recording.Runtime), h.Name[i]) == rowSync {
			break
		}
		work := a.works.members(d.Index)[0]
		if a.t.Device.Call[work] == i && a.waitsInCopy(work, h.End[i]-h.Start[i]) {
			break // the memory that it copies to was allocated in a context
		}
		if h.End[i]-h.Start[i] >= setUp {
			return min(h.End[i], first), first
		}
	}
	return 0, first
}

// Runs reports whether marks tell that steps of a device's process went before the recording.
func (a *Analysis) Runs(d *Device) bool { return d.Process >= 0 && a.Processes[d.Process].runs }

// Owns reports whether a thread is of a device's process.
func (a *Analysis) Owns(d *Device, thread int32) bool { return a.owns(d, thread) }

// owns reports whether a thread is of a device's process.
func (a *Analysis) owns(d *Device, thread int32) bool {
	return d.Process < 0 || a.of[thread] == int32(d.Process)
}

// unloads reports whether a device's process ends after an instant: it gives its modules
// or its context back.
func (a *Analysis) unloads(d *Device, after int64) bool {
	h := &a.t.Host
	for _, i := range a.callsBetween(d, after, math.MaxInt64) {
		if h.Kind[i] == recording.Runtime &&
			recording.ContainsAny(a.t.Names[h.Name[i]], "Unload", "CtxDestroy", "CtxRelease", "CtxReset",
				"DeviceReset") {
			return true
		}
	}
	return false
}

// firstCall reports whether a call of the driver is one that a program makes once, before
// all others.
func firstCall(name string) bool {
	call, ok := recording.RuntimeCall(name)
	return ok && (strings.HasPrefix(call, "Init") || strings.HasPrefix(call, "ModuleGetLoadingMode"))
}

// releases reports whether a call of the runtime gives something back.
func releases(name string) bool {
	call, ok := recording.RuntimeCall(name)
	return ok && recording.ContainsAny(call, "Free", "Destroy", "Unload", "Release", "Unmap", "Unregister", "Reset")
}
