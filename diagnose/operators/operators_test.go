package operators

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// made is a Timeline under construction; times are microseconds.
type made struct {
	recording.Timeline
	names map[string]int32
}

func timeline() *made {
	return &made{names: map[string]int32{}, Timeline: recording.Timeline{
		Threads: []recording.Thread{{PID: 1, ID: 1, Name: "main"}, {PID: 1, ID: 2, Name: "autograd"}},
		Devices: []recording.Device{{PID: 1, GPU: 0}},
	}}
}

func (m *made) name(s string) int32 {
	if s == "" {
		return -1
	}
	id, found := m.names[s]
	if !found {
		id = int32(len(m.Names))
		m.names[s], m.Names = id, append(m.Names, s)
	}
	return id
}

func (m *made) call(thread int32, kind recording.CallKind, name string, from, to int64, operands ...string) int32 {
	h := &m.Host
	h.Start, h.End = append(h.Start, 1000*from), append(h.End, 1000*to)
	h.Name, h.Thread, h.Kind = append(h.Name, m.name(name)), append(h.Thread, thread), append(h.Kind, kind)
	operands = append(operands, "", "")
	h.Shapes, h.Types = append(h.Shapes, m.name(operands[0])), append(h.Types, m.name(operands[1]))
	m.End = max(m.End, 1000*to)
	return int32(len(h.Start) - 1)
}

func (m *made) kernel(call int32, name string, from, to int64) {
	w := &m.Device
	w.Start, w.End, w.Name = append(w.Start, 1000*from), append(w.End, 1000*to), append(w.Name, m.name(name))
	w.Device, w.Stream, w.Kind, w.Call = append(w.Device, 0), append(w.Stream, 7), append(w.Kind, recording.Kernel), append(w.Call, call)
	w.Bytes, w.Blocks, w.Threads, w.Group = append(w.Bytes, -1), append(w.Blocks, 0), append(w.Threads, 0), append(w.Group, -1)
	nan := float32(math.NaN())
	w.PerSM, w.Occupancy = append(w.PerSM, nan), append(w.Occupancy, nan)
	m.End = max(m.End, 1000*to)
}

func (m *made) frame(thread int32, name string, from, to int64) {
	f := &m.Frames
	f.Start, f.End = append(f.Start, 1000*from), append(f.End, 1000*to)
	f.Name, f.Thread = append(f.Name, m.name(name)), append(f.Thread, thread)
}

func (m *made) run(gpu string) *recording.Run {
	return &recording.Run{Timeline: &m.Timeline, Facts: recording.Facts{GPUs: []recording.GPU{{Name: gpu}}}}
}

func find(t *testing.T, table *Table, name string) Row {
	t.Helper()
	for _, r := range table.Rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row %q in %+v", name, table.Rows)
	return Row{}
}

// step is one step: linear over addmm over a launch; the same node recorded
// twice; a helper that PyTorch leaves out.
func step() *made {
	m := timeline()
	m.frame(0, "train.py(12): step", 0, 100)
	m.frame(0, "torch/nn/linear.py(5): forward", 5, 60)
	m.call(0, recording.Annotation, "ProfilerStep#3", 0, 100)
	m.call(0, recording.Op, "aten::linear", 10, 50)
	m.call(0, recording.Op, "aten::is_leaf", 12, 14)
	m.call(0, recording.Op, "aten::addmm", 20, 40)
	launch := m.call(0, recording.Runtime, "cudaLaunchKernel", 30, 35)
	m.call(1, recording.Op, "AddmmBackward0", 60, 90)
	m.call(1, recording.Op, "AddmmBackward0", 61, 89)
	back := m.call(1, recording.Op, "aten::mm", 70, 80)
	m.call(0, recording.Annotation, "ProfilerStep#4", 100, 110)
	m.kernel(launch, "gemm", 40, 60)
	m.kernel(back, "gemm", 80, 120)
	m.kernel(-1, "unknown", 130, 135)
	return m
}

func TestTabulateCountsAsPyTorchDoes(t *testing.T) {
	table := Tabulate(&step().Timeline, Options{})
	want := []Row{
		{Name: "aten::mm", Calls: 1, CPU: 10, CPUSelf: 10, Device: 40, DeviceSelf: 40, Source: "train.py(12): step"},
		{Name: "aten::addmm", Calls: 1, CPU: 20, CPUSelf: 15, Device: 20, DeviceSelf: 20, Source: "train.py(12): step"},
		{Name: "ProfilerStep*", Calls: 2, CPU: 110, CPUSelf: 70, Device: 20, Source: "train.py(12): step"},
		{Name: "aten::linear", Calls: 1, CPU: 40, CPUSelf: 20, Device: 20, Source: "train.py(12): step"},
		{Name: "AddmmBackward0", Calls: 1, CPU: 30, CPUSelf: 20, Device: 40, Source: "train.py(12): step"},
		{Name: "cudaLaunchKernel", Calls: 1, CPU: 5, CPUSelf: 5, Source: "train.py(12): step"},
	}
	if len(table.Rows) != len(want) || table.Of != len(want) {
		t.Fatalf("%d rows of %d, want %d: %+v", len(table.Rows), table.Of, len(want), table.Rows)
	}
	for _, w := range want {
		w.CPU, w.CPUSelf, w.Device, w.DeviceSelf = 1000*w.CPU, 1000*w.CPUSelf, 1000*w.Device, 1000*w.DeviceSelf
		if got := find(t, table, w.Name); got != w {
			t.Errorf("%s:\n got %+v\nwant %+v", w.Name, got, w)
		}
	}
	if table.Device != 65_000 || table.Outside != 5_000 {
		t.Errorf("device %d, outside %d", table.Device, table.Outside)
	}
	if first := table.Rows[0].Name; first != "aten::mm" {
		t.Errorf("by own time on the device %s comes first", first)
	}
}

func TestOrders(t *testing.T) {
	m := step()
	for by, first := range map[By]string{ByGPU: "AddmmBackward0", ByCPU: "ProfilerStep*", BySelf: "aten::mm"} {
		table := Tabulate(&m.Timeline, Options{By: by, Top: 1})
		if len(table.Rows) != 1 || table.Rows[0].Name != first || table.Of != 6 {
			t.Errorf("by %s: %+v of %d, want %s of 6", by, table.Rows, table.Of, first)
		}
	}
	if _, err := ParseBy("time"); err == nil {
		t.Error("an unknown order is taken")
	}
}

func TestShapesMakeRows(t *testing.T) {
	m := timeline()
	m.call(0, recording.Op, "aten::mm", 0, 10, "[[2,3],[3,4]]")
	m.call(0, recording.Op, "aten::mm", 20, 40, "[[5,3],[3,4]]")
	if n := len(Tabulate(&m.Timeline, Options{}).Rows); n != 1 {
		t.Errorf("%d rows without shapes, want 1", n)
	}
	table := Tabulate(&m.Timeline, Options{Shapes: true})
	if len(table.Rows) != 2 || table.Rows[0].Shapes != "[[5,3],[3,4]]" || table.Share(table.Rows[0]) != 20.0/30 {
		t.Errorf("with shapes: %+v", table.Rows)
	}
}

// Whatever the order in a file of calls that start together, the longest is
// around the others; calls that overlap in part are around nothing.
func TestNesting(t *testing.T) {
	m := timeline()
	inner := m.call(0, recording.Op, "inner", 0, 5)
	outer := m.call(0, recording.Op, "outer", 0, 10)
	late := m.call(0, recording.Op, "late", 8, 12)
	after := m.call(0, recording.Op, "after", 12, 13)
	g := nestOf(&m.Timeline)
	for call, want := range map[int32]int32{inner: outer, outer: -1, late: -1, after: -1} {
		if g.parent[call] != want {
			t.Errorf("%s lies within %d, want %d", m.Names[m.Host.Name[call]], g.parent[call], want)
		}
	}
}

// Own times add up to the time of the calls around all others, and totals are
// never below own times.
func TestOwnTimesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m := timeline()
		outermost := int64(0)
		for thread := range int32(2) {
			at := int64(0)
			for range 3 {
				length := 20 + random.Int64N(100)
				grow(m, random, thread, at, at+length)
				outermost += length
				at += length + random.Int64N(5)
			}
		}
		sortCalls(m)
		table := Tabulate(&m.Timeline, Options{})
		if table.CPU != 1000*outermost {
			t.Fatalf("own times sum to %d, the outermost calls take %d", table.CPU, 1000*outermost)
		}
		for _, r := range table.Rows {
			if r.CPUSelf < 0 || r.CPUSelf > r.CPU {
				t.Fatalf("row %+v", r)
			}
		}
	}
}

// grow makes a call and random ones within. Names differ by depth, so that none
// is its parent's double.
func grow(m *made, random *rand.Rand, thread int32, from, to int64) {
	growAt(m, random, thread, from, to, 0)
}

func growAt(m *made, random *rand.Rand, thread int32, from, to int64, depth int) {
	m.call(thread, recording.Op, fmt.Sprintf("op%d.%d", depth, random.IntN(3)), from, to)
	for at := from; at < to && depth < 4; {
		a := at + random.Int64N(10)
		b := a + random.Int64N(20)
		if b > to {
			return
		}
		if b > a {
			growAt(m, random, thread, a, b, depth+1)
		}
		at = b + 1
	}
}

// sortCalls orders the calls by start, as a Timeline's are. All columns but these
// are the same throughout.
func sortCalls(m *made) {
	h := &m.Host
	for i := 1; i < len(h.Start); i++ {
		for j := i; j > 0 && h.Start[j] < h.Start[j-1]; j-- {
			h.Start[j], h.Start[j-1] = h.Start[j-1], h.Start[j]
			h.End[j], h.End[j-1] = h.End[j-1], h.End[j]
			h.Name[j], h.Name[j-1] = h.Name[j-1], h.Name[j]
			h.Thread[j], h.Thread[j-1] = h.Thread[j-1], h.Thread[j]
		}
	}
}

func TestParseShapes(t *testing.T) {
	for text, want := range map[string]string{
		"[[32,3,224,224],[64,3,7,7],[]]": "[[32 3 224 224] [64 3 7 7] []]",
		"[]":                             "[]",
		"[[],[1]]":                       "[[] [1]]",
		"[[[2,3],[4,5]],[7]]":            "[[] [7]]", // a list of tensors has no shape of its own
	} {
		got, ok := ParseShapes(text)
		if !ok || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"[[1", "]", "[[a]]", "[[99999999999999999999]]", "[[-1]]"} {
		if got, ok := ParseShapes(text); ok {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}

func FuzzParseShapes(f *testing.F) {
	f.Add("[[32,3,224,224],[64,3,7,7],[]]")
	f.Add("[[[2,3],[4,5]],[7]]")
	f.Fuzz(func(t *testing.T, text string) {
		shapes, _ := ParseShapes(text)
		for _, formula := range formulas {
			if p, ok := formula(shapes, Dims{1, 2, 3, 4}); ok && (math.IsNaN(p.flop) || p.flop < 0) {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}

func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		name, shapes string
		out          Dims
		flop         float64
		elements     float64
	}{
		{"aten::mm", "[[2,3],[3,4]]", nil, 48, 6 + 12 + 8},
		{"aten::addmm", "[[4],[2,3],[3,4],[],[]]", nil, 48, 6 + 12 + 8},
		{"aten::bmm", "[[5,2,3],[5,3,4]]", nil, 240, 30 + 60 + 40},
		{"aten::linear", "[[7,2,3],[4,3],[4]]", nil, 336, 42 + 12 + 56},
		// One image of 3 x 4 x 4, two filters of 3 x 3: 2 x 2 x 2 results of 27 products.
		{"aten::convolution", "[[1,3,4,4],[2,3,3,3]]", Dims{1, 2, 2, 2}, 2 * 8 * 27, 48 + 54 + 8},
		{"aten::convolution_backward", "[[1,2,2,2],[1,3,4,4],[2,3,3,3]]", nil, 4 * 8 * 27, 2 * (48 + 54 + 8)},
		// In two groups each result is of half the channels.
		{"aten::convolution", "[[1,4,4,4],[2,2,3,3]]", Dims{1, 2, 2, 2}, 2 * 8 * 18, 64 + 36 + 8},
		{"aten::_scaled_dot_product_flash_attention", "[[1,2,5,8],[1,2,7,8],[1,2,7,8]]", nil, 4 * 2 * 5 * 7 * 8, 80 + 112 + 112 + 80},
	} {
		in, _ := ParseShapes(c.shapes)
		p, ok := formulas[c.name](in, c.out)
		if !ok || p.flop != c.flop || p.elements != c.elements {
			t.Errorf("%s %s: %+v, %v; want %g FLOP, %g elements", c.name, c.shapes, p, ok, c.flop, c.elements)
		}
	}
	for name, shapes := range map[string]string{
		"aten::mm": "[[2,3],[4,4]]", "aten::linear": "[[2],[]]", "aten::convolution": "[[1,3,4,4],[2,3,3,3]]", // no result's shape
		"aten::bmm": "[]", "aten::convolution_backward": "[[],[1,3,4,4],[2,3,3,3]]",
	} {
		in, _ := ParseShapes(shapes)
		if p, ok := formulas[name](in, nil); ok {
			t.Errorf("%s %s: %+v, want none", name, shapes, p)
		}
	}
}

func TestRoofline(t *testing.T) {
	m := timeline()
	// The inner one of two formulas counts: it has the types that were computed in.
	m.call(0, recording.Op, "aten::linear", 0, 30, "[[4096,4096],[4096,4096]]", "[float,float]")
	mm := m.call(0, recording.Op, "aten::mm", 5, 20, "[[4096,4096],[4096,4096]]", "[c10::BFloat16,c10::BFloat16]")
	conv := m.call(0, recording.Op, "aten::cudnn_convolution", 40, 50, "[[8,16,32,32],[32,16,3,3],[],[],[],[],[]]", "[float,float,,,,,]")
	m.call(0, recording.Op, "aten::batch_norm", 50, 60, "[[8,32,30,30]]")
	small := m.call(0, recording.Op, "aten::mm", 70, 75, "[[8,8],[8,8]]", "[float,float]")
	m.kernel(mm, "sm80_xmma_gemm_bf16bf16_bf16f32", 100, 1100)
	m.kernel(conv, "ampere_scudnn_128x64_relu", 1200, 1210)
	m.kernel(small, "some_gemm", 1300, 1310)
	m.kernel(-1, "vectorized_elementwise_kernel", 1400, 1420)
	run := m.run("NVIDIA A100-SXM4-80GB")
	r := measureRun(run, idle.Analyse(run))
	if r.Why != "" || r.GPU.Name != "a100-sxm-80gb" && r.GPU.Name != "a100-80gb-sxm" || len(r.Points) != 3 {
		t.Fatalf("%+v", r)
	}
	if got := r.Points[0]; got.Name != "aten::mm" || got.Precision != "fp16" || got.Calls != 1 || got.FLOP != 2*4096*4096*4096 ||
		math.Abs(got.Attained-1.374e14) > 1e11 || got.MemoryBound() || math.Abs(got.Share-got.Attained/312e12) > 1e-9 {
		t.Errorf("product of bf16 matrices: %+v", got)
	}
	if got := r.Points[1]; got.Precision != "fp32" || got.FLOP != 2*8*32*30*30*16*9 {
		t.Errorf("convolution whose result the next operator tells: %+v", got)
	}
	if got := r.Points[2]; got.Precision != "" || !math.IsNaN(got.Share) || got.FLOP != 1024 {
		t.Errorf("product on unknown cores: %+v", got)
	}
	if want := 1020.0 / 1040; math.Abs(r.Covered-want) > 1e-9 {
		t.Errorf("covers %g of kernel time, want %g", r.Covered, want)
	}
}

func TestRooflineSaysWhyThereIsNone(t *testing.T) {
	m := step()
	run := m.run("")
	if r := measureRun(run, idle.Analyse(run)); r.Why == "" || len(r.Points) != 0 {
		t.Errorf("without shapes: %+v", r)
	}
	empty := timeline()
	run = empty.run("")
	if r := measureRun(run, idle.Analyse(run)); r.Why == "" || !math.IsNaN(r.Covered) {
		t.Errorf("without kernels: %+v", r)
	}
}

// measureRun finds the matrix work of a run with a Timeline.
func measureRun(run *recording.Run, all *idle.Analysis) *Roofline {
	return measureRoofline(run, all, nestOf(run.Timeline))
}

// The lines of a trace's roofline: device memory from the table, the link as copies ran, and
// input only where the device waited for it.
func TestCeilings(t *testing.T) {
	m := timeline()
	mm := m.call(0, recording.Op, "aten::mm", 5, 20, "[[4096,4096],[4096,4096]]", "[c10::BFloat16,c10::BFloat16]")
	m.kernel(mm, "sm80_xmma_gemm_bf16bf16_bf16f32", 1100, 2100)
	run := m.run("NVIDIA A100-SXM4-80GB")
	all := idle.Analyse(run)
	d := &all.Devices[0]
	r := measureRun(run, all)
	for stall, want := range map[float64]int{0.5: 2, 0: 2, math.NaN(): 2} { // next to nothing was copied
		c := r.FindCeilings(all, d, stall)
		if c == nil || len(c.Diagonals) != want || len(c.Sources) != 3 || len(c.Points) != 2 {
			t.Fatalf("stall %g: %+v", stall, c)
		}
		if got := c.Points[0]; math.Abs(got.Attained.Point-1.374e14) > 1e11 || !math.IsNaN(got.Copied) || math.Abs(got.Delivered.Point*float64(d.WindowLength())/1e9-r.FLOP) > 1 {
			t.Errorf("the steps: %+v", got)
		}
	}
	c := &Ceilings{}
	down := idle.Direction{Bytes: 50e6, Sized: 5e6} // 10 GB/s
	if got := c.linkRate(r.GPU, down); got != 1e10 {
		t.Errorf("link %g", got)
	}
	if got := c.supply(down, 2, 0.5); got != 25e6 {
		t.Errorf("supply %g", got)
	}
	if got := c.supply(down, 2, 0.01); !math.IsNaN(got) || !strings.Contains(c.Sources[2], "no line") {
		t.Errorf("supply %g of a fed device: %v", got, c.Sources)
	}
	if run.Facts.GPUs[0].Name = "unheard of"; measureRun(run, all).FindCeilings(all, d, 0) != nil {
		t.Error("lines of an unknown device")
	}
}
