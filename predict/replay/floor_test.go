package replay

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// Copies in one direction take the link one after the other, also those that were launched
// before the recorder began and stay on their stream.
func TestOneCopyAtATime(t *testing.T) {
	run := program(6, func(h *host) {
		for range 5 {
			h.pinned(7, 6000, 168_000_000)
			h.kernel(70)
		}
		h.sync()
	})
	w := &run.Timeline.Device
	for i := range w.Call {
		if i%10 < 6 {
			w.Call[i] = -1 // of each ten copies and kernels six
		}
	}
	tr := ready(t, run)
	const copies = 5 * 6000
	if step := likelyStep(tr, Edit{SideStream: true}); step < copies {
		t.Errorf("a step takes %.0f us, and its copies %d", step, copies)
	}
	if f := tr.Floor(Edit{SideStream: true}); f.On != LinkDown || f.Seconds < 0.97*copies/1e6 {
		t.Errorf("at least %v s on %v, want %v s on the link", f.Seconds, f.On, copies/1e6)
	}
	if s := tr.Forecast(Edit{SideStream: true}).Speedup; s.High > 1.03 {
		t.Errorf("%v from a link that is full", s)
	}
}

// What passes between a launch and its work for no recorded reason is there after a change, too.
func TestDelayWithoutReasonStays(t *testing.T) {
	const late = 4400
	run := program(10, func(h *host) {
		for range 5 {
			h.free[7] = h.now + late
			h.kernel(13_000)
			h.sync()
		}
	})
	tr := ready(t, run)
	near(t, "without the waits", likelyStep(tr, Edit{SyncEvery: Never}), 1e6*tr.Check().Recorded, 0.01)
	if share := tr.LateShare(); share < 0.2 || share > 0.3 {
		t.Errorf("%.2f of a step is late for no reason, want a quarter", share)
	}
}

// Twice the batch is worth twice the samples at most.
func TestBatchIsNotWorthMore(t *testing.T) {
	tr := ready(t, program(10, func(h *host) {
		for range 40 {
			h.think(90)
			h.kernel(2)
		}
	}))
	if s := tr.Forecast(Edit{Batch: 2}).Speedup; s.High > 2 || s.Point > 2 {
		t.Errorf("%v of twice the batch", s)
	}
}

// A stream runs one kernel after the other, whatever the host does.
func TestKernelsFillAStream(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		for range 4 {
			h.kernel(1000)
			h.sync()
		}
		h.think(200)
	}))
	f := tr.Floor(Edit{SyncEvery: Never})
	if f.On != Stream {
		t.Errorf("%v is full, want the stream", f.On)
	}
	near(t, "at least", 1e6*f.Seconds, 4000, 0.01)
	if kind := tr.works[0].kind; kind != recording.Kernel {
		t.Errorf("the first work is a %v", kind)
	}
}

// Kernels that the recording does not show beside each other share the device, whatever stream
// they are on.
func TestKernelsFillADevice(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		for n := range int32(50) {
			h.kernelOn(10+n, 600)
			h.sync()
			h.think(300)
		}
	}))
	f := tr.Floor(Edit{Graphs: true})
	if f.On != AllStreams {
		t.Errorf("%v is full, want the device", f.On)
	}
	near(t, "at least", 1e6*f.Seconds, 50*600, 0.01)
	if s := tr.Forecast(Edit{Graphs: true}).Speedup; s.High > 1.6 {
		t.Errorf("%v of a device that is busy two thirds of the time", s)
	}
}

// Copies of both directions share the link, if the recording does not show them next to each other.
func TestDirectionsShareALink(t *testing.T) {
	loop := func(aside bool) *Trace {
		return ready(t, program(8, func(h *host) {
			h.pinned(22, 6000, 150_000_000)
			if !aside {
				h.sync()
			}
			h.toHost(20, 6000, 150_000_000)
			h.sync()
		}))
	}
	f := loop(false).Floor(Edit{SyncEvery: Never})
	if f.On != BothLinks {
		t.Errorf("%v is full, want the link", f.On)
	}
	near(t, "at least, one after the other", 1e6*f.Seconds, 12_000, 0.01)
	near(t, "at least, side by side", 1e6*loop(true).Floor(Edit{SyncEvery: Never}).Seconds, 6000, 0.01)
}
