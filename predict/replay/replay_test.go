package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

func TestSyncRemoved(t *testing.T) {
	loop := func(wait bool) *recording.Run {
		return program(8, func(h *host) {
			h.think(6000)
			for range 3 {
				h.kernel(4000)
			}
			if wait {
				h.sync()
			}
		})
	}
	tr := ready(t, loop(true))
	exact(t, tr)
	near(t, "with the wait", 1e6*tr.Check().Recorded, 18_000, 0.01)
	near(t, "without", likelyStep(tr, Edit{SyncEvery: Never}), 1e6*ready(t, loop(false)).Check().Recorded, 0.01)
	near(t, "every third", likelyStep(tr, Edit{SyncEvery: 3}), (18_000+2*12_000)/3, 0.01)
	if f := tr.Forecast(Edit{SyncEvery: Never}); f.Bound != stoker.GPU {
		t.Errorf("then %s binds, want the device", f.Bound)
	}
}

// The device is the limit where kernels take the path, and not where it waits between them.
func TestADeviceThatWaitsIsNoLimit(t *testing.T) {
	for name, c := range map[string]struct {
		path CriticalTime
		want stoker.Resource
	}{
		"computes": {CriticalTime{Kernels: 70, Device: 10, Host: 20}, stoker.GPU},
		"waits":    {CriticalTime{Kernels: 28, Device: 32, Host: 25, Launching: 5}, ""},
		"nobody":   {CriticalTime{Exchanges: 40, Kernels: 30, Host: 30}, ""},
		"host":     {CriticalTime{Kernels: 30, Host: 60}, stoker.MainThread},
	} {
		if is, _ := c.path.binds(false); is != c.want {
			t.Errorf("%s: %s, want %s", name, is, c.want)
		}
	}
}

func TestLoaderOverlapped(t *testing.T) {
	loop := func(load float64) *recording.Run {
		return program(10, func(h *host) {
			h.load(load)
			for range 3 {
				h.kernel(5000)
			}
			h.sync()
		})
	}
	tr := ready(t, loop(20_000))
	exact(t, tr)
	near(t, "no workers", 1e6*tr.Check().Recorded, 35_000, 0.01)
	near(t, "enough workers", likelyStep(tr, Edit{Workers: 4}), 15_300, 0.01) // 0.3 ms to take a batch
	near(t, "no loading", likelyStep(tr, Edit{NoLoading: true}), 15_300, 0.01)
	near(t, "one worker: it binds", likelyStep(tr, Edit{Workers: 1}), 20_000*1.01, 0.02)
	slow := ready(t, loop(60_000))
	near(t, "two workers: they bind", likelyStep(slow, Edit{Workers: 2}), 30_000*1.01, 0.02)
	if f := slow.Forecast(Edit{Workers: 2}); f.Bound != stoker.Worker {
		t.Errorf("%s binds, want the workers", f.Bound)
	}
	near(t, "four workers on two cores", likelyStep(slow, Edit{Workers: 4, Cores: 2}), 30_000*1.01, 0.02)
}

func TestTwoStreamsOverlap(t *testing.T) {
	loop := func(stream int32) *recording.Run {
		return program(8, func(h *host) {
			h.pinned(stream, 4000, 100<<20)
			h.kernel(12_000)
		})
	}
	tr := ready(t, loop(7))
	exact(t, tr)
	near(t, "one stream", 1e6*tr.Check().Recorded, 16_000, 0.01)
	near(t, "two streams", likelyStep(tr, Edit{SideStream: true}), 12_000, 0.01)
	exact(t, ready(t, loop(9)))
}

func TestPageableToPinned(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		h.copy(10_000, 100e6)
		h.think(5000)
		h.kernel(9000)
	}))
	exact(t, tr)
	tr.machine.Link.Pinned.Value = 25e9
	// The call blocks until the copy is done, and that waits for the kernel.
	near(t, "pageable", 1e6*tr.Check().Recorded, 24_000, 0.01)
	near(t, "pinned, still blocking", likelyStep(tr, Edit{PinMemory: true}), 18_000, 0.01)
	near(t, "pinned", likelyStep(tr, Edit{PinMemory: true, NonBlocking: true}), 13_000, 0.01)
	near(t, "with a stream of its own", likelyStep(tr, Edit{PinMemory: true, NonBlocking: true, SideStream: true}),
		9000, 0.02)
}

func TestTwoRanksMeet(t *testing.T) {
	m := newMachine()
	ranks := []*host{m.rank(), m.rank()}
	for range 6 {
		for r, h := range ranks {
			if r == 1 {
				h.load(10_000)
			}
			h.kernel(5000)
		}
		meet(ranks, 1000)
		for _, h := range ranks {
			h.sync()
			h.step()
		}
	}
	tr := ready(t, m.done())
	if len(tr.meets) != 6 {
		t.Fatalf("%d collectives were matched, want 6", len(tr.meets))
	}
	exact(t, tr)
	near(t, "as recorded", 1e6*tr.Check().Recorded, 16_000, 0.01)
	near(t, "the slow rank's loading gone", likelyStep(tr, Edit{NoLoading: true}), 6300, 0.02)
	if p := tr.Check().Path; p[Loading] < p[Kernels] {
		t.Errorf("the critical path goes through the slow rank's loading, got %v", p)
	}
}

// meet is a collective of a given transfer on all ranks: they end together.
func meet(ranks []*host, us float64) {
	last := 0.0
	for _, h := range ranks {
		last = max(last, h.now+flight, h.free[7]+1)
	}
	for _, h := range ranks {
		c := h.span(recording.Runtime, h.now, h.now+call, "cudaLaunchKernel")
		start := max(h.now+flight, h.free[7]+1)
		h.work(recording.Collective, 7, last+us-start, "ncclDevKernel_AllReduce", c, -1)
		h.now += call
	}
}

func TestGraphLaunch(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		for range 100 {
			h.think(16)
			h.kernel(2)
		}
	}))
	exact(t, tr)
	near(t, "100 launches", 1e6*tr.Check().Recorded, 2000, 0.01)
	got := likelyStep(tr, Edit{Graphs: true})
	if got > 0.3*2000 || got < 300 { // a quarter of the host's time remains; the kernels take 300 us with their pauses
		t.Errorf("as a graph: %.0f us", got)
	}
}

// What compiles a model leaves the launches of its optimizer.
func TestOptimizerIsNotCompiled(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		launch := func() {
			for range 100 {
				h.think(16)
				h.kernel(2)
			}
		}
		launch()
		from := h.now
		launch()
		h.span(recording.Annotation, from, h.now, "Optimizer.step#AdamW.step")
	}))
	exact(t, tr)
	model, _ := EditOf([]stoker.Change{{Setting: stoker.Compile, To: "reduce-overhead"}})
	all, _ := EditOf([]stoker.Change{{Setting: stoker.CUDAGraphs, To: true}})
	if compiled, whole := likelyStep(tr, model), likelyStep(tr, all); compiled < 2300 || compiled > 2600 || whole > 1200 {
		t.Errorf("compiled: %.0f us, as one graph: %.0f us, of 4000, half of them the optimizer's", compiled, whole)
	}
}

func TestBackwardThread(t *testing.T) {
	m := newMachine()
	main := m.rank()
	back := m.thread(0)
	back.free = main.free
	for range 6 {
		main.load(3000)
		for range 20 {
			main.span(recording.Op, main.now, main.now+100, "aten::mm")
			main.think(90)
			main.kernel(20)
			main.think(6)
		}
		back.now = main.now + 50
		for range 20 {
			back.span(recording.Op, back.now, back.now+200, "MmBackward0")
			back.think(190)
			back.kernel(20)
			back.think(6)
		}
		main.now = back.now + 50
		main.kernel(100)
		main.step()
	}
	tr := ready(t, m.done())
	exact(t, tr)
	before := 1e6 * tr.Check().Recorded
	near(t, "loading gone: both threads move", likelyStep(tr, Edit{NoLoading: true}), before-2700, 0.02)
}

func TestTinyCopiesMerged(t *testing.T) {
	tr := ready(t, program(6, func(h *host) {
		for range 30 {
			h.span(recording.Op, h.now, h.now+40, "aten::copy_")
			h.think(20)
			h.copy(2, 4096)
			h.think(5)
		}
		h.kernel(50)
	}))
	exact(t, tr)
	before := 1e6 * tr.Check().Recorded
	if got := likelyStep(tr, Edit{MergeCopies: true}); got > before/3 {
		t.Errorf("merged: %.0f us of %.0f", got, before)
	}
}

func TestBatchAndAccumulation(t *testing.T) {
	tr := ready(t, program(9, func(h *host) {
		h.kernel(4000)
		begun := h.now
		h.span(recording.Annotation, begun, begun+10*call, "Optimizer.step#SGD.step")
		for range 10 {
			h.kernel(400)
		}
	}))
	near(t, "as recorded", 1e6*tr.Check().Recorded, 8011, 0.01)
	near(t, "every fourth", likelyStep(tr, Edit{Accumulate: 4}), 5000, 0.01)
	near(t, "twice the batch", likelyStep(tr, Edit{Batch: 2}), 16_011, 0.01)
	if f := tr.Forecast(Edit{Batch: 2}); f.Speedup.Point > 1.01 || f.Speedup.Point < 0.98 {
		t.Errorf("a device that is busy does not gain from a larger batch: %v", f.Speedup)
	}
}

func TestTogetherIsNotTheSum(t *testing.T) {
	tr := ready(t, program(8, func(h *host) {
		h.load(10_000)
		h.think(3000)
		h.kernel(12_000)
		h.sync()
	}))
	both := likelyStep(tr, Edit{Workers: 4, SyncEvery: Never})
	near(t, "both", both, 12_000, 0.01)
	one, other := likelyStep(tr, Edit{Workers: 4}), likelyStep(tr, Edit{SyncEvery: Never})
	if sum := 25_000 - (25_000 - one) - (25_000 - other); both <= sum {
		t.Errorf("together %.0f us; subtracting both gains would give %.0f", both, sum)
	}
}

// Programs by chance: whatever a machine does that has queues and waits, its
// replay is the recording, and taking things away makes no step longer.
func TestAnyProgram(t *testing.T) {
	for seed := range uint64(200) {
		run := chance(rand.New(rand.NewPCG(seed, 1)))
		tr := ready(t, run)
		exact(t, tr)
		if c := tr.Check(); c.Replayed != c.Recorded {
			t.Errorf("seed %d: %v", seed, c)
		}
		for _, e := range []Edit{
			{NoLoading: true},
			{SyncEvery: Never},
			{Graphs: true},
			{PinMemory: true, NonBlocking: true},
			{MergeCopies: true},
			{Half: true, Graphs: true},
		} {
			f := tr.Forecast(e)
			if !(f.Step.High <= tr.Check().Recorded) || !(f.Step.Low > 0) || f.Step.Low > f.Step.Point ||
				f.Step.Point > f.Step.High {
				t.Errorf("seed %d: %+v makes a step of %g s %v", seed, e, tr.Check().Recorded, f.Step)
			}
			ends := func(e Edit) int64 {
				p := tr.startPlay()
				p.apply(e, bounds.Likely)
				p.runAll()
				last := int64(0)
				for _, end := range p.end {
					last = max(last, end)
				}
				return last
			}
			if ends(e) > ends(Edit{}) {
				t.Errorf("seed %d: %+v ends later than the recording", seed, e)
			}
			if again := tr.Forecast(e); again.Step != f.Step || again.Bound != f.Bound {
				t.Errorf("seed %d: %+v is forecast %v, then %v", seed, e, f.Step, again.Step)
			}
		}
		if p := tr.Check().Path; p.total() <= 0 {
			t.Errorf("seed %d: no critical path: %v", seed, p)
		}
	}
}

func chance(r *rand.Rand) *recording.Run {
	kinds := r.IntN(3) + 4
	length := r.IntN(12) + 3
	plan := make([][2]int, length)
	for i := range plan {
		plan[i] = [2]int{r.IntN(kinds), r.IntN(3000)}
	}
	return program(3+r.IntN(5), func(h *host) {
		h.kernel(50)
		for _, do := range plan {
			us := float64(do[1])
			switch do[0] {
			case 0:
				h.think(us)
			case 1, 2:
				h.kernelOn(int32(7+do[1]%2), us)
			case 3:
				h.sync()
			case 4:
				h.load(us)
			case 5:
				h.copy(us/4, int64(1000*us))
			}
		}
	})
}

// The critical path of the judged steps is as long as they are.
func TestPathAddsUp(t *testing.T) {
	for seed := range uint64(50) {
		tr := ready(t, chance(rand.New(rand.NewPCG(seed, 2))))
		p := tr.startPlay()
		p.runAll()
		sum := int64(0)
		for _, s := range p.stepTimes() {
			sum += s
		}
		if got := p.criticalPath().total(); got > sum || float64(got) < 0.98*float64(sum) {
			t.Errorf("seed %d: the path is %d ns of %d", seed, got, sum)
		}
		var named CriticalTime
		for _, s := range p.pathByName() {
			named[s.Part] += s.Time
		}
		if named != p.criticalPath() {
			t.Errorf("seed %d: by name the path is %v, in all %v", seed, named, p.criticalPath())
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	tr := ready(t, program(4, func(h *host) {
		for range 1500 {
			h.kernel(5)
		}
	}))
	exact(t, tr)
	for i := range tr.items {
		if tr.items[i].full >= 0 {
			return
		}
	}
	t.Error("no launch knows that the queue has an end")
}

func TestNothingToReplay(t *testing.T) {
	if _, why := New(&recording.Run{}, Marks{}); why == "" {
		t.Error("a run without a timeline was replayed")
	}
	m := newMachine()
	h := m.rank()
	h.think(10)
	h.span(recording.Op, 0, 5, "aten::mm")
	if _, why := New(m.done(), Marks{}); why == "" {
		t.Error("a trace without work was replayed")
	}
}

func TestChanges(t *testing.T) {
	changes, err := Changes("num_workers=4, pin_memory=true,non_blocking=true,batch_size=2x,gpu=h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	e, unknown := EditOf(changes)
	if len(unknown) > 0 || e.Workers != 4 || !e.PinMemory || !e.NonBlocking || e.Batch != 2 || e.GPU == nil {
		t.Errorf("%+v, unknown %v", e, unknown)
	}
	for _, wrong := range []string{
		"num_workers", "num_workers=", "num_workers=-1", "num_workers=many", "turbo=true",
		"pin_memory=maybe", "batch_size=64", "gpu=potato", "num_workers=2,,",
	} {
		if _, err := Changes(wrong); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
	if _, unknown := EditOf([]stoker.Change{{Setting: stoker.BucketMB, To: 100}}); len(unknown) != 1 {
		t.Errorf("unknown settings: %v", unknown)
	}
}

// A foreign file may hold anything: calls across each other, links to later calls,
// work before its launch. Whatever it is, there is an answer, and no panic.
func TestAnything(t *testing.T) {
	names := []string{
		"cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize", "cudaStreamWaitEvent", "cudaEventRecord",
		"cudaMalloc", "aten::mm",
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "Optimizer.step#SGD.step",
		"Memcpy HtoD (Pageable -> Device)",
		"Memcpy DtoH (Device -> Pageable)", "kernel",
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := newMachine()
		hosts := []*host{m.rank(), m.rank(), m.thread(0)}
		for range 20 + r.IntN(60) {
			h := hosts[r.IntN(len(hosts))]
			h.now = float64(r.IntN(2000))
			c := h.span(recording.CallKind(r.IntN(5)), h.now, h.now+float64(r.IntN(300)-20), names[r.IntN(len(names))])
			if r.IntN(2) == 0 {
				h.free[7] = 0
				h.now += float64(r.IntN(200) - 100)
				h.work(recording.WorkKind(r.IntN(4)), int32(r.IntN(3)), float64(r.IntN(200)-10),
					names[r.IntN(len(names))], c, int64(r.IntN(100_000)-1))
			}
			if r.IntN(8) == 0 {
				h.step()
			}
		}
		run := m.done()
		for i := range run.Timeline.Device.Call {
			if r.IntN(4) == 0 {
				run.Timeline.Device.Call[i] = int32(r.IntN(len(run.Timeline.Host.Start)+1) - 1)
			}
		}
		tr, why := New(run, Marks{})
		if why != "" {
			continue
		}
		for _, e := range []Edit{
			{},
			{Workers: 2},
			{Times: 2},
			{PinMemory: true, NonBlocking: true, SideStream: true},
			{MergeCopies: true, SyncEvery: 3, Accumulate: 2, Graphs: true, Fused: true, Batch: 2},
		} {
			if f := tr.Forecast(e); f.Step.Low > f.Step.High {
				t.Errorf("seed %d: %+v: %v", seed, e, f)
			}
		}
		tr.Check()
	}
}
