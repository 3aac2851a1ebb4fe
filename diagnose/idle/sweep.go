package idle

import (
	"iter"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Limits on the way from launch to start. Nanoseconds.
const (
	latency  = 10_000  // between two queued pieces of work, beyond it something else held the device [J]
	underWay = 100_000 // [J] from the return of a launch to its work's start on an idle device
	// [J] a runtime call other than a launch, copy or synchronisation that lasts this long sets something up
	setUp     = 1_000_000
	firstTime = 500_000 // [J] a kernel's first launch that lasts this long loads its module
)

// What counts where several pieces of work run at once, the first of these.
const (
	kernelLevel   = iota
	crossingLevel // copies over the host's link
	copyLevel     // other copies, and sets
	exchangeLevel
	levels
)

// cover adds up what ran in a window: kernels wherever one runs, copies where no
// kernel does, collectives where neither does, idle the rest.
func (a *Analysis) cover(d *Device) {
	var total [levels]int64
	d.Works, d.Fills = a.levels(d, func(level int, from, to int64) { total[level] += to - from })
	d.Kernel, d.Copy, d.Crossing, d.Communication = apart(total)
	d.Idle = d.To - d.From - d.Busy()
}

// apart takes totals of levels, each of which holds those before it, from each other.
func apart(total [levels]int64) (kernel, copied, crossing, communication int64) {
	return total[kernelLevel], total[copyLevel] - total[kernelLevel], total[crossingLevel] - total[kernelLevel],
		total[exchangeLevel] - total[copyLevel]
}

// levels hands on, for each level, the times of a device's window in which work of it or
// of one before it runs, each once. It counts the work that starts in the window.
func (a *Analysis) levels(d *Device, add func(level int, from, to int64)) (works int, fills bool) {
	moved := map[recording.WorkKind]int64{}
	w := &a.t.Device
	var end [levels]int64
	for level := range end {
		end[level] = d.From
	}
	for _, i := range a.works.members(d.Index) {
		if w.Start[i] >= d.To {
			break
		}
		if w.Start[i] >= d.From {
			works++
			moved[w.Kind[i]] += w.End[i] - w.Start[i]
		}
		level := kernelLevel
		switch {
		case a.IsCollective(i):
			level = exchangeLevel
		case a.crosses(i):
			level = crossingLevel
		case w.Kind[i] != recording.Kernel:
			level = copyLevel
		}
		to := min(w.End[i], d.To)
		for ; level < levels; level++ {
			if from := max(w.Start[i], end[level]); to > from {
				add(level, from, to)
				end[level] = to
			}
		}
	}
	return works, fillsMost*moved[recording.Copy] < moved[recording.Set]
}

// fillsMost is how many times the copies' time sets take at least, for nearly all of it to be theirs. [J]
const fillsMost = 10

// crosses reports whether work is a copy over the link between host and device.
func (a *Analysis) crosses(work int32) bool {
	if a.t.Device.Kind[work] != recording.Copy {
		return false
	}
	name := a.t.Names[a.t.Device.Name[work]]
	return recording.ToDevice(name) || recording.ToHost(name)
}

// migrates reports whether work is a page of managed memory that moves.
func (a *Analysis) migrates(work int32) bool {
	return a.t.Device.Kind[work] == recording.Copy && recording.Migrates(a.t.Names[a.t.Device.Name[work]])
}

// Slices are the gaps of a device between two instants, cut by cause, in order.
// They are computed while they are asked for.
func (a *Analysis) Slices(d *Device, from, to int64) iter.Seq[Slice] {
	return func(yield func(Slice) bool) {
		s := &gapSweep{
			a: a, d: d, from: from, to: to, yield: yield, main: -1, waits: -1,
			cursors: make([]*cursor, len(a.t.Threads)),
		}
		if d.Process >= 0 {
			s.main, s.waits = a.Processes[d.Process].Main, a.Processes[d.Process].Waits
		}
		s.launcher = s.main
		s.sweepGaps()
	}
}

// gapSweep goes over a device's gaps once, and at the same time over each host thread.
type gapSweep struct {
	a        *Analysis
	d        *Device
	from, to int64
	main     int32
	waits    int32
	launcher int32 // the thread that launched last, else main
	cursors  []*cursor
	yield    func(Slice) bool
	stopped  bool
	pending  Slice // grows while the cause stays the same
	gap      [2]int64
	setsUp   bool // the gap holds a call that sets something up
	compiles bool // the gap ends with the first run of a kernel that is compiled for it
	busy     bool // the device may work meanwhile: the slice is no gap
	prev     int32
	next     int32
}

func (s *gapSweep) sweepGaps() {
	w := &s.a.t.Device
	end, prev := s.from, int32(-1)
	for _, i := range s.a.works.members(s.d.Index) {
		if s.stopped || end >= s.to {
			break
		}
		if call := w.Call[i]; call >= 0 {
			s.launcher = s.a.t.Host.Thread[call]
		}
		if w.Start[i] > end {
			s.charge(end, w.Start[i], prev, i)
		}
		if w.End[i] > end {
			end, prev = w.End[i], i
		}
	}
	if end < s.to && !s.stopped {
		s.charge(end, s.to, prev, -1)
	}
	s.flush()
}

// charge cuts one gap by cause.
func (s *gapSweep) charge(from, to int64, prev, next int32) {
	s.flush()
	s.gap, s.prev, s.next = [2]int64{from, to}, prev, next
	s.setsUp = to-from >= longGap && s.loadsCode(from, to)
	s.compiles = to-from >= longGap && next >= 0 && s.a.opens[next] &&
		recording.ScriptKernel(s.a.t.Names[s.a.t.Device.Name[next]])
	to = min(to, s.to)
	call := int32(-1)
	if next >= 0 {
		call = s.a.t.Device.Call[next]
	}
	switch {
	case next < 0 && s.main < 0:
		s.emit(Slice{From: from, To: to, Cause: Unrecorded, Thread: -1, Call: -1, Frame: -1})
	case next < 0: // nothing was launched any more
		s.cut(s.main, from, to)
	case call < 0 && s.launcher >= 0 && s.a.migrates(next):
		s.cut(s.launcher, from, to) // nothing launches it: whoever touches the page does
	case call < 0:
		s.cutUnlinked(from, to)
	default:
		h := &s.a.t.Host
		start, end := h.Start[call], h.End[call]
		if start > from {
			s.cut(h.Thread[call], from, min(start, to))
		}
		s.launch(call, max(from, start), min(to, end))
		s.queued(call, max(from, start, end), to)
	}
}

// cutUnlinked charges a gap whose launch is not known. While the loop is inside its loader it
// launches nothing, whichever call came behind that. The rest may be anybody's.
func (s *gapSweep) cutUnlinked(from, to int64) {
	for from < to && !s.stopped {
		piece, next := Slice{From: from, To: to, Cause: Unlinked, Thread: -1, Call: -1, Frame: -1}, to
		for _, thread := range []int32{s.main, s.waits} {
			if thread < 0 {
				continue
			}
			doing, until := s.cursorOf(thread).findSlice(from, next)
			if next = until; doing.Cause == DataLoader {
				piece = doing
				break
			}
		}
		piece.To = next
		s.emit(piece)
		from = next
	}
}

// launch charges the time within the launching call.
func (s *gapSweep) launch(call int32, from, to int64) {
	if from >= to {
		return
	}
	h := &s.a.t.Host
	cause := Launch
	switch next := s.next; {
	case h.Kind[call] == recording.Op && recording.LoaderSpan(s.a.t.Names[h.Name[call]]):
		cause = DataLoader // a batch that is copied as soon as it is there
	case h.Kind[call] == recording.Op: // of whose calls none was recorded
		cause = CPUOp
	case s.makesContext(call):
		cause = WarmUp
	case s.a.crosses(next):
		cause = CopyIssue
	case s.isFirst(call, next):
		cause = WarmUp
	}
	s.emit(Slice{From: from, To: to, Cause: cause, Thread: h.Thread[call], Call: call, Frame: -1})
}

// queued charges the time after the launching call returned.
func (s *gapSweep) queued(call int32, from, to int64) {
	if from >= to {
		return
	}
	on := Slice{From: from, To: to, Thread: -1, Call: call, Frame: -1}
	late := from > s.gap[0] // the device was idle before the work was queued
	switch {
	case late && to-from <= underWay:
		on.Cause = Launch
		if s.a.crosses(s.next) {
			on.Cause = CopyIssue
		}
	case to-from <= latency && !late:
		on.Cause = DeviceLatency
	case to-from <= underWay && (s.a.IsCollective(s.next) || s.prev >= 0 && s.a.IsCollective(s.prev)):
		on.Cause = Communication // other ranks hold up a collective's end, not its start
	default:
		on.Cause = DeviceWait
	}
	s.emit(on)
}

// cut charges what a host thread did. Where a thread other than the main one did
// nothing that was recorded, such as autograd's between two passes, what the main
// thread did counts; before that, TensorFlow's wait for a batch, which is on a
// separate thread while the executor's has nothing to launch.
func (s *gapSweep) cut(thread int32, from, to int64) {
	c := s.cursorOf(thread)
	for t := from; t < to && !s.stopped; {
		piece, next := c.findSlice(t, to)
		if piece.Cause == Unrecorded && thread != s.main && s.main >= 0 {
			m := s.cursorOf(s.main)
			for t < next {
				until := next
				if s.waits >= 0 && s.waits != thread {
					var wait Slice
					if wait, until = s.cursorOf(s.waits).findSlice(t, next); wait.Cause == DataLoader {
						s.emit(wait)
						t = until
						continue
					}
				}
				other, end := m.findSlice(t, until)
				s.emit(s.refine(other))
				t = end
			}
			continue
		}
		s.emit(s.refine(piece))
		t = next
	}
}

// refine checks calls of the runtime a second time: a copy towards the host is a wait
// for the device, and a long call that neither launches nor copies nor synchronises sets
// something up.
func (s *gapSweep) refine(p Slice) Slice {
	if p.Call < 0 {
		return p
	}
	h := &s.a.t.Host
	if h.Kind[p.Call] != recording.Runtime {
		if s.asksDriver(p.Call) {
			p.Cause = WarmUp
		}
		return p
	}
	switch s.a.causeRow(uint8(recording.Runtime), h.Name[p.Call]) {
	case rowAllocates:
		if s.makesContext(p.Call) {
			p.Cause = WarmUp
		}
	case rowCopies:
		switch first := s.a.first[p.Call]; {
		case s.makesContext(p.Call):
			p.Cause = WarmUp
		case s.a.toHost(p.Call):
			p.Cause = Sync
		case first >= 0 && !s.a.crosses(first):
			p.Cause = Launch // a copy within the device is work like any other
		}
	case rowLaunches:
		if first := s.a.first[p.Call]; first >= 0 && s.isFirst(p.Call, first) && !s.fillsQueue(p.Call) {
			p.Cause = WarmUp
		}
	case rowRuntime:
		if h.End[p.Call]-h.Start[p.Call] >= setUp && !s.fillsQueue(p.Call) {
			p.Cause = WarmUp
		}
	}
	return p
}

// loadsCode reports whether a library or a module of kernels is loaded within a gap, or, in a file that shows no
// steps, another call takes as long as that. Most of it is no call of the runtime: files are read and linked.
func (s *gapSweep) loadsCode(from, to int64) bool {
	h := &s.a.t.Host
	for _, i := range s.a.callsBetween(s.d, from, to) {
		if h.Kind[i] != recording.Runtime || h.End[i]-h.Start[i] < setUp {
			continue
		}
		name := s.a.t.Names[h.Name[i]]
		if recording.ContainsAny(name, "LibraryLoad", "ModuleLoad") || s.d.Seen <= 1 && s.a.framed &&
			(recording.AllocatesMemory(name) || recording.LaunchesWork(name)) {
			return true
		}
	}
	return false
}

// isFirst reports whether a launch loads its kernel: it takes long, and its kernel is the first of its name, or
// the file shows no steps. On an idle device no full queue makes it wait.
func (s *gapSweep) isFirst(call, work int32) bool {
	name := s.a.t.Names[s.a.t.Host.Name[call]]
	if recording.ExecutesOperator(name) || s.d.Earlier && recording.LaunchesGraph(name) { // captured before
		return false
	}
	length := s.a.t.Host.End[call] - s.a.t.Host.Start[call]
	return length >= firstTime && s.a.opens[work] || length >= setUp && s.d.Seen <= 1 && s.a.framed
}

// fillsQueue reports whether a call that is looked at beside a busy device was long because the queue was full: its
// work starts later behind its return than it took.
func (s *gapSweep) fillsQueue(call int32) bool {
	h, first := &s.a.t.Host, s.a.first[call]
	return s.busy && first >= 0 && s.a.t.Device.Start[first]-h.End[call] >= h.End[call]-h.Start[call]
}

// makesContext reports whether a call is a long one before a device's first work, which it may launch at its end. The
// runtime makes the context in the first call that needs one, of any name.
func (s *gapSweep) makesContext(call int32) bool {
	h, end := &s.a.t.Host, s.a.t.Host.End[call]
	if first := s.a.first[call]; first >= 0 {
		end = min(end, s.a.t.Device.Start[first])
	}
	return s.next == s.a.works.members(s.d.Index)[0] && end-h.Start[call] >= setUp
}

// asksDriver reports whether a call asks the driver of a device for something before a device's first work: most of
// what makes a context passes there, behind calls of the runtime and between them.
func (s *gapSweep) asksDriver(call int32) bool {
	return s.a.t.Host.Kind[call] == recording.Annotation && s.a.t.Names[s.a.t.Host.Name[call]] == "ioctl" &&
		s.next == s.a.works.members(s.d.Index)[0]
}

// A first call of an operator, which looks for the kernel that it then launches for the first time, takes so much
// longer than most calls of it. [J]
const (
	firstTimes = 10
	fewCalls   = 5 // from which a median tells what is usual
)

// callsFirst reports whether an operator's own time is such a first call's: cuDNN's, for one, which chooses a kernel
// for each shape that it meets.
func (s *gapSweep) callsFirst(p Slice) bool {
	if p.Cause != CPUOp || p.Call < 0 || s.next < 0 || !s.a.opens[s.next] || p.To-p.From < firstTime {
		return false
	}
	h, name := &s.a.t.Host, s.a.t.Host.Name[p.Call]
	usual := s.a.usualLength(name)
	if usual == 0 && s.d.Seen <= 1 && recording.ChoosesKernel(s.a.t.Names[name]) {
		return true // if there are few calls, all of them may be first ones
	}
	return usual > 0 && h.End[p.Call]-h.Start[p.Call] >= firstTimes*usual
}

// usualLength is the median length of a name's host calls; 0 of a few.
func (a *Analysis) usualLength(name int32) int64 {
	h := &a.t.Host
	if a.usual == nil {
		a.named, a.usual = groupBy(h.Name, len(a.t.Names)), make([]int64, len(a.t.Names))
	}
	same := a.named.members(name)
	if len(same) < fewCalls || a.usual[name] > 0 {
		return a.usual[name]
	}
	lengths := make([]int64, len(same))
	for i, call := range same {
		lengths[i] = h.End[call] - h.Start[call]
	}
	slices.Sort(lengths)
	a.usual[name] = max(1, lengths[len(lengths)/2])
	return a.usual[name]
}

// toHost reports whether a copying call brought something from the device.
func (a *Analysis) toHost(call int32) bool {
	work := a.first[call]
	if work < 0 {
		return strings.Contains(a.t.Names[a.t.Host.Name[call]], "DtoH")
	}
	return recording.ToHost(a.t.Names[a.t.Device.Name[work]])
}

// emit hands a slice on, once its cause or its call changes. In a trace of a
// program's start, allocation is part of the start.
func (s *gapSweep) emit(p Slice) {
	compiles := s.compiles && (p.Cause == CPUOp || p.Cause == Python || p.Cause == Unrecorded)
	if s.d.StartUp && p.Cause == Allocator || s.setsUp && p.Cause == Unrecorded || compiles || s.callsFirst(p) {
		p.Around = p.Cause == Unrecorded && !compiles
		p.Cause, p.Compiles = WarmUp, compiles
	}
	if s.a.computes(p) {
		p.Cause = HostCode
	}
	last := &s.pending
	if last.To == p.From && last.From < last.To && last.Cause == p.Cause && last.Call == p.Call &&
		last.Thread == p.Thread && (p.Call >= 0 || last.Frame == p.Frame) {
		last.To = p.To
		return
	}
	s.flush()
	p.Next, p.Gap = s.next, s.gap
	p.Touch = s.next >= 0 && s.a.t.Device.Call[s.next] < 0 && s.a.migrates(s.next)
	s.pending = p
}

func (s *gapSweep) flush() {
	if s.pending.From < s.pending.To && !s.stopped {
		s.stopped = !s.yield(s.pending)
	}
	s.pending = Slice{}
}

func (s *gapSweep) cursorOf(thread int32) *cursor {
	if s.cursors[thread] == nil {
		s.cursors[thread] = &cursor{
			a: s.a, thread: thread, calls: s.a.calls.members(thread),
			frames: s.a.frames.members(thread),
		}
	}
	return s.cursors[thread]
}
