package idle_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// line writes Timelines by hand: times in microseconds.
type line struct{ t *recording.Timeline }

func newLine() *line {
	l := &line{&recording.Timeline{}}
	l.thread(1, "main")
	l.t.Devices = []recording.Device{{PID: 1, Rank: -1, GPU: -1}}
	return l
}

func (l *line) thread(pid int, name string) int32 {
	l.t.Threads = append(l.t.Threads, recording.Thread{PID: pid, ID: int64(len(l.t.Threads)), Name: name, Rank: -1})
	return int32(len(l.t.Threads) - 1)
}

func (l *line) name(s string) int32 {
	if i := slices.Index(l.t.Names, s); i >= 0 {
		return int32(i)
	}
	l.t.Names = append(l.t.Names, s)
	return int32(len(l.t.Names) - 1)
}

func (l *line) seen(from, to float64) (int64, int64) {
	a, b := int64(math.Round(1e3*from)), int64(math.Round(1e3*to))
	l.t.Start, l.t.End = min(l.t.Start, a), max(l.t.End, b)
	return a, b
}

func (l *line) on(thread int32, kind recording.CallKind, from, to float64, name string) int32 {
	a, b := l.seen(from, to)
	h := &l.t.Host
	h.Start, h.End, h.Name = append(h.Start, a), append(h.End, b), append(h.Name, l.name(name))
	h.Thread, h.Kind = append(h.Thread, thread), append(h.Kind, kind)
	h.Shapes, h.Types = append(h.Shapes, -1), append(h.Types, -1)
	return int32(len(h.Start) - 1)
}

func (l *line) host(kind recording.CallKind, from, to float64, name string) int32 {
	return l.on(0, kind, from, to, name)
}

func (l *line) frame(from, to float64, name string) {
	a, b := l.seen(from, to)
	f := &l.t.Frames
	f.Start, f.End = append(f.Start, a), append(f.End, b)
	f.Name, f.Thread = append(f.Name, l.name(name)), append(f.Thread, 0)
}

func (l *line) work(kind recording.WorkKind, from, to float64, name string, call int32) {
	a, b := l.seen(from, to)
	w := &l.t.Device
	w.Start, w.End, w.Name = append(w.Start, a), append(w.End, b), append(w.Name, l.name(name))
	w.Device, w.Stream, w.Kind = append(w.Device, 0), append(w.Stream, 7), append(w.Kind, kind)
	w.Call, w.Bytes, w.Group = append(w.Call, call), append(w.Bytes, -1), append(w.Group, -1)
	w.Blocks, w.Threads = append(w.Blocks, 0), append(w.Threads, 0)
	w.PerSM, w.Occupancy = append(w.PerSM, float32(math.NaN())), append(w.Occupancy, float32(math.NaN()))
}

func (l *line) kernel(from, to float64, call int32) {
	l.work(recording.Kernel, from, to, "kernel", call)
}

// launch is a launching call of 4 us.
func (l *line) launch(at float64) int32 {
	return l.host(recording.Runtime, at, at+4, "cudaLaunchKernel")
}

// sorted puts all columns in order of start, as a Timeline promises.
func (l *line) sorted() *recording.Timeline {
	t := l.t
	h := &t.Host
	order := orderOf(h.Start, h.End)
	where := make([]int32, len(order))
	for to, from := range order {
		where[from] = int32(to)
	}
	h.Start, h.End, h.Name = pick(h.Start, order), pick(h.End, order), pick(h.Name, order)
	h.Thread, h.Kind, h.Shapes, h.Types = pick(h.Thread, order), pick(h.Kind, order), pick(h.Shapes, order), pick(h.Types, order)
	w := &t.Device
	order = orderOf(w.Start, w.End)
	w.Start, w.End, w.Name, w.Device, w.Stream = pick(w.Start, order), pick(w.End, order), pick(w.Name, order), pick(w.Device, order), pick(w.Stream, order)
	w.Kind, w.Call, w.Bytes, w.Blocks = pick(w.Kind, order), pick(w.Call, order), pick(w.Bytes, order), pick(w.Blocks, order)
	w.Threads, w.PerSM, w.Occupancy, w.Group = pick(w.Threads, order), pick(w.PerSM, order), pick(w.Occupancy, order), pick(w.Group, order)
	for i, call := range w.Call {
		if call >= 0 {
			w.Call[i] = where[call]
		}
	}
	f := &t.Frames
	order = orderOf(f.Start, f.End)
	f.Start, f.End, f.Name, f.Thread = pick(f.Start, order), pick(f.End, order), pick(f.Name, order), pick(f.Thread, order)
	return t
}

func orderOf(start, end []int64) []int {
	order := make([]int, len(start))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if start[i] != start[j] {
			return int(start[i] - start[j])
		}
		return int(end[j] - end[i])
	})
	return order
}

func pick[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for to, from := range order {
		out[to] = column[from]
	}
	return out
}

// Each case is two kernels, 0 to 100 us and one that starts at 200 us, and what
// the host did in the gap between them.
func TestCauses(t *testing.T) {
	const op, mark, call = recording.Op, recording.Annotation, recording.Runtime
	for name, c := range map[string]struct {
		build func(l *line) // launches the second kernel
		want  map[idle.Cause]float64
	}{
		"data-loader": {func(l *line) {
			l.host(mark, 50, 190, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
			l.host(op, 60, 180, "aten::stack") // the loader's own work is the loader's
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.DataLoader: 90, idle.Unrecorded: 6, idle.Launch: 4}},
		"data-loader by frame": {func(l *line) {
			l.frame(50, 196, "torch/utils/data/dataloader.py(701): __next__")
			l.host(op, 60, 180, "aten::stack")
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.DataLoader: 96, idle.Launch: 4}},
		"python": {func(l *line) {
			l.frame(10, 196, "train.py(41): forward")
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.Python: 96, idle.Launch: 4}},
		"cpu-op": {func(l *line) {
			l.frame(10, 250, "train.py(41): forward")
			l.host(op, 120, 220, "aten::add")
			l.kernel(200, 300, l.launch(190))
		}, map[idle.Cause]float64{idle.Python: 20, idle.CPUOp: 70, idle.Launch: 10}},
		"copy-issue": {func(l *line) {
			l.work(recording.Copy, 200, 300, "Memcpy HtoD (Pageable -> Device)", l.host(call, 120, 300, "cudaMemcpyAsync"))
		}, map[idle.Cause]float64{idle.Unrecorded: 20, idle.CopyIssue: 80}},
		"sync": {func(l *line) {
			l.host(call, 20, 110, "cudaStreamSynchronize")
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.Sync: 10, idle.Unrecorded: 86, idle.Launch: 4}},
		"hidden sync": {func(l *line) {
			c := l.host(call, 20, 150, "cudaMemcpyAsync")
			l.work(recording.Copy, 98, 100, "Memcpy DtoH (Device -> Pageable)", c)
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.Sync: 50, idle.Unrecorded: 46, idle.Launch: 4}},
		"allocator": {func(l *line) {
			l.host(op, 100, 199, "aten::empty")
			l.host(call, 110, 190, "cudaMalloc")
			l.kernel(200, 300, l.launch(196))
		}, map[idle.Cause]float64{idle.CPUOp: 16, idle.Allocator: 80, idle.Launch: 4}},
		"gc": {func(l *line) {
			l.host(recording.Collector, 100, 190, "Python GC")
			l.kernel(200, 300, l.launch(190))
		}, map[idle.Cause]float64{idle.GC: 90, idle.Launch: 10}},
		"communication": {func(l *line) {
			l.work(recording.Collective, 200, 300, "ncclDevKernel_AllReduce_Sum_f32", l.launch(50))
		}, map[idle.Cause]float64{idle.Communication: 100}},
		"a collective that does not start": {func(l *line) {
			l.work(recording.Collective, 2500, 2600, "ncclDevKernel_AllReduce_Sum_f32", l.launch(50))
		}, map[idle.Cause]float64{idle.DeviceWait: 2400}},
		"communication on the host": {func(l *line) {
			l.host(op, 90, 190, "gloo:all_reduce")
			l.kernel(200, 300, l.launch(190))
		}, map[idle.Cause]float64{idle.Communication: 90, idle.Launch: 10}},
		"device-wait": {func(l *line) {
			l.kernel(200, 300, l.launch(50))
		}, map[idle.Cause]float64{idle.DeviceWait: 100}},
		"device-latency": {func(l *line) {
			l.kernel(105, 300, l.launch(50))
		}, map[idle.Cause]float64{idle.DeviceLatency: 5}},
		"warm-up": {func(l *line) {
			l.work(recording.Kernel, 1200, 1300, "never seen", l.host(call, 150, 1150, "cudaLaunchKernel"))
		}, map[idle.Cause]float64{idle.Unrecorded: 50, idle.WarmUp: 1000, idle.Launch: 50}},
		"warm-up of a context": {func(l *line) {
			l.host(call, 100, 1200, "cudaStreamCreateWithFlags")
			l.kernel(1300, 1400, l.launch(1300))
		}, map[idle.Cause]float64{idle.WarmUp: 1100, idle.Unrecorded: 100}},
		"a library that is loaded": {func(l *line) {
			l.host(call, 1000, 2500, "cuLibraryLoadData")
			l.kernel(5100, 5200, l.launch(5100))
		}, map[idle.Cause]float64{idle.WarmUp: 5000}},
		"a launch that loads its module": {func(l *line) {
			l.kernel(4200, 4300, l.host(call, 3000, 4100, "cudaLaunchKernel"))
			l.name("aten::add")
		}, map[idle.Cause]float64{idle.WarmUp: 4000, idle.Launch: 100}},
		"a launch of no framework that takes long": {func(l *line) {
			l.kernel(4200, 4300, l.host(call, 3000, 4100, "cudaLaunchKernel"))
		}, map[idle.Cause]float64{idle.Unrecorded: 2900, idle.Launch: 1200}},
		"unlinked": {func(l *line) {
			l.kernel(200, 300, -1)
		}, map[idle.Cause]float64{idle.Unlinked: 100}},
		"unrecorded": {func(l *line) {
			l.kernel(200, 300, l.launch(200))
		}, map[idle.Cause]float64{idle.Unrecorded: 100}},
		"no next work": {func(l *line) {
			l.host(op, 100, 300, "aten::cpu_work")
		}, map[idle.Cause]float64{idle.CPUOp: 200}},
		"autograd's thread idles while the main one works": {func(l *line) {
			autograd := l.thread(1, "autograd")
			l.host(mark, 0, 400, "ProfilerStep#3")
			l.host(op, 100, 150, "aten::empty")
			l.on(autograd, op, 170, 250, "MulBackward0")
			l.kernel(200, 400, l.on(autograd, call, 190, 195, "cudaLaunchKernel"))
		}, map[idle.Cause]float64{idle.CPUOp: 70, idle.Unrecorded: 20, idle.Launch: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine()
			l.kernel(0, 100, l.host(call, 0, 0, "cudaLaunchKernel"))
			c.build(l)
			a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
			check(t, a)
			d := &a.Devices[0]
			for cause := range idle.Causes {
				if got := float64(d.Causes[cause]) / 1e3; got != c.want[idle.Cause(cause)] {
					t.Errorf("%v: %v us, want %v", idle.Cause(cause), got, c.want[idle.Cause(cause)])
				}
			}
		})
	}
}

// check holds what must be true of every analysis: shares and causes add up, and
// slices follow each other within the window.
func check(t *testing.T, a *idle.Analysis) {
	t.Helper()
	for i := range a.Devices {
		d := &a.Devices[i]
		sum := int64(0)
		for _, ns := range d.Causes {
			sum += ns
		}
		if sum != d.Idle {
			t.Fatalf("causes add up to %d ns, idle are %d", sum, d.Idle)
		}
		if d.Kernel+d.Copy+d.Communication+d.Idle != d.WindowLength() || min(d.Kernel, d.Copy, d.Communication, d.Idle) < 0 {
			t.Fatalf("shares %d + %d + %d + %d do not fill %d ns", d.Kernel, d.Copy, d.Communication, d.Idle, d.WindowLength())
		}
		last := d.From
		for s := range a.Slices(d, d.From, d.To) {
			if s.From < last || s.To <= s.From || s.To > d.To {
				t.Fatalf("slice %+v after %d in a window to %d", s, last, d.To)
			}
			last = s.To
		}
	}
}

// random builds a Timeline of overlapping, badly nested and unlinked events on
// several threads and devices.
func random(r *rand.Rand) *recording.Timeline {
	l := newLine()
	l.thread(1, "autograd")
	l.thread(2, "other process")
	l.t.Devices = append(l.t.Devices, recording.Device{PID: 2, Index: 1, Rank: -1, GPU: -1})
	names := []string{"ProfilerStep#1", "aten::add", "enumerate(DataLoader)#x", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMalloc", "cudaStreamSynchronize", "mark", "aten::item"}
	kinds := []recording.CallKind{recording.Annotation, recording.Op, recording.Annotation, recording.Runtime, recording.Runtime, recording.Runtime, recording.Runtime, recording.Annotation, recording.Op}
	for range 5 + r.IntN(60) {
		at, n := float64(r.IntN(900)), r.IntN(len(names))
		l.on(int32(r.IntN(3)), kinds[n], at, at+float64(r.IntN(200)), names[n])
		if r.IntN(3) == 0 {
			l.frame(at, at+float64(r.IntN(300)), "train.py(1): f")
		}
	}
	for range 1 + r.IntN(40) {
		at, kind := float64(r.IntN(1000)), recording.WorkKind(r.IntN(4))
		l.work(kind, at, at+float64(r.IntN(60)), []string{"k", "ncclKernel", "Memcpy DtoH", "memset"}[r.IntN(4)], int32(r.IntN(len(l.t.Host.Start)+1))-1)
		l.t.Device.Device[len(l.t.Device.Device)-1] = int32(r.IntN(2))
	}
	return l.sorted()
}

// run is a random Timeline with or without steps of 200 us.
func run(r *rand.Rand) *recording.Run {
	run := &recording.Run{Timeline: random(r)}
	for i := range r.IntN(6) {
		run.Steps = append(run.Steps, recording.Step{PID: 1, Rank: -1, N: i, Start: 200e-6 * float64(i), Period: 200e-6})
	}
	return run
}

func TestRandomTimelinesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		check(t, idle.Analyse(run(r)))
	}
}

// Shifting all times or renumbering threads changes no cause.
func TestShiftAndRenumber(t *testing.T) {
	for seed := range uint64(300) {
		want := idle.Analyse(run(rand.New(rand.NewPCG(seed, 3))))
		after := run(rand.New(rand.NewPCG(seed, 3)))
		moved := after.Timeline
		for i := range after.Steps {
			after.Steps[i].Start++
		}
		for _, column := range [][]int64{moved.Host.Start, moved.Host.End, moved.Frames.Start, moved.Frames.End, moved.Device.Start, moved.Device.End} {
			for i := range column {
				column[i] += 1e9
			}
		}
		moved.Start, moved.End = moved.Start+1e9, moved.End+1e9
		n := int32(len(moved.Threads))
		slices.Reverse(moved.Threads)
		for i := range moved.Host.Thread {
			moved.Host.Thread[i] = n - 1 - moved.Host.Thread[i]
		}
		for i := range moved.Frames.Thread {
			moved.Frames.Thread[i] = n - 1 - moved.Frames.Thread[i]
		}
		got := idle.Analyse(after)
		for i := range want.Devices {
			w, g := want.Devices[i], got.Devices[i]
			if w.Causes != g.Causes || w.Kernel != g.Kernel || w.Copy != g.Copy || w.Communication != g.Communication {
				t.Fatalf("seed %d, device %d:\n%v\n%v", seed, i, w.Causes, g.Causes)
			}
		}
	}
}

func TestFusedBytes(t *testing.T) {
	if got := replay.FusedBytes(2); math.Abs(got-2.0/3) > 1e-12 {
		t.Errorf("d = a + b + c: %v of the bytes are left, want 2/3", got)
	}
}

// A page of managed memory that moves has no launch: the gap before it is what the host did that
// touched it, however short.
func TestPagesThatTheHostTouches(t *testing.T) {
	l := newLine()
	l.kernel(10, 1000, l.launch(0))
	l.host(recording.Runtime, 5, 1005, "cudaDeviceSynchronize")
	for page := range 20 {
		at := 1100 + 100*float64(page)
		l.work(recording.Copy, at, at+10, "Memcpy DtoH (Device -> Managed)", -1)
	}
	d := idle.Analyse(&recording.Run{Timeline: l.sorted()}).Devices[0]
	if d.Causes[idle.Unlinked] != 0 || d.Causes[idle.Unrecorded] < 1_700_000 || d.LongWork < 1_700_000 {
		t.Errorf("unlinked %d ns, unrecorded %d, the host's own work %d of about 1,805,000",
			d.Causes[idle.Unlinked], d.Causes[idle.Unrecorded], d.LongWork)
	}
}

// A program that allocates for each kernel until its end is not starting up.
func TestAllocatingForEachKernel(t *testing.T) {
	for per, start := range map[int]bool{1: false, 4: true} { // kernels to an allocation
		l, at := newLine(), 0.0
		for i := range 40 {
			if i%per == 0 {
				l.host(recording.Runtime, at+1, at+900, "cudaMalloc")
				at += 900
			}
			l.kernel(at+20, at+40, l.launch(at+10))
			at += 50
		}
		a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
		if d := &a.Devices[0]; d.StartUp != start {
			t.Errorf("%d kernels to an allocation: a start: %t", per, d.StartUp)
		}
	}
}

// A recording of few kernels whose time is a few gaps between them shows first calls, which come once: compilation,
// loading. Gaps all alike, and those at its ends, say nothing of that.
func TestFewGapsAreAStart(t *testing.T) {
	for what, c := range map[string]struct {
		gaps  []float64 // us before each kernel but the first
		start bool
	}{
		"two long gaps":    {append([]float64{40_000, 60_000}, make([]float64, 20)...), true},
		"gaps all alike":   {slices.Repeat([]float64{5_000}, 22), false},
		"no gap of weight": {slices.Repeat([]float64{10}, 22), false},
	} {
		l, at := newLine(), 0.0
		l.kernel(at, at+20, l.launch(at))
		for _, gap := range c.gaps {
			at += 30 + gap
			l.kernel(at, at+20, l.launch(at-5))
		}
		if d := idle.Analyse(&recording.Run{Timeline: l.sorted()}).Devices[0]; d.StartUp != c.start {
			t.Errorf("%s: a start: %t", what, d.StartUp)
		}
	}
}

// What TorchScript's fuser compiles before a kernel's first run comes once; before a later run it is an operator's work.
func TestFusedKernelsAreCompiledOnce(t *testing.T) {
	l := newLine()
	l.kernel(0, 10, l.launch(0))
	for _, at := range []float64{5000, 10_000} {
		l.host(recording.Op, at-4000, at, "delta")
		l.work(recording.Kernel, at+5, at+20, "fused_add_mul_15680171862954066917", l.launch(at))
	}
	d := idle.Analyse(&recording.Run{Timeline: l.sorted()}).Devices[0]
	if once, own := d.Causes[idle.WarmUp]/1000, d.Causes[idle.CPUOp]/1000; once < 3900 || own < 3900 || own > 4200 {
		t.Errorf("%d us once, %d us of operators, want 4000 of each", once, own)
	}
}

// A call that waits because the queue is full is no warm-up: its work starts long behind its return. One whose work
// starts at once loaded it.
func TestAFullQueueIsNoWarmUp(t *testing.T) {
	for name, starts := range map[string]float64{"full": 90_000, "loads": 12_500} {
		l := newLine()
		l.host(recording.Op, 0, 5, "aten::mul")
		first := l.launch(0)
		l.kernel(10, 9900, first)
		long := l.host(recording.Runtime, 10_000, 12_400, "cudaMemsetAsync")
		l.work(recording.Set, starts, starts+5, "Memset (Device)", long)
		if starts > 12_500 {
			l.kernel(9901, 89_000, first)
		}
		a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
		warmUp := false
		for s := range a.Doing(&a.Devices[0], 9_990_000, 12_400_000) {
			warmUp = warmUp || s.Cause == idle.WarmUp
		}
		if warmUp != (name == "loads") {
			t.Errorf("%s: warm-up %t", name, warmUp)
		}
	}
}
