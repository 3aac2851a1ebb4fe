package traced

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Triggers for copies, shares of the window.
const (
	linkTrigger = 0.30
	linkReached = 0.7 // of the link's rate
)

func (t *filler) findPageableCopies() (diagnose.Finding, bool) {
	p := t.copies.Pageable
	if p.Count == 0 {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingPageableCopies)
	t.weigh(&f, p.Alone)
	f.Saves = t.parts.Copies // with what the host takes to issue them
	t.locateWork(&f, p.Largest)
	size := ""
	if p.Bytes > 0 {
		size = fmt.Sprintf(", %s in all at %s, the largest %s", quantity.AboutBytes(float64(p.Bytes)),
			quantity.AboutRate(p.Rate()), quantity.AboutBytes(float64(t.t.Device.Bytes[p.Largest])))
	}
	f.Text = fmt.Sprintf("%s from pageable memory%s%s: %s, and %s of %s pass while no kernel runs",
		printCopies(float64(p.Count)/t.countSteps()), strings.Replace(t.sayPerStep(), "per", "in a", 1), size,
		t.grounds.Staging("the CPU stages them, the launching thread waits"), quantity.AboutSeconds(toSeconds(p.Alone)),
		quantity.AboutSeconds(toSeconds(p.Time)))
	f.Settings = []stoker.Change{
		diagnose.ProposeChange(stoker.PinMemory, nil, true),
		diagnose.ProposeChange(stoker.NonBlocking, nil, true),
	}
	f.Advice = t.grounds.PinAdvice()
	return f, true
}

// printCopies prints how many there are and the verb.
func printCopies(n float64) string {
	if n == 1 {
		return "1 copy comes"
	}
	return printCount(n) + " copies come"
}

// printCount prints a mean of counts, with one decimal unless it is a whole number.
func printCount(n float64) string {
	if n == math.Trunc(n) {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

func (t *filler) findSerialCopies() (diagnose.Finding, bool) {
	alone := t.copies.ToDevice.Alone - t.copies.Pageable.Alone - t.copies.Migrated.Alone
	if t.d.Share(alone) < diagnose.SerialTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingSerialCopies)
	t.weigh(&f, alone)
	t.locateWork(&f, t.copies.ToDevice.Largest)
	f.Text = fmt.Sprintf("copies to the device run while no kernel does, %s of the window: the next batch could "+
		"cross the link while this one is computed", quantity.Percent(t.d.Share(alone)))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.NonBlocking, nil, true)}
	f.Advice = "copy the next batch on a stream of its own while this one is computed: with " +
		"torch.cuda.stream(side): next = batch.to(device, non_blocking=True), " +
		"torch.cuda.current_stream().wait_stream(side) before its use"
	return f, true
}

func (t *filler) findDeviceCopies() (diagnose.Finding, bool) {
	in := t.copies.Within
	if t.d.Share(in.Alone) < diagnose.SerialTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingDeviceCopies)
	t.weigh(&f, in.Alone)
	t.locateWork(&f, in.Largest)
	f.Text = fmt.Sprintf("copies within the device take %s of the window, %s%s: they cross no link, and "+
		"move what is on the device already",
		quantity.Percent(t.d.Share(in.Alone)), printCount(float64(in.Count)/t.countSteps()), t.sayPerStep())
	f.Advice = "look for .contiguous(), .clone(), cat and index_copy_ around the place: write results at once to the " +
		"place that needs them (out=, a slice of a buffer made once)"
	return f, true
}

func (t *filler) findTinyCopies() (diagnose.Finding, bool) {
	tiny := t.copies.Tiny
	count := tiny.Count
	if diagnose.IsBare(t.grounds.Framework) { // a copy behind a kernel may bring what that kernel's results led to
		count = t.copies.Joint
	}
	if float64(count) < diagnose.TinyPerStep*t.countSteps() {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingTinyCopies)
	t.weigh(&f, t.d.BeforeTiny+tiny.Alone)
	t.locateWork(&f, tiny.Largest)
	f.Text = fmt.Sprintf("%.0f copies below 64 KiB%s go to the device, %s in the mean: each costs a call "+
		"and a launch, not bytes: %s of the window pass before and in them",
		float64(tiny.Count)/t.countSteps(), t.sayPerStep(),
		quantity.AboutBytes(float64(tiny.Bytes)/float64(max(1, tiny.Count))),
		quantity.Percent(f.Share))
	f.Advice = diagnose.TinyCopiesAdvice
	return f, true
}

// fillsLink reports whether copies to the device are as fast as its link is.
func (t *filler) fillsLink() bool {
	link, known := hardware.FindLink(hardware.MachineOf(t.gpu.Name).Link.Name)
	return known && t.copies.ToDevice.Rate() >= linkReached*link.Pinned.Value
}

// nearlyAll is the part of the copies' time from which all are of one kind, and of the window from which
// copies leave no time in which other work could gain. [J]
const nearlyAll = 0.9

// findTraffic is what the copies over the link show.
func (t *filler) findTraffic() diagnose.Traffic {
	down, up, pinned := t.copies.ToDevice, t.copies.ToHost, t.copies.Pinned
	fast := pinned.Count > 0 && float64(pinned.Time) >= nearlyAll*float64(down.Time)
	return diagnose.Traffic{
		Few: fewCopies(down.Count + up.Count), Back: up.Alone > down.Alone,
		Full:   t.fillsLink() || fast && t.d.Share(down.Time) >= nearlyAll,
		Pinned: fast, Read: t.readsResults(), Alone: t.d.Share(down.Alone+up.Alone) >= nearlyAll,
	}
}

// mostFew is the number of copies up to which none of them is one of a series that could be copied ahead. [J]
const mostFew = 4

func fewCopies(n int) int {
	if n > mostFew {
		return 0
	}
	return n
}

// syncsPerRead is the number of synchronising calls for each copy to the host up to which they are taken to be for
// that copy. [J]
const syncsPerRead = 2

// readsResults reports whether the host seems to read results after its synchronising calls.
func (t *filler) readsResults() bool {
	waits, reads := t.waits.Hidden.Count+t.waits.Explicit.Count, t.copies.ToHost.Count
	return reads > 0 && waits <= syncsPerRead*reads || slices.ContainsFunc(t.t.Names, func(name string) bool {
		return recording.SharesMemory(name) || recording.Migrates(name)
	})
}

func (t *filler) findLinkLimited() (diagnose.Finding, bool) {
	down := t.copies.ToDevice
	if !t.fillsLink() || t.d.Share(down.Alone) < linkTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingPCIeLimited)
	t.weigh(&f, down.Alone)
	t.locateWork(&f, down.Largest)
	f.Text = fmt.Sprintf("copies alone take %s of the window at %s, which is what the link can do: fewer bytes "+
		"help, nothing else", quantity.Percent(t.d.Share(down.Alone)), quantity.AboutRate(down.Rate()))
	f.Advice = "send images as uint8 and normalise on the device (a quarter of float32), ids as int32, or keep the " +
		"data on the device"
	return f, true
}
