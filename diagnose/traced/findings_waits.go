package traced

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
)

func (t *filler) findHiddenSync() (diagnose.Finding, bool) {
	return t.findSyncs(diagnose.FindingHiddenSync, t.waits.Hidden.Count, t.waits.Hidden.Time, t.waits.Hidden.Most)
}

func (t *filler) findExplicitSync() (diagnose.Finding, bool) {
	return t.findSyncs(diagnose.FindingExplicitSync, t.waits.Explicit.Count, t.waits.Explicit.Time,
		t.waits.Explicit.Most)
}

// findSyncs: waiting while the device works costs nothing in itself; the idle time
// that follows does.
func (t *filler) findSyncs(name string, count int, held int64, most idle.HostWait) (diagnose.Finding, bool) {
	after := t.d.AfterSync[0]
	if name == diagnose.FindingExplicitSync {
		after = t.d.AfterSync[1]
	}
	if count == 0 || t.d.Share(held) < diagnose.HeldTrigger && t.d.Share(after) < diagnose.WaitTrigger {
		return diagnose.Finding{}, false
	}
	h := &t.t.Host
	f := diagnose.NewFinding(name)
	t.locate(&f, h.Thread[most.Call], h.Start[most.Call], h.End[most.Call])
	t.weigh(&f, after)
	f.Saves = diagnose.LostToWaits(f.Saves, t.d.Share(held))
	call := t.t.Names[h.Name[most.Call]]
	under := ""
	if most.Op >= 0 {
		under = " under " + t.t.Names[h.Name[most.Op]]
	}
	longest, them := fmt.Sprintf("the longest %s ", quantity.AboutSeconds(toSeconds(most.To-most.From))), "them"
	if count == 1 {
		longest, them = "", "it"
	}
	f.Text = fmt.Sprintf("%d wait%s for the device hold%s the host %s (%s of the window), %sin %s%s, and %s of idle "+
		"time follow %s",
		count, quantity.Ending(count, "", "s"), quantity.Ending(count, "s", ""), quantity.AboutSeconds(toSeconds(held)),
		quantity.Percent(t.d.Share(held)), longest, call, under, quantity.AboutSeconds(toSeconds(after)), them)
	if t.d.Share(after) < diagnose.WaitTrigger {
		f.Text += ": it costs little here, but it stops the host from running ahead"
	}
	if name == diagnose.FindingHiddenSync {
		f.Advice = t.grounds.SyncAdvice()
	} else {
		f.Advice = "take torch.cuda.synchronize() (or the library's call) out of the step. To time a step, use " +
			"CUDA events and read them later"
	}
	return f, true
}

func (t *filler) findDeviceWaits() (diagnose.Finding, bool) {
	ns, share := t.shareOfCauses(idle.DeviceWait)
	if share < queuedTrigger || t.oneRun { // a timeline has no launches: when work was queued is not known
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingDeviceWait)
	t.weigh(&f, ns)
	t.locateCause(&f, idle.DeviceWait)
	f.Text = fmt.Sprintf("work that is already queued waits %s of the window for another stream, an event, another "+
		"device, or work from before the recording", quantity.Percent(share))
	f.Advice = "look for cudaStreamWaitEvent and record_stream() before the place. Work that needs no order " +
		"belongs on streams without events between them"
	switch {
	case t.lost > 0:
		f.Text = fmt.Sprintf("work that is already queued waits %s of the window as far as the file tells: %s of the "+
			"device's work has no right time in it, and may have run then", quantity.Percent(share),
			quantity.Percent(t.lost))
		f.Advice = "record again before anything is made of it"
		f.Saves = math.NaN()
	case t.beginsWaiting():
		f.Text = fmt.Sprintf("work that is already queued waits %s of the window, most of it as the recording "+
			"begins: what was launched before the recorder began may have run meanwhile",
			quantity.Percent(share))
		f.Advice = "nothing about the program: record later, or more steps"
		f.Saves = math.NaN()
	case t.isWithinLaunch(t.d.Places[idle.DeviceWait].Slice.Next):
		f.Text = fmt.Sprintf("kernels that one call launched, as a graph does, wait %s of the window for each other",
			quantity.Percent(share))
		f.Advice = "what a graph's kernels wait for is set when it is captured: fewer and larger kernels in it " +
			"(fusion), or branches of it on streams of their own"
	case t.hasOneStream():
		f.Text = fmt.Sprintf("work that is already queued waits %s of the window though it is the only stream of "+
			"the recording and waits for no event: the file does not tell why", quantity.Percent(share))
		f.Advice = sharedAdvice
	case t.waitsOnIdle():
		f.Text = fmt.Sprintf("work that is already queued waits %s of the window, most of it for long, while no stream "+
			"has any work on the device: the file does not tell why", quantity.Percent(share))
		f.Advice = sharedAdvice
	}
	return f, true
}

// sharedAdvice is what to do about work that waits on an idle device.
const sharedAdvice = "see whether other processes use the device (nvidia-smi, MPS, a second container), and whether the " +
	"file holds all of its work"

// beginsWaiting reports whether most of the time in which queued work does not start is before the first kernel.
func (t *filler) beginsWaiting() bool {
	p := t.d.Places[idle.DeviceWait]
	early := t.isFirst(p) || p.Time > 0 && p.From-t.t.Start <= earlyWait
	return early && 2*p.Time > t.d.Causes[idle.DeviceWait]
}

// earlyWait is how long behind a recording's begin a wait is one for what was launched before, nanoseconds. [J] A
// kernel or two start meanwhile on a device that computes for somebody's other stream.
const earlyWait = 1_000_000

// waitsForOutside reports whether queued work is delayed by something outside of the program's streams.
func (t *filler) waitsForOutside() bool {
	return t.lost > 0 || t.hasOneStream() || t.beginsWaiting() || t.waitsOnIdle()
}

// longWait is the length from which no event of a stream explains that queued work does not start on an idle
// device, nanoseconds. [J] As a launch that is under way.
const longWait = 100_000

// waitsOnIdle reports whether most of the waiting of queued work is in long times in which the only device of the file
// has nothing to do.
func (t *filler) waitsOnIdle() bool {
	for _, device := range t.t.Device.Device {
		if device != t.d.Index {
			return false
		}
	}
	long := int64(0)
	for s := range t.all.Slices(t.d, t.d.From, t.d.To) {
		if s.Cause == idle.DeviceWait && s.To-s.From >= longWait {
			long += s.To - s.From
		}
	}
	return 2*long > t.d.Causes[idle.DeviceWait]
}

// isWithinLaunch reports whether a piece of work is not the first that its call launched.
func (t *filler) isWithinLaunch(work int32) bool {
	d := &t.t.Device
	if work < 0 || d.Call[work] < 0 {
		return false
	}
	for i := work - 1; i >= 0 && d.End[i] >= t.d.From; i-- {
		if d.Call[i] == d.Call[work] {
			return true
		}
	}
	return false
}

// hasOneStream reports whether the judged device worked on one stream alone, no other device
// worked, and nothing waited for an event.
func (t *filler) hasOneStream() bool {
	d := &t.t.Device
	for i := range d.Start {
		if d.Device[i] != d.Device[0] || d.Stream[i] != d.Stream[0] {
			return false
		}
	}
	return !slices.ContainsFunc(t.t.Names, func(name string) bool { return strings.Contains(name, "StreamWaitEvent") })
}
