package replay

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// workers hand batches to a loop in turn, as PyTorch's do.
type workers struct {
	each   float64 // what a batch costs one, us
	ahead  int
	done   []float64 // when each batch was ready
	asked  []float64 // when the loop had it
	number int
}

// next takes the next batch, waiting for it as long as it takes.
func (w *workers) next(h *host) {
	i := len(w.done)
	begin := 0.0
	if i >= w.number {
		begin = w.done[i-w.number]
	}
	if room := i - w.number*w.ahead; room >= 0 {
		begin = max(begin, w.asked[room])
	}
	w.done = append(w.done, begin+w.each)
	end := max(h.now+100, w.done[i])
	h.span(recording.Annotation, h.now, end, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
	h.now = end
	w.asked = append(w.asked, h.now)
}

// fed is a loop that computes for 12 ms on the device, waits for it, and thinks for 4 ms.
func fed(number int, each float64) *recording.Run {
	w := &workers{each: each, ahead: 2, number: number}
	return program(49, func(h *host) {
		w.next(h)
		h.copy(2000, 40e6)
		h.think(2000)
		h.kernel(10_000)
		h.sync()
		h.think(2000)
	})
}

// Beside workers that always have a batch to prepare, nothing but more of them makes a
// step shorter: not one of these edits has anything to take away.
func TestNothingGainsBesideSaturatedWorkers(t *testing.T) {
	edits := map[string]Edit{
		"sync_every": {SyncEvery: Never}, "pin_memory": {PinMemory: true, NonBlocking: true},
		"side_stream": {SideStream: true, PinMemory: true, NonBlocking: true},
		"half":        {Half: true}, "graphs": {Graphs: true}, "fused": {Fused: true}, "batch": {Batch: 2},
	}
	for number, each := range map[int]float64{1: 32_000, 2: 64_000, 4: 128_000, 8: 256_000} {
		run := fed(number, each)
		tr := ready(t, run)
		tr.machine.Link.Pinned.Value = 25e9
		tr.marks.Memory = []bool{true, true, true, true, true, true}
		near(t, "a step as recorded", 1e6*tr.Check().Recorded, 32_000, 0.04)
		if !tr.Saturated() {
			t.Errorf("%d workers: not saturated: %+v", number, tr.supply)
		}
		for name, edit := range edits {
			f := tr.Forecast(edit)
			if f.Speedup.High > 1.06 || f.Speedup.Low > 1.02 || f.Speedup.Point < 0.95 {
				t.Errorf("%d workers: %s is worth %v, want 1.00x", number, name, f.Speedup)
			}
		}
	}
}

// The waits of workers that take turns tell how many there are.
func TestWorkersAreReadOffTheWaits(t *testing.T) {
	for number, each := range map[int]float64{2: 64_000, 4: 128_000, 8: 256_000} {
		if n, inferred := ready(t, fed(number, each)).Workers(); n != number || !inferred {
			t.Errorf("%d workers are taken for %d, inferred %t", number, n, inferred)
		}
	}
	if n, _ := ready(t, fed(1, 32_000)).Workers(); n != -1 {
		t.Errorf("a wait for every batch tells of no number, not %d", n)
	}
	tr := ready(t, fed(4, 128_000))
	near(t, "eight in the place of four", likelyStep(tr, Edit{Workers: 8}), 16_200, 0.03)
	near(t, "twice as many", likelyStep(tr, Edit{Times: 2}), 16_200, 0.03)
}

// Where nobody knows how many workers there were, so many may be what there was.
func TestWorkersOfUnknownNumber(t *testing.T) {
	f := ready(t, fed(1, 32_000)).Forecast(Edit{Workers: 8})
	if f.Speedup.Low > 1 || f.Speedup.Point == f.Speedup.Point || f.Speedup.High < 1.5 {
		t.Errorf("eight workers in the place of an unknown number: %v, want at most, and 1.00x within", f.Speedup)
	}
}

// A loop that waits now and then does not go as fast as its workers: the queue is mostly full.
func TestRareWaits(t *testing.T) {
	n, w := 0, &workers{ahead: 2, number: 1}
	tr := ready(t, program(21, func(h *host) {
		w.each = 8000
		if n++; n == 5 || n == 13 || n == 16 {
			w.each = 60_000
		}
		w.next(h)
		h.kernel(14_000)
		h.sync()
		h.think(6000)
	}))
	if tr.Saturated() {
		t.Error("workers that mostly wait for room in the queue are called saturated")
	}
}

// The same of spans that do not tell who prepares the batches.
func TestUnnamedLoader(t *testing.T) {
	run := program(12, func(h *host) {
		h.span(recording.Annotation, h.now, h.now+16_000, "IteratorGetNext")
		h.now += 16_000
		h.kernel(14_000)
		h.sync()
		h.think(2000)
	})
	if f := ready(t, run).Forecast(Edit{SyncEvery: Never}); f.Speedup.Low > 1 {
		t.Errorf("%v: the batches may have come from threads that take as long", f.Speedup)
	}
}

// A trainer's own span around PyTorch's iterator does not hide who loads.
func TestNestedLoaderSpans(t *testing.T) {
	run := program(12, func(h *host) {
		h.span(recording.Annotation, h.now, h.now+20_000, "[pl][profile][_TrainingEpochLoop].train_dataloader_next")
		h.span(recording.Annotation, h.now+10, h.now+19_990,
			"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
		h.now += 20_000
		h.kernel(14_000)
		h.sync()
	})
	if tr := ready(t, run); !tr.Several() || !tr.Saturated() {
		t.Errorf("%+v", tr.supply)
	}
	if f := ready(t, run).Forecast(Edit{NoLoading: true}); f.Bound == stoker.Worker {
		t.Errorf("%v", f)
	}
}
