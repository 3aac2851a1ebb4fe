package predict

import (
	"math"

	"stoker"
	"stoker/hardware"
)

// Priors of a setup that no run measured.
var (
	// collect is what the trainer's process spends on a batch that a worker hands
	// it, seconds per byte: mapping the memory, unpickling, copying to page-locked
	// memory. Prior: from one copy at 10 GB/s to the 340 to 665 us per image of
	// 562 KB (500x375x3 bytes) that a fit of public curves of PyTorch's DataLoader
	// needs (ternaus/imread_benchmark, read 2026-11), which is a ceiling of 1,500
	// to 2,900 images/s per trainer.
	collect = stoker.Interval{Low: 0.1e-9, Point: 0.4e-9, High: 1.2e-9}

	// spinning is the share of a core that a launching thread uses while its
	// device works. Assumption: from launching only, to CUDA's default of spinning
	// in every wait.
	spinning = stoker.Interval{Low: 0.1, Point: 0.5, High: 1}
)

const (
	collectSource = "prior: one copy at 10 GB/s to 340-665 us per 562 KB image through PyTorch's DataLoader (fit on ternaus/imread_benchmark, 2026-11)"
)

// part of the path in the order in which a batch passes; index of times.
const (
	onRead    = iota // storage
	onWorker         // the loader processes; without them the launching thread
	onCPU            // the machine's cores
	onCollect        // the trainer's process, taking batches from workers
	onCopy           // host link
	onCompute        // device
	onSync           // exchange between ranks, what is seen of it
	parts
)

var limits = [parts]Limit{
	onRead:    {Stage: stoker.Read, Resource: stoker.Storage},
	onWorker:  {Stage: stoker.Prepare, Resource: stoker.Worker},
	onCPU:     {Stage: stoker.Prepare, Resource: stoker.CPU},
	onCollect: {Stage: stoker.Prepare, Resource: stoker.MainThread},
	onCopy:    {Stage: stoker.Transfer, Resource: stoker.Link},
	onCompute: {Stage: stoker.Compute, Resource: stoker.GPU},
	onSync:    {Stage: stoker.Sync, Resource: stoker.Network},
}

// times are the seconds per step of each part; NaN is unknown.
type times [parts]float64

// numbers is a Setup as numbers, one per view, so that a sweep's inner loop does
// arithmetic only. NaN is unknown; costs[optimist] is the lowest, rates[optimist]
// the highest.
type numbers struct {
	batch, gpus, workers, cores, phys, spread float64

	sample, prepare, decoded, collect [3]float64 // per sample: bytes, core seconds, bytes, seconds
	rate, storage, link               [3]float64 // bytes/s
	misses                            [3]float64 // share of samples that come from storage
	step                              [3]float64 // seconds at any batch, where there is no curve
	terms                             [3]Terms
	curved, pinned, given             bool // given: collect is per sample as given, not per decoded byte

	memory, weights, shared, capacity float64 // bytes of device memory; NaN unknown

	sync exchange // between ranks
}

// compile turns a checked setup into numbers.
func (s Setup) compile() (numbers, error) {
	p := numbers{
		batch: s.Batch, gpus: s.sharing(), workers: s.Workers, cores: s.Cores, phys: s.PhysCores, spread: stat0(s.Spread),
		sample: costs(s.Sample), prepare: costs(s.PrepareCPU), decoded: costs(s.Decoded), collect: costs(s.HandOver), given: set(s.HandOver),
		rate: rates(s.PrepareRate), storage: rates(s.Storage), link: rates(s.linkRate()), pinned: s.Pinned,
		misses: costs(Misses(s.Cached)), step: costs(s.Step), memory: math.NaN(), weights: math.NaN(), capacity: math.NaN(), sync: s.exchange(),
	}
	if p.cores == 0 {
		p.cores = math.NaN()
	}
	if !p.given {
		p.collect = costs(collect)
	}
	if s.Load.GPU.MemoryBytes.Value > 0 {
		p.capacity = s.Load.GPU.MemoryBytes.Value
	}
	curve, known, err := s.curve()
	if err != nil {
		return numbers{}, err
	}
	if known {
		p.curved, p.memory, p.weights, p.shared = true, curve.Memory, curve.Weights, curve.Shared
		p.terms = [3]Terms{curve.Low, curve.Point, curve.High}
	}
	if known && set(s.Step) { // the curve's shape, through the step time that was given
		at := curve.Point.at(s.Batch)
		for v, step := range p.step {
			p.terms[v] = curve.Point.scaled(step/at, step/at)
		}
	}
	return p, nil
}

func stat0(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// curve is the step time over the batch size; false where neither a curve nor a
// model with its device is named.
func (s Setup) curve() (Curve, bool, error) {
	if s.Curve.Point != (Terms{}) {
		return s.Curve, true, nil
	}
	if s.Load.Workload.Name == "" || s.Load.GPU.Name == "" {
		return Curve{}, false, nil
	}
	c, err := s.Load.Curve()
	if err != nil && set(s.Step) {
		return Curve{}, false, nil // the step time that was given will do
	}
	return c, err == nil, err
}

// linkRate is what the host link delivers to one GPU, bytes/s.
func (s Setup) linkRate() stoker.Interval {
	link := s.Link
	if link.Name == "" {
		link, _ = hardware.FindLink(s.Load.GPU.Link)
	}
	switch {
	case link.Pinned.Value <= 0:
		return stoker.Unknown()
	case s.Pinned:
		return stoker.Exactly(link.Pinned.Value)
	}
	low, high := link.Pageable[0].Value, link.Pageable[1].Value
	return stoker.Interval{Low: low, Point: math.Sqrt(low * high), High: high}
}

func costs(i stoker.Interval) [3]float64 {
	if !set(i) {
		i = stoker.Unknown()
	}
	return [3]float64{i.Low, i.Point, i.High}
}

func rates(i stoker.Interval) [3]float64 {
	if !set(i) {
		i = stoker.Unknown()
	}
	return [3]float64{i.High, i.Point, i.Low}
}

// Misses is the share of samples that storage has to deliver when a share of the
// data set lies in memory and each epoch shuffles anew. A cache that evicts
// nothing misses 1-c. One that evicts the least recently used, as a page cache
// nearly does, hits c + (1-c) ln(1-c) only: what would be needed next is thrown
// out before (reuse distance of one shuffle per epoch; half the set cached gives
// 15 % hits). The point lies in the middle: Linux is between the two.
func Misses(cached float64) stoker.Interval {
	if cached >= 1 {
		return stoker.Exactly(0)
	}
	low := 1 - cached
	high := low * (1 - math.Log(low))
	return stoker.Interval{Low: low, Point: (low + high) / 2, High: high}
}

// compute is the device's time for a step.
func (p *numbers) compute(v view) float64 {
	if p.curved {
		return p.terms[v].at(p.batch)
	}
	return p.step[v]
}

// times are the parts of a step in one view of the device and one of its input.
func (p *numbers) times(device, input view) (t times) {
	t[onCompute] = p.compute(device)
	t[onSync] = p.sync.shown(input, p.gpus, t[onCompute])
	t[onCopy] = p.batch * p.decoded[input] / p.link[input]
	alone := 0.0
	if p.misses[input] > 0 {
		alone = p.batch * p.misses[input] * p.sample[input] / p.storage[input]
	}
	t[onRead] = alone * p.gpus
	t[onCollect] = p.collecting(input)
	if p.rate[input] > 0 { // known
		t[onWorker] = p.batch * p.sample[input] / p.rate[input]
		return t
	}
	cpu := p.preparing(input)
	one := cpu
	if p.workers != 0 {
		one = (cpu + orNone(alone)) / p.workers
	}
	t[onWorker] = one
	spin := input.cost(spinning) * orNone(p.loop(t, input))
	t[onCPU] = p.gpus * (cpu + orNone(t[onCollect]) + spin) / p.cores
	return t
}

// preparing is the core time of one batch.
func (p *numbers) preparing(v view) float64 {
	if p.workers == 0 {
		return p.batch * p.prepare[v]
	}
	bytes := p.batch * orNone(p.decoded[v])
	return (p.batch*p.prepare[v] + v.part(handOver)*bytes) * p.crowd(v)
}

// crowd is by how much a core slows down when all workers run.
func (p *numbers) crowd(v view) float64 {
	busy := p.gpus * (p.workers + 1)
	if busy <= 2 {
		return 1
	}
	return v.part(crowding) * v.threads(min(busy, p.cores), p.phys)
}

// collecting is the time of the trainer's process for one batch of its workers.
func (p *numbers) collecting(v view) float64 {
	if p.workers == 0 {
		return 0
	}
	if p.given {
		return p.batch * p.collect[v]
	}
	return p.batch * p.decoded[v] * p.collect[v]
}

// orNone takes an unknown cost as none: what is computed with it is a lower bound.
func orNone(v float64) float64 {
	if v > 0 {
		return v
	}
	return 0
}

// loop is the time of a step whose input is there: the copy from pageable memory
// adds to the kernels, one from page-locked memory runs beside them unless it is
// queued on their stream, as the pessimist expects. What is seen of the exchange
// between ranks follows them.
func (p *numbers) loop(t times, v view) float64 {
	compute, copied := orNone(t[onCompute])+orNone(t[onSync]), orNone(t[onCopy])
	if p.pinned && v != pessimist {
		return Overlapped(copied, compute)
	}
	return Serial(copied, compute)
}

// input is the time of a step whose device takes none, and the part that binds.
func (p *numbers) input(t times) (float64, int) {
	if p.workers == 0 {
		input := Serial(orNone(t[onRead]), orNone(t[onWorker]))
		if t[onRead] > orNone(t[onWorker]) {
			return input, onRead
		}
		return input, onWorker
	}
	most, at := 0.0, onWorker
	for part := onRead; part <= onCollect; part++ {
		if t[part] > most {
			most, at = t[part], part
		}
	}
	return most, at
}

// combine is the bottleneck law: the step that these parts give, its loop, and
// the part that binds. Without workers input and loop take turns; only the
// optimist expects that queued work covers the loading. With workers the slower
// one decides; where batches differ in cost, nearly equal ones hold each other up.
func (p *numbers) combine(t times, v view) (step, loop float64, bound int) {
	loop = p.loop(t, v)
	input, slowest := p.input(t)
	bound = onCompute
	for _, part := range []int{onCopy, onSync} {
		if t[part] > orNone(t[bound]) {
			bound = part
		}
	}
	if p.workers == 0 {
		step = Serial(input, loop)
		if v == optimist {
			step = Overlapped(input, loop)
		}
		if orNone(t[slowest]) > orNone(t[bound]) {
			bound = slowest
		}
		if t[onCPU] > step { // trainers share too few cores
			step, bound = t[onCPU], onCPU
		}
		return step, loop, bound
	}
	if input > loop {
		bound = slowest
	}
	return joint(input, loop, p.sharp(v)), loop, bound
}

// sharp is the exponent of joint: batches average their samples.
func (p *numbers) sharp(v view) float64 {
	if v == optimist || p.spread*p.spread < 0.05*0.05*p.batch {
		return math.Inf(1)
	}
	return [...]float64{math.Inf(1), jointSharp, jointBlunt}[v]
}

// missing reports whether a part's time is unknown though the step may depend on
// it.
func (p *numbers) missing(t times, part int) bool {
	if part == onCPU && (t[onWorker] > 0 && p.rate[likely] > 0 || p.workers == 0 && p.gpus == 1) {
		return false // given as one rate; or one thread, which has a core
	}
	return math.IsNaN(t[part])
}

func (p *numbers) complete(t times) bool {
	for part := range parts {
		if p.missing(t, part) {
			return false
		}
	}
	return true
}

// fits reports whether the batch fits into device memory. A room or a need that
// nobody knows is no room.
func (p *numbers) fits() Truth {
	need := p.need()
	switch {
	case need > p.capacity:
		return No
	case need <= p.capacity:
		return Yes
	}
	return NotKnown
}

func (p *numbers) need() float64 { return p.state() + p.memory*p.batch }

// state is what a rank keeps whatever the batch.
func (p *numbers) state() float64 { return p.weights + p.shared/p.sync.ranksOf(p.gpus) }

// point solves the setup: three views of the step, and the two corners between
// which utilisation lies (a slow device with fast input, and the reverse).
func (p *numbers) point() Point {
	t := p.times(likely, likely)
	step, _, bound := p.combine(t, likely)
	low, _, _ := p.combine(p.times(optimist, optimist), optimist)
	high, _, _ := p.combine(p.times(pessimist, pessimist), pessimist)
	high *= lawError.High
	r := Point{Step: sorted(low, step, high), Fits: p.fits()}
	r.Bound, r.BoundStage = limits[bound].Resource, limits[bound].Stage
	if bound == onWorker && p.workers == 0 {
		r.Bound = stoker.MainThread
	}
	r.Utilization = p.utilization(t, step)
	if !p.complete(t) {
		r.Step.High, r.Utilization.Low = math.NaN(), math.NaN()
	}
	if step == 0 {
		r.Step, r.Bound = stoker.Unknown(), ""
	}
	samples := p.batch * p.gpus
	r.Throughput = stoker.Interval{Low: samples / r.Step.High, Point: samples / r.Step.Point, High: samples / r.Step.Low}
	return r
}

func (p *numbers) utilization(t times, step float64) stoker.Interval {
	best, worst := p.times(pessimist, optimist), p.times(optimist, pessimist)
	fast, _, _ := p.combine(best, optimist)
	slow, _, _ := p.combine(worst, pessimist)
	return sorted(worst[onCompute]/(slow*lawError.High), t[onCompute]/step, best[onCompute]/fast)
}
