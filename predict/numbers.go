package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
)

// views are a quantity in each view; NaN is unknown.
type views [3]float64

// numbers is a Setup as numbers, one per view, so that a sweep's inner loop does
// arithmetic only. NaN is unknown; costs[optimist] is the lowest, rates[optimist]
// the highest.
type numbers struct {
	batch, gpus, nodes, workers, phys float64 // GPUs of one node
	spread, measuredCV, cv            float64 // of a sample's time; of a batch's, as measured, as it is
	straggling, sharp                 float64 // of the closed form
	cores                             views
	others                            float64 // cores that other users take

	sample, prepare, decoded, collect views // per sample: bytes, core seconds, bytes, seconds
	rate, storage, link               views // bytes/s
	reads, perFile, latency           views // reads/s, reads per sample, seconds
	misses                            views // share of samples that come from storage
	wait, shared                      views // seconds per sample, share of it: as measured
	single, queue                     views // factors
	waiters, moving, crowd            float64
	threads                           views // that want a core at a time
	copied, loopCPU, spin, launch     views // seconds per step: as measured
	step                              views // seconds at any batch, where there is no curve
	terms                             [3]Terms
	curved, pinned, given             bool // given: collect is per sample as given, not per decoded byte

	overlap    views // without workers: share of the shorter of input and loop that the longer one hides
	prefetch   float64
	epoch      float64 // steps; 0: no end
	start      views   // seconds until new workers run
	persistent bool
	anyOrder   bool
	feeds      bool              // stoker's loader
	exactly    bool              // the queue is played, where it is known what is in it; else the closed form answers
	played     map[queue]float64 // steps that are known; nil: none is kept

	memory, weights, sharded, capacity float64 // bytes of device memory; NaN unknown; sharded: each rank has a part

	sync exchange // between ranks
}

// compile turns a checked setup into numbers.
func (s Setup) compile() (numbers, error) {
	p := numbers{
		batch: s.Batch, gpus: atLeastOne(s.GPUs) / atLeastOne(s.Nodes), nodes: atLeastOne(s.Nodes), workers: s.Workers, phys: s.PhysCores,
		measuredCV: s.BatchCV, spread: stat.Or(s.Spread, 0), cores: coresOf(s.Cores), others: s.Others,
		sample: costs(s.Sample), prepare: costs(s.PrepareCPU), decoded: costs(s.Decoded),
		collect: costs(s.HandOver), given: set(s.HandOver), rate: rates(s.PrepareRate), storage: rates(s.Storage), link: rates(s.linkRate()),
		reads: rates(s.Reads), perFile: costs(s.PerFile), latency: costs(s.Latency), misses: costs(missed(s.Cached)), wait: costs(s.Wait),
		shared: costs(s.Shared), waiters: atLeastOne(s.Waiters), moving: atLeastOne(s.Moving), copied: rates(s.Copy),
		loopCPU: costs(s.LoopCPU), spin: costs(s.Spin), launch: costs(s.Launch), crowd: s.Crowd, single: factors(s.Single), queue: factors(s.Queue),
		step: costs(s.Step), pinned: s.Pinned,
		overlap: views{1, 0, 0}, prefetch: s.prefetch(), persistent: s.Persistent, anyOrder: s.AnyOrder, feeds: s.Feeds,
		memory: math.NaN(), weights: math.NaN(), capacity: math.NaN(), sync: s.exchange(),
	}
	if s.Epoch > 0 && !s.Feeds { // which goes on into the next epoch by itself
		p.epoch = math.Ceil(s.Epoch / s.Batch)
	}
	if !s.Persistent {
		p.start = startOf(s.StartMethod)
	}
	if !p.given {
		p.collect = costs(collect)
	}
	if s.Load.GPU.MemoryBytes.Value > 0 {
		p.capacity = s.Load.GPU.MemoryBytes.Value
	}
	p.settle()
	return p, p.setCurve(s)
}

// settle takes down what follows from batch and workers alone, once they are set.
func (p *numbers) settle() {
	p.cv = p.measuredCV
	if p.cv == 0 {
		p.cv = p.spread / math.Sqrt(p.batch) // batches average their samples
	}
	p.straggling, p.sharp = p.stragglingNow(), p.sharpNow()
	for v := range p.threads {
		p.threads[v] = p.threadsNow(view(v))
	}
}

// prefetch is PyTorch's prefetch_factor unless it is set.
func (s Setup) prefetch() float64 {
	if s.Prefetch == 0 {
		return 2
	}
	return s.Prefetch
}

func startOf(method string) views {
	if method == "spawn" || method == "forkserver" {
		return costs(spawnStart)
	}
	return costs(forkStart)
}

func (p *numbers) setCurve(s Setup) error {
	curve, known, err := s.curve()
	if err != nil {
		return err
	}
	if known {
		p.curved, p.memory, p.weights, p.sharded = true, curve.Memory, curve.Weights, curve.Shared
		p.terms = [3]Terms{curve.Low, curve.Point, curve.High}
	}
	if known && set(s.Step) { // the curve's shape, through the step time that was given
		at := curve.Point.at(s.Batch)
		for v, step := range p.step {
			p.terms[v] = curve.Point.scaled(step/at, step/at)
		}
	}
	return nil
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

// coresOf takes 0 as unknown.
func coresOf(n float64) views {
	if n == 0 {
		n = math.NaN()
	}
	return views{n, n, n}
}

func costs(i stoker.Interval) views {
	if !set(i) {
		i = stoker.Unknown()
	}
	return views{i.Low, i.Point, i.High}
}

func factors(i stoker.Interval) views {
	if !set(i) {
		i = stoker.Exactly(1)
	}
	return costs(i)
}

func rates(i stoker.Interval) views {
	if !set(i) {
		i = stoker.Unknown()
	}
	return views{i.High, i.Point, i.Low}
}

// missed is the share of samples that storage has to deliver when a share of the
// data set lies in memory and each epoch shuffles anew. A cache that evicts
// nothing misses 1-c. One that evicts the least recently used, as a page cache
// nearly does, hits c + (1-c) ln(1-c) only: what would be needed next is thrown
// out before (reuse distance of one shuffle per epoch; half the set cached gives
// 15 % hits). The point lies in the middle: Linux is between the two.
func missed(cached float64) stoker.Interval {
	if cached >= 1 {
		return stoker.Exactly(0)
	}
	low := 1 - cached
	high := low * (1 - math.Log(low))
	return stoker.Interval{Low: low, Point: (low + high) / 2, High: high}
}

// ranks is how many GPUs train together.
func (p *numbers) ranks() float64 { return p.gpus * p.nodes }

// compute is the device's time for a step.
func (p *numbers) compute(v view) float64 {
	if p.curved {
		return p.terms[v].at(p.batch)
	}
	return p.step[v]
}
