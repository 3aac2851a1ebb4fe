package replay

import (
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// machine runs small programs on devices with streams and writes down what a
// profiler would: the other side of what is tested here. Times in microseconds.
type machine struct {
	t       *recording.Timeline
	run     *recording.Run
	threads []*host
}

// host is one launching thread and the device of its process.
type host struct {
	m      *machine
	number int32
	device int32
	now    float64
	free   map[int32]float64 // of each stream
	begun  float64
	steps  int
}

const call, flight = 4, 3 // what a launch takes, and until its work starts

func newMachine() *machine {
	return &machine{t: &recording.Timeline{}, run: &recording.Run{}}
}

// rank adds a process with one thread and one device.
func (m *machine) rank() *host {
	r := len(m.t.Devices)
	m.t.Devices = append(m.t.Devices, recording.Device{PID: 100 + r, Index: r, Rank: r, GPU: -1})
	return m.thread(r)
}

// thread adds a thread to a process.
func (m *machine) thread(rank int) *host {
	h := &host{m: m, number: int32(len(m.t.Threads)), device: int32(rank), free: map[int32]float64{}}
	m.t.Threads = append(m.t.Threads, recording.Thread{PID: 100 + rank, ID: int64(h.number), Rank: rank})
	m.threads = append(m.threads, h)
	return h
}

func (m *machine) name(s string) int32 {
	if i := slices.Index(m.t.Names, s); i >= 0 {
		return int32(i)
	}
	m.t.Names = append(m.t.Names, s)
	return int32(len(m.t.Names) - 1)
}

func ns(us float64) int64 { return int64(math.Round(1e3 * us)) }

func (h *host) span(kind recording.CallKind, from, to float64, name string) int32 {
	c := &h.m.t.Host
	c.Start, c.End, c.Name = append(c.Start, ns(from)), append(c.End, ns(to)), append(c.Name, h.m.name(name))
	c.Thread, c.Kind = append(c.Thread, h.number), append(c.Kind, kind)
	c.Shapes, c.Types = append(c.Shapes, -1), append(c.Types, -1)
	h.m.t.End = max(h.m.t.End, ns(to))
	return int32(len(c.Start) - 1)
}

// work puts work on a stream: not before its call's flight nor the stream.
func (h *host) work(kind recording.WorkKind, stream int32, length float64, name string, call int32,
	bytes int64,
) (end float64) {
	start := max(h.now+flight, h.free[stream]+1)
	h.free[stream] = start + length
	w := &h.m.t.Device
	w.Start, w.End, w.Name = append(w.Start, ns(start)), append(w.End, ns(start+length)), append(w.Name, h.m.name(name))
	w.Device, w.Stream, w.Kind = append(w.Device, h.device), append(w.Stream, stream), append(w.Kind, kind)
	w.Call, w.Bytes, w.Group = append(w.Call, call), append(w.Bytes, bytes), append(w.Group, -1)
	w.Blocks, w.Threads = append(w.Blocks, 0), append(w.Threads, 0)
	w.PerSM, w.Occupancy = append(w.PerSM, float32(math.NaN())), append(w.Occupancy, float32(math.NaN()))
	h.m.t.End = max(h.m.t.End, ns(start+length))
	return start + length
}

func (h *host) think(us float64) { h.now += us }

func (h *host) kernel(us float64) { h.kernelOn(7, us) }

func (h *host) kernelOn(stream int32, us float64) {
	c := h.span(recording.Runtime, h.now, h.now+call, "cudaLaunchKernel")
	h.work(recording.Kernel, stream, us, "kernel", c, -1)
	h.now += call
}

// copy is one from pageable memory: the call returns when it is done.
func (h *host) copy(us float64, bytes int64) {
	c := h.span(recording.Runtime, h.now, h.now, "cudaMemcpyAsync")
	end := h.work(recording.Copy, 7, us, "Memcpy HtoD (Pageable -> Device)", c, bytes)
	h.now = end + 5
	h.m.t.Host.End[c] = ns(h.now)
}

// pinned is a copy that the thread does not wait for.
func (h *host) pinned(stream int32, us float64, bytes int64) {
	c := h.span(recording.Runtime, h.now, h.now+call, "cudaMemcpyAsync")
	h.work(recording.Copy, stream, us, "Memcpy HtoD (Pinned -> Device)", c, bytes)
	h.now += call
}

// toHost is a copy back that the thread does not wait for.
func (h *host) toHost(stream int32, us float64, bytes int64) {
	c := h.span(recording.Runtime, h.now, h.now+call, "cudaMemcpyAsync")
	h.work(recording.Copy, stream, us, "Memcpy DtoH (Device -> Pinned)", c, bytes)
	h.now += call
}

// sync waits for all streams.
func (h *host) sync() {
	end := h.now + 2
	for _, free := range h.free {
		end = max(end, free+2)
	}
	h.span(recording.Runtime, h.now, end, "cudaDeviceSynchronize")
	h.now = end
}

func (h *host) load(us float64) {
	h.span(recording.Annotation, h.now, h.now+us, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
	h.now += us
}

// step ends a step.
func (h *host) step() {
	h.m.run.Steps = append(h.m.run.Steps, recording.Step{
		PID: 100 + int(h.device), Rank: int(h.device), N: h.steps, Start: h.begun / 1e6,
		Period: (h.now - h.begun) / 1e6, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(),
	})
	h.begun, h.steps = h.now, h.steps+1
}

// done puts everything in the order of a Timeline.
func (m *machine) done() *recording.Run {
	c := &m.t.Host
	order := ordered(c.Start)
	place := make([]int32, len(order))
	for to, from := range order {
		place[from] = int32(to)
	}
	c.Start, c.End, c.Name, c.Thread = moved(c.Start, order), moved(c.End, order), moved(c.Name, order),
		moved(c.Thread, order)
	c.Kind, c.Shapes, c.Types = moved(c.Kind, order), moved(c.Shapes, order), moved(c.Types, order)
	w := &m.t.Device
	order = ordered(w.Start)
	w.Start, w.End, w.Name, w.Device = moved(w.Start, order), moved(w.End, order), moved(w.Name, order),
		moved(w.Device, order)
	w.Stream, w.Kind, w.Call, w.Bytes = moved(w.Stream, order), moved(w.Kind, order), moved(w.Call, order),
		moved(w.Bytes, order)
	for i := range w.Call {
		w.Call[i] = place[w.Call[i]]
	}
	m.run.Timeline = m.t
	return m.run
}

func ordered(starts []int64) []int {
	order := make([]int, len(starts))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return starts[order[a]] < starts[order[b]] })
	return order
}

func moved[T any](column []T, order []int) []T {
	out := make([]T, len(column))
	for to, from := range order {
		out[to] = column[from]
	}
	return out
}

// program runs a loop of so many steps on one rank.
func program(steps int, step func(h *host)) *recording.Run {
	m := newMachine()
	h := m.rank()
	for range steps {
		step(h)
		h.step()
	}
	return m.done()
}

func ready(t *testing.T, run *recording.Run) *Trace {
	t.Helper()
	tr, why := New(run, Marks{})
	if why != "" {
		t.Fatal(why)
	}
	return tr
}

// exact fails unless an unedited replay has all times as recorded.
func exact(t *testing.T, tr *Trace) {
	t.Helper()
	p := tr.startPlay()
	p.runAll()
	for i := range tr.items {
		if it := &tr.items[i]; p.from[i] != it.start || p.to[i] != it.end {
			t.Fatalf("item %d (kind %d) replayed %d to %d, recorded %d to %d", i, it.kind, p.from[i], p.to[i],
				it.start, it.end)
		}
	}
	for i := range tr.works {
		if w := &tr.works[i]; p.begin[i] != w.start || p.end[i] != w.end {
			t.Fatalf("work %d replayed %d to %d, recorded %d to %d", i, p.begin[i], p.end[i], w.start, w.end)
		}
	}
}

// likelyStep is the likely step after an edit, in microseconds.
func likelyStep(tr *Trace, e Edit) float64 {
	tr.Check()
	return tr.playEdit(e, bounds.Likely).step / 1e3
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: %.1f us, want %.1f", what, got, want)
	}
}
