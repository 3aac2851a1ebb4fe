package replay

import (
	"math"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// editKernels edits how long kernels run: data type, batch, device.
func (p *play) editKernels(e Edit, v bounds.View) {
	if !e.TF32 && !e.Half && e.Batch == 0 && e.GPU == nil && !e.Twice {
		return
	}
	byName := make([]float64, len(p.t.t.Names)) // factor, 0 unknown yet
	for i := range p.t.works {
		w := &p.t.works[i]
		if w.kind != recording.Kernel {
			if e.GPU != nil && w.kind == recording.Copy {
				p.length[i] = scaleTime(p.length[i], linkFactor(v, p.t.machine.Link, *e.GPU))
			}
			continue
		}
		if byName[w.name] == 0 {
			byName[w.name] = p.t.factor(e, v, w.name)
		}
		if e.Batch > 0 {
			fixed := min(p.length[i], nanos(v.Gain(fixedKernel)))
			p.length[i] = fixed + scaleTime(p.length[i]-fixed, e.Batch)
		}
		p.length[i] = scaleTime(p.length[i], byName[w.name])
	}
}

// factor returns what remains of a kernel's time, by its name.
func (t *Trace) factor(e Edit, v bounds.View, name int32) float64 {
	f := 1.0
	matrix, memory := isMarked(t.marks.Matrix, name), isMarked(t.marks.Memory, name)
	switch {
	case (e.TF32 || e.Half) && matrix && isMarked(t.marks.Plain, name):
		f = 1 / min(v.Gain(matrixGain), t.tensorRatio(e))
	case e.Half && memory:
		f = v.PickCost(halfBytes)
	}
	if e.Twice {
		f *= 0.5
	}
	if e.GPU != nil {
		f *= t.deviceFactor(*e.GPU, v, matrix, isMarked(t.marks.Plain, name) && !e.TF32 && !e.Half)
	}
	return f
}

// tensorRatio returns how much higher the device's peak is on Tensor Cores.
func (t *Trace) tensorRatio(e Edit) float64 {
	g := t.machine.GPU
	to := g.FP16.Value
	if !e.Half {
		to = g.TF32.Value
	}
	if to > 0 && g.FP32.Value > 0 {
		return max(1, to/g.FP32.Value)
	}
	return 3
}

// deviceFactor returns what remains of a kernel's time on another device: the ratio of
// the roofs that bind it, memory bandwidth unless it is a matrix product.
func (t *Trace) deviceFactor(to hardware.GPU, v bounds.View, matrix, plain bool) float64 {
	from := t.machine.GPU
	gain := ratio(to.MemoryRate.Value, from.MemoryRate.Value)
	switch {
	case matrix && plain:
		gain = ratio(to.FP32.Value, from.FP32.Value)
	case matrix:
		gain = ratio(to.FP16.Value, from.FP16.Value)
	}
	return math.Pow(gain, -v.Gain(deviceReach))
}

// linkFactor returns what remains of a copy's time on another device's link.
func linkFactor(v bounds.View, from hardware.Link, to hardware.GPU) float64 {
	row, _ := hardware.FindLink(to.Link)
	return math.Pow(ratio(row.Pinned.Value, from.Pinned.Value), -v.Gain(deviceReach))
}

func ratio(to, from float64) float64 {
	if !(to > 0) || !(from > 0) {
		return 1
	}
	return to / from
}

// fuseChains makes one kernel of elementwise kernels that follow each other on a stream
// with the same grid: of m, 2/(m+1) of the bytes remain (d = a + b + c: 2/3), and
// one launch.
func (p *play) fuseChains(e Edit, v bounds.View) {
	d, keeps := &p.t.t.Device, p.keepsLaunch(e)
	chains := map[[2]int32]*Chain{}
	var last [2]int32
	var chain *Chain // of the last stream: most works follow one of the same
	fuse := func(works []int32) { p.fuseChain(works, v) }
	for i := range int32(len(p.t.works)) {
		stream := [2]int32{d.Device[i], d.Stream[i]}
		if chain == nil || stream != last {
			if last, chain = stream, chains[stream]; chain == nil {
				chain = &Chain{}
				chains[stream] = chain
			}
		}
		w := &p.t.works[i]
		elementwise := w.kind == recording.Kernel && isMarked(p.t.marks.Elementwise, d.Name[i]) &&
			(w.item < 0 || !keeps(w.item) && !p.t.isBefore(w.item))
		chain.Follow(i, d.Blocks[i], elementwise, isMarked(p.t.marks.Scaling, d.Name[i]), fuse)
	}
	for _, chain := range chains {
		chain.End(fuse)
	}
}

func (p *play) fuseChain(chain []int32, v bounds.View) {
	m := len(chain)
	if m < 2 {
		return
	}
	left := FusedBytes(m)
	left += (1 - left) * v.PickCost(fusedMissed)
	sum := int64(0)
	for _, i := range chain {
		sum += p.length[i]
	}
	p.length[chain[0]] = scaleTime(sum, left)
	for _, i := range chain[1:] {
		p.length[i], p.gap[i] = 0, 0
		if item := p.t.works[i].item; item >= 0 && !p.t.works[i].loose {
			p.flight[i] = 0
			p.shrink(item, v.PickCost(graphHost))
		}
	}
}

// shrink reduces the host's time for an item, and before it, to a share.
func (p *play) shrink(item int32, left float64) {
	p.own[item] = scaleTime(p.own[item], left)
	if p.t.items[item].anchor >= 0 {
		p.think[item] = scaleTime(p.think[item], left)
	}
}

// groupLaunches launches with one call all kernels between two things that a graph cannot hold
// (synchronisations, copies, loading). The host's time for the other calls goes, and kernels
// that follow each other on a stream run at the device's own pace.
func (p *play) groupLaunches(e Edit, v bounds.View) {
	left, keeps := v.PickCost(graphHost), p.keepsLaunch(e)
	first := true
	for i := range p.t.items {
		it := &p.t.items[i]
		switch {
		case keeps(int32(i)) || p.t.isBefore(int32(i)):
			first = true
		case it.kind == launch && it.work >= 0 && !p.free[i]:
			if !first {
				p.shrink(int32(i), left)
			}
			first = false
		case it.kind == wait && !p.free[i], it.kind == copyIn, it.kind == copyOut, it.kind == loading:
			first = true
		case it.kind == other || it.kind == allocate:
			p.shrink(int32(i), left)
		}
	}
	for i := range p.t.works {
		w := &p.t.works[i]
		if w.kind == recording.Kernel && w.item >= 0 && !keeps(w.item) && !p.t.isBefore(w.item) {
			p.gap[i] = min(p.gap[i], p.t.latest)
			p.flight[i] = min(p.flight[i], p.t.flight)
		}
	}
}
