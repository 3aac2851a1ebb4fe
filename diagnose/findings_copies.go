package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Triggers for copies, shares of the window.
const (
	serialTrigger = 0.05
	linkTrigger   = 0.30
	linkReached   = 0.7 // of the link's rate
	tinyPerStep   = 20
)

func (t *traced) pageableCopies() (Finding, bool) {
	p := t.copies.Pageable
	if p.Count == 0 {
		return Finding{}, false
	}
	f := finding("pageable-copies")
	t.worth(&f, p.Alone)
	f.Saves = t.parts.Copies // with what the host takes to issue them
	t.atWork(&f, p.Largest)
	size := ""
	if p.Bytes > 0 {
		size = fmt.Sprintf(", %s in all at %s, the largest %s", stoker.AboutBytes(float64(p.Bytes)), stoker.AboutRate(p.Rate()), stoker.AboutBytes(float64(t.t.Device.Bytes[p.Largest])))
	}
	f.Text = fmt.Sprintf("%s from pageable memory in a step%s: the CPU stages them, the launching thread waits, and %s of %s pass while no kernel runs",
		copies(float64(p.Count)/t.steps()), size, stoker.AboutSeconds(seconds(p.Alone)), stoker.AboutSeconds(seconds(p.Time)))
	f.Settings = []stoker.Change{change(stoker.PinMemory, nil, true), change(stoker.NonBlocking, nil, true)}
	f.Advice = pinAdvice
	return f, true
}

// copies prints how many there are and the verb.
func copies(n float64) string {
	switch {
	case n == 1:
		return "1 copy comes"
	case n == float64(int(n)):
		return fmt.Sprintf("%.0f copies come", n)
	}
	return fmt.Sprintf("%.1f copies come", n)
}

func (t *traced) serialCopies() (Finding, bool) {
	alone := t.copies.ToDevice.Alone - t.copies.Pageable.Alone
	if t.d.Share(alone) < serialTrigger {
		return Finding{}, false
	}
	f := finding("serial-copies")
	t.worth(&f, alone)
	t.atWork(&f, t.copies.ToDevice.Largest)
	f.Text = fmt.Sprintf("copies to the device run while no kernel does, %s of the window: the next batch could cross the link while this one is computed", stoker.Percent(t.d.Share(alone)))
	f.Settings = []stoker.Change{change(stoker.NonBlocking, nil, true)}
	f.Advice = "copy the next batch on a stream of its own while this one is computed: with torch.cuda.stream(side): next = batch.to(device, non_blocking=True); torch.cuda.current_stream().wait_stream(side) before its use"
	return f, true
}

func (t *traced) deviceCopies() (Finding, bool) {
	in := t.copies.Within
	if t.d.Share(in.Alone) < serialTrigger {
		return Finding{}, false
	}
	f := finding("device-copies")
	t.worth(&f, in.Alone)
	t.atWork(&f, in.Largest)
	f.Text = fmt.Sprintf("copies within the device take %s of the window, %.1f per step: they cross no link, and move what is on the device already",
		stoker.Percent(t.d.Share(in.Alone)), float64(in.Count)/t.steps())
	f.Advice = "look for .contiguous(), .clone(), cat and index_copy_ around the place: write results where they are needed (out=, a slice of a buffer made once)"
	return f, true
}

func (t *traced) tinyCopies() (Finding, bool) {
	tiny := t.copies.Tiny
	if float64(tiny.Count) < tinyPerStep*t.steps() {
		return Finding{}, false
	}
	f := finding("tiny-copies")
	t.worth(&f, t.d.BeforeTiny+tiny.Alone)
	t.atWork(&f, tiny.Largest)
	f.Text = fmt.Sprintf("%.0f copies below 64 KiB per step go to the device, %s in the mean: each costs a call and a launch, not bytes; %s of the window pass before and in them",
		float64(tiny.Count)/t.steps(), stoker.AboutBytes(float64(tiny.Bytes)/float64(max(1, tiny.Count))), stoker.Percent(f.Share))
	f.Advice = "make tensors on the device (torch.arange(..., device=device)), or put the small ones into one pinned buffer and copy once; scalars as Python numbers need no copy"
	return f, true
}

func (t *traced) linkLimited() (Finding, bool) {
	link, known := hardware.FindLink(hardware.MachineOf(t.gpu.Name).Link.Name)
	down := t.copies.ToDevice
	if !known || t.d.Share(down.Alone) < linkTrigger || !(down.Rate() >= linkReached*link.Pinned.Value) {
		return Finding{}, false
	}
	f := finding("pcie-limited")
	t.worth(&f, down.Alone)
	t.atWork(&f, down.Largest)
	f.Text = fmt.Sprintf("copies alone take %s of the window at %s, which is what the link can do: fewer bytes help, nothing else",
		stoker.Percent(t.d.Share(down.Alone)), stoker.AboutRate(down.Rate()))
	f.Advice = "send images as uint8 and normalise on the device (a quarter of float32), ids as int32, or keep the data on the device"
	return f, true
}
