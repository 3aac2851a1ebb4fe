package replay

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// What compiles a model leaves what is around it: random numbers, the loss, the optimizer, a value that is read.
func TestWhatIsAroundTheModelIsNotCompiled(t *testing.T) {
	const model, apart = 8, 6 // launches
	run := program(8, func(h *host) {
		from := h.now
		for range model {
			h.think(30)
			h.kernel(1)
		}
		h.span(recording.Annotation, from, h.now, "net_forward")
		for range apart {
			h.think(30)
			h.kernel(1)
		}
		from = h.now
		h.think(40)
		h.kernel(1)
		h.span(recording.Annotation, from, h.now, "Optimizer.step#SGD.step")
		h.toHost(7, 1, 4)
		h.sync()
	})
	tr := ready(t, run)
	left := float64(apart*(30+call) + 40 + call)
	if step := likelyStep(tr, Edit{Graphs: true, Fused: true, Model: true}); step < left || step > left+model*(30+call) {
		t.Errorf("a step takes %.0f us, and %.0f of it are not the model's", step, left)
	}
}

// A marked loss alone tells nothing of where the model is.
func TestOneMarkedCallIsNotTheModel(t *testing.T) {
	run := program(8, func(h *host) {
		for range 20 {
			h.think(30)
			h.kernel(1)
		}
		from := h.now
		h.kernel(1)
		h.span(recording.Annotation, from, h.now, "forward of the loss")
		h.sync()
	})
	tr := ready(t, run)
	if step := likelyStep(tr, Edit{Graphs: true, Model: true}); step > 20*(30+call)/2 {
		t.Errorf("a step takes %.0f us: launches around the loss were left", step)
	}
}

// A copy to the host that a wait follows has ended when that returns, also where the device's clock is late.
func TestWaitsHoldWhereTheClockIsLate(t *testing.T) {
	const late, compute, behind = 30_000, 500, 200
	run := program(8, func(h *host) {
		h.think(60)
		h.kernel(compute)
		h.toHost(7, 1, 4)
		h.sync()
		h.think(behind)
	})
	w := &run.Timeline.Device
	for i := range w.Start {
		w.Start[i], w.End[i] = w.Start[i]+late, w.End[i]+late
	}
	run.Timeline.End += late
	tr := ready(t, run)
	if step := likelyStep(tr, Edit{Batch: 2}); step < 2*compute+behind {
		t.Errorf("a step takes %.0f us, want %d of computation and %d behind the wait for it", step, 2*compute, behind)
	}
}

// What comes before the steps does not get shorter, so that no work queues up for them.
func TestStartStaysAsItWas(t *testing.T) {
	run := program(9, func(h *host) {
		if h.steps == 0 {
			for range 100 {
				h.think(1000)
				h.kernel(900)
			}
		}
		for range 10 {
			h.think(100)
			h.kernel(1)
		}
		h.think(500)
	})
	tr := ready(t, run)
	if step := likelyStep(tr, Edit{Graphs: true}); step < 300 {
		t.Errorf("a step takes %.0f us, and its thread at least 300", step)
	}
}

// The first batch of a loader that is made in the only step of a file is not prepared ahead.
func TestFirstBatchOfANewLoaderStays(t *testing.T) {
	const batches, load, compute = 5, 10_000, 10_000
	run := program(1, func(h *host) {
		for range batches {
			h.load(load)
			h.kernel(compute)
			h.sync()
		}
	})
	tr := ready(t, run)
	if step := likelyStep(tr, Edit{Workers: 4}); step < batches*compute+load || step > batches*compute+2*load {
		t.Errorf("a step takes %.0f us, want the first batch's %d and %d of computation", step, load, batches*compute)
	}
}
