package operators

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Roofline is a run's matrix work held against what its device can do.
type Roofline struct {
	GPU     hardware.GPU // zero where the device is not in the table
	Device  string       // as recorded; "" unknown
	Points  []Point      // by operator and precision, most device time first
	FLOP    float64      // of all points
	Seconds float64      // of device time
	Covered float64      // part of the time of all kernels that points speak of, 0 to 1; NaN without kernels
	Why     string       // why there is no point, "" if there are some

	done []launched // the calls that points add up
}

// launched is a call's matrix work on its device.
type launched struct {
	device      int32
	start, time int64 // of its kernels
	flop, bytes float64
}

// Point is one operator in one precision. NaN is unknown.
type Point struct {
	Name      string
	Precision hardware.Precision // "" unknown
	Calls     int
	FLOP      float64 // two per multiply-add
	Bytes     float64 // operands and result, each once
	Seconds   float64 // of device time
	Attained  float64 // FLOP/s
	Intensity float64 // FLOP per byte
	Ridge     float64 // FLOP per byte at which the device's memory stops being the limit
	Roof      float64 // FLOP/s that the device can do at this intensity
	Peak      float64 // FLOP/s in this precision
	Share     float64 // attained, of the peak
}

// MemoryBound reports whether the point is left of the ridge.
func (p Point) MemoryBound() bool { return p.Intensity < p.Ridge }

func measureRoofline(run *recording.Run, all *idle.Analysis, g *nest) *Roofline {
	m := &matrixWork{nest: g, cores: coresOf(all)}
	m.products()
	m.attribute(all)
	r := &Roofline{Covered: math.NaN()}
	r.findDevice(run, all)
	r.points(m)
	switch {
	case m.kernels == 0:
		r.Why = "no kernels were recorded"
	case !slices.ContainsFunc(run.Timeline.Host.Shapes, func(s int32) bool { return s >= 0 }):
		r.Why = "operand shapes were not recorded: record with record_shapes=True"
	case len(r.Points) == 0:
		r.Why = "no matrix product, convolution or attention with known shapes launched a kernel"
	}
	return r
}

// matrixWork collects the matrix work of calls.
type matrixWork struct {
	*nest
	cores   map[int32]idle.CoreKind // of a kernel's name
	work    map[int32]*callWork     // of calls with a formula, the innermost of each
	kernels int64                   // time of all kernels, collectives left out
}

// callWork is one call's matrix work.
type callWork struct {
	matrixProduct
	precision     hardware.Precision
	bytes         float64
	time          int64 // of its kernels
	tensor, plain int64 // of it, on Tensor Cores and known not to be
	device        int32 // that its first kernel ran on
	start         int64 // of its first kernel
}

func coresOf(all *idle.Analysis) map[int32]idle.CoreKind {
	cores := map[int32]idle.CoreKind{}
	for i := range all.Devices {
		for _, total := range all.SumKernels(&all.Devices[i]).Totals {
			cores[total.Name] = total.Cores
		}
	}
	return cores
}

// products finds the calls that multiply matrices. Backwards, so that a call
// within is seen before the one around it.
func (m *matrixWork) products() {
	m.work = map[int32]*callWork{}
	t := m.t
	known := make([]formula, len(t.Names))
	for i, name := range t.Names {
		known[i] = formulas[name]
	}
	shapes := map[int32][]Dims{}
	results := m.results(known, shapes)
	inner := make([]bool, len(t.Host.Start))
	for _, call := range slices.Backward(m.order) {
		f := known[t.Host.Name[call]]
		counts := false
		if f != nil && !inner[call] && t.Host.Shapes[call] >= 0 {
			counts = m.addCall(call, f, m.shapes(shapes, call), results)
		}
		if p := m.parent[call]; p >= 0 && (counts || inner[call]) {
			inner[p] = true
		}
	}
}

func (m *matrixWork) addCall(call int32, f formula, in []Dims, results map[int32]Dims) bool {
	h := &m.t.Host
	p, ok := f(in, results[call])
	if !ok || !(p.flop > 0) {
		return false
	}
	c := &callWork{matrixProduct: p}
	size := math.NaN()
	if h.Types[call] >= 0 {
		if kinds := types(m.t.Names[h.Types[call]]); p.operand < len(kinds) {
			size, c.precision = element(kinds[p.operand])
		}
	}
	c.bytes = size * p.elements
	m.work[call] = c
	return true
}

// shapes parses each recorded text once.
func (m *matrixWork) shapes(known map[int32][]Dims, call int32) []Dims {
	id := m.t.Host.Shapes[call]
	if id < 0 {
		return nil
	}
	in, found := known[id]
	if !found {
		in, _ = ParseShapes(m.t.Names[id])
		known[id] = in
	}
	return in
}

// results are shapes of convolutions' results by the shapes of their operands, as
// the backward pass tells them: its operands are the result's gradient, the
// input and the weight.
func (m *matrixWork) results(known []formula, shapes map[int32][]Dims) map[int32]Dims {
	h := &m.t.Host
	byOperands := map[string]Dims{}
	for call := range h.Start {
		if known[h.Name[call]] == nil || m.t.Names[h.Name[call]] != "aten::convolution_backward" {
			continue
		}
		if in := m.shapes(shapes, int32(call)); len(in) >= 3 {
			byOperands[fmt.Sprint(in[1], in[2])] = in[0]
		}
	}
	next := m.following()
	out := map[int32]Dims{}
	for call := range h.Start {
		if known[h.Name[call]] == nil || !convolves(m.t.Names[h.Name[call]]) {
			continue
		}
		in := m.shapes(shapes, int32(call))
		if len(in) < 2 {
			continue
		}
		if result := byOperands[fmt.Sprint(in[0], in[1])]; result != nil {
			out[int32(call)] = result
			continue
		}
		out[int32(call)] = m.taken(int32(call), in, next, shapes)
	}
	return out
}

// following is the next call on each call's thread.
func (m *matrixWork) following() []int32 {
	h := &m.t.Host
	next := make([]int32, len(h.Start))
	last := make([]int32, len(m.t.Threads))
	for i := range last {
		last[i] = -1
	}
	for call := len(h.Start) - 1; call >= 0; call-- {
		next[call] = last[h.Thread[call]]
		last[h.Thread[call]] = int32(call)
	}
	return next
}

// lookAhead is how many calls after a convolution its result is looked for as
// another operator's first operand. [J] A bias, a norm or an activation follows
// within ten.
const lookAhead = 32

// taken is the first operand of the next operator that has as many images as the
// convolution's input and as many channels as its weight makes: in practice the
// bias, norm or activation that takes the result.
func (m *matrixWork) taken(call int32, in []Dims, next []int32, shapes map[int32][]Dims) Dims {
	x, w := in[0], in[1]
	if len(x) < 3 || len(w) != len(x) {
		return nil
	}
	h := &m.t.Host
	after := next[call]
	for range lookAhead {
		if after < 0 {
			break
		}
		if h.Start[after] >= h.End[call] {
			if in := m.shapes(shapes, after); len(in) > 0 && len(in[0]) == len(x) && in[0][0] == x[0] &&
				in[0][1] == w[0] && smaller(in[0], x, w) {
				return in[0]
			}
		}
		after = next[after]
	}
	return nil
}

// smaller reports whether a result can come from an input: no axis grows by more
// than the kernel is wide.
func smaller(out, in, weight Dims) bool {
	for i := 2; i < len(out); i++ {
		if out[i] > in[i]+weight[i] {
			return false
		}
	}
	return true
}

// attribute hands kernels to the calls that launched them.
func (m *matrixWork) attribute(all *idle.Analysis) {
	w := &m.t.Device
	for i := range w.Start {
		if w.Kind[i] != recording.Kernel || all.IsCollective(int32(i)) {
			continue
		}
		length := w.End[i] - w.Start[i]
		m.kernels += length
		for call, depth := w.Call[i], 0; call >= 0 && depth < mostDeep; call, depth = m.parent[call], depth+1 {
			c := m.work[call]
			if c == nil {
				continue
			}
			if c.time == 0 {
				c.device, c.start = w.Device[i], w.Start[i]
			}
			c.time += length
			switch m.cores[w.Name[i]] {
			case idle.TensorCores:
				c.tensor += length
			case idle.PlainCores:
				c.plain += length
			case idle.UnknownCores:
			}
			break
		}
	}
}

// findDevice finds the run's device in the table.
func (r *Roofline) findDevice(run *recording.Run, all *idle.Analysis) {
	for i := range all.Devices {
		at := run.Timeline.Devices[all.Devices[i].Index].GPU
		if at >= 0 && at < len(run.Facts.GPUs) {
			r.Device = run.Facts.GPUs[at].Name
			r.GPU, _ = hardware.FindGPU(r.Device)
			return
		}
	}
}

// points adds up calls by operator and precision. What launched no kernel in the
// recording has no time to divide by and is left out.
func (r *Roofline) points(m *matrixWork) {
	type kind struct {
		name      int32
		precision hardware.Precision
	}
	place := map[kind]int{}
	for call := range int32(len(m.t.Host.Start)) {
		c := m.work[call]
		if c == nil || c.time == 0 {
			continue
		}
		k := kind{m.t.Host.Name[call], c.ran()}
		at, found := place[k]
		if !found {
			at = len(r.Points)
			place[k] = at
			r.Points = append(r.Points, Point{Name: m.t.Names[k.name], Precision: k.precision})
		}
		p := &r.Points[at]
		p.Calls++
		p.FLOP += c.flop
		p.Bytes += c.bytes
		p.Seconds += float64(c.time) / 1e9
		r.done = append(r.done, launched{c.device, c.start, c.time, c.flop, c.bytes})
	}
	for i := range r.Points {
		r.placePoint(&r.Points[i])
		r.FLOP += r.Points[i].FLOP
		r.Seconds += r.Points[i].Seconds
	}
	if m.kernels > 0 {
		r.Covered = 1e9 * r.Seconds / float64(m.kernels)
	}
	slices.SortStableFunc(r.Points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
}

// ran is the precision that was computed in: single-precision operands count as
// TF32 where most of their kernels' time is known to be on Tensor Cores, as
// unknown where nothing is known of it.
func (c *callWork) ran() hardware.Precision {
	switch {
	case c.precision != hardware.FP32:
		return c.precision
	case c.tensor > c.plain:
		return hardware.TF32
	case c.plain > 0:
		return hardware.FP32
	}
	return ""
}

func (r *Roofline) placePoint(p *Point) {
	p.Attained, p.Intensity = p.FLOP/p.Seconds, p.FLOP/p.Bytes
	p.Ridge, p.Roof, p.Peak, p.Share = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	lines, err := predict.RooflineOf(r.GPU, p.Precision, 0, 0)
	if err != nil || len(lines.Diagonals) == 0 {
		return
	}
	memory := lines.Diagonals[0]
	p.Peak, p.Ridge = lines.Peak, memory.Ridge
	p.Roof = min(lines.Peak, memory.Rate*p.Intensity)
	p.Share = p.Attained / lines.Peak
}
