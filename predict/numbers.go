package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
)

// numbers is a Setup as numbers, one per view, so that a sweep's inner loop does
// arithmetic only. NaN is unknown; costs[optimist] is the lowest, rates[optimist]
// the highest.
type numbers struct {
	batch, gpus, nodes, workers, phys float64 // GPUs of one node
	spread, measuredCV, cv            float64 // of a sample's time; of a batch's, as measured, as it is
	straggling, sharp                 float64 // of the closed form
	cores                             bounds.Views
	others                            float64 // cores that other users take

	sample, prepare, decoded, collect bounds.Views // per sample: bytes, core seconds, bytes, seconds
	rate, storage, link               bounds.Views // bytes/s
	reads, perFile, latency           bounds.Views // reads/s, reads per sample, seconds
	tensors                           float64      // in a batch
	misses                            bounds.Views // share of samples that come from storage
	wait, shared                      bounds.Views // seconds per sample, share of it: as measured
	single, queue                     bounds.Views // factors
	waiters, moving, crowd            float64
	threads                           bounds.Views // that want a core at a time
	copied, loopCPU, spin, launch     bounds.Views // seconds per step: as measured
	step                              bounds.Views // seconds at any batch, where there is no curve
	terms                             [3]device.Terms
	curved, pinned, given             bool // given: collect is per sample as given, not per decoded byte

	overlap bounds.Views // without workers: share of the shorter of input and loop that the longer one hides
	// seconds by which a loop is longer that takes batches of workers, if it was measured
	// without
	taking     bounds.Views
	prefetch   float64
	epoch      float64      // steps; 0: no end
	start      bounds.Views // seconds until new workers run
	persistent bool
	anyOrder   bool
	feeds      bool              // stoker's loader
	exactly    bool              // the queue is played, if its content is known; else the closed form answers
	played     map[queue]float64 // steps that are known; nil: none is kept

	memory, weights, sharded, capacity float64 // bytes of device memory; NaN unknown; sharded: each rank has a part

	sync device.Exchange // between ranks
}

// compile turns a checked setup into numbers.
func (s Setup) compile() (numbers, error) {
	p := numbers{
		batch: s.Batch, gpus: atLeastOne(s.GPUs) / atLeastOne(s.Nodes), nodes: atLeastOne(s.Nodes),
		workers: s.givingWorkers(), phys: s.PhysCores,
		measuredCV: s.BatchCV, spread: stat.Or(s.Spread, 0), cores: coresOf(s.Cores), others: s.Others,
		sample: bounds.CostViews(s.Sample), prepare: bounds.CostViews(s.PrepareCPU),
		decoded: bounds.CostViews(s.Decoded),
		collect: bounds.CostViews(s.HandOver), given: bounds.IsSet(s.HandOver), rate: bounds.RateViews(s.PrepareRate),
		storage: bounds.RateViews(s.Storage), link: bounds.RateViews(s.linkRate()),
		reads: bounds.RateViews(s.Reads), perFile: bounds.CostViews(s.PerFile), latency: bounds.CostViews(s.Latency),
		tensors: s.Tensors, misses: bounds.CostViews(missRatio(s.Cached)), wait: bounds.CostViews(s.Wait),
		shared: bounds.CostViews(s.Shared), waiters: atLeastOne(s.Waiters), moving: atLeastOne(s.Moving),
		copied:  bounds.RateViews(s.Copy),
		loopCPU: bounds.CostViews(s.LoopCPU), spin: bounds.CostViews(s.Spin), launch: bounds.CostViews(s.Launch),
		crowd: s.Crowd, single: bounds.FactorViews(s.Single), queue: bounds.FactorViews(s.Queue),
		step: bounds.CostViews(s.Step), pinned: s.Pinned,
		overlap: bounds.Views{1, 0, 0}, prefetch: s.prefetch(), persistent: s.Persistent, anyOrder: s.AnyOrder,
		feeds:  s.Feeds,
		memory: math.NaN(), weights: math.NaN(), capacity: math.NaN(),
		sync: s.Load.ExchangeOver(s.Link, s.Network, atLeastOne(s.Nodes)),
	}
	if s.Epoch > 0 && !s.Feeds { // which continues into the next epoch on its own
		p.epoch = math.Ceil(s.Epoch / s.Batch)
	}
	if !s.Persistent {
		if p.start = startOf(s.StartMethod); bounds.IsSet(s.Start) {
			p.start = bounds.CostViews(s.Start)
		}
	}
	if !p.given {
		p.collect = bounds.CostViews(collect)
	}
	if s.Load.GPU.MemoryBytes.Value > 0 {
		p.capacity = s.Load.GPU.MemoryBytes.Value
	}
	p.derive()
	return p, p.setCurve(s)
}

// derive takes down what follows from batch and workers alone, once they are set.
func (p *numbers) derive() {
	p.cv = p.measuredCV
	if p.cv == 0 {
		p.cv = p.spread / math.Sqrt(p.batch) // batches average their samples
	}
	p.straggling, p.sharp = p.stragglingNow(), p.sharpNow()
	for v := range p.threads {
		p.threads[v] = p.threadsNow(bounds.View(v))
	}
}

// prefetch is PyTorch's prefetch_factor unless it is set.
func (s Setup) prefetch() float64 {
	if s.Prefetch == 0 {
		return 2
	}
	return s.Prefetch
}

func startOf(method string) bounds.Views {
	if method == "spawn" || method == "forkserver" {
		return bounds.CostViews(spawnStart)
	}
	return bounds.CostViews(forkStart)
}

func (p *numbers) setCurve(s Setup) error {
	curve, known, err := s.stepCurve()
	if err != nil {
		return err
	}
	if known {
		p.curved, p.memory, p.weights, p.sharded = true, curve.Memory, curve.Weights, curve.Shared
		p.terms = [3]device.Terms{curve.Low, curve.Point, curve.High}
	}
	if known && bounds.IsSet(s.Step) { // the curve's shape, through the step time that was given
		at := curve.Point.At(s.Batch)
		for v, step := range p.step {
			p.terms[v] = curve.Point.ScaledBy(step/at, step/at)
		}
	}
	return nil
}

// stepCurve returns the step time over the batch size; false if the setup names neither a curve
// nor a model with its device.
func (s Setup) stepCurve() (device.Curve, bool, error) {
	if s.Curve.Point != (device.Terms{}) {
		return s.Curve, true, nil
	}
	if s.Load.Workload.Name == "" || s.Load.GPU.Name == "" {
		return device.Curve{}, false, nil
	}
	c, err := s.Load.StepCurve()
	if err != nil && bounds.IsSet(s.Step) {
		return device.Curve{}, false, nil // the step time that was given will do
	}
	return c, err == nil, err
}

// hostLink returns the way from host memory to the device: what was given, else the GPU's.
func (s Setup) hostLink() hardware.Link {
	if s.Link.Name != "" {
		return s.Link
	}
	link, _ := hardware.FindLink(s.Load.GPU.Link)
	return link
}

// linkRate returns what the host link delivers to one GPU, bytes/s.
func (s Setup) linkRate() stoker.Interval {
	link := s.hostLink()
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
func coresOf(n float64) bounds.Views {
	if n == 0 {
		n = math.NaN()
	}
	return bounds.Views{n, n, n}
}

// missRatio returns the share of samples that storage has to deliver when a share of the
// data set is in memory and each epoch shuffles again. A cache that evicts
// nothing misses 1-c. One that evicts the least recently used, as a page cache
// nearly does, hits c + (1-c) ln(1-c) only: what would be needed next is thrown
// out before (reuse distance of one shuffle per epoch; half the set cached gives
// 15 % hits). The point is in the middle: Linux is between the two.
func missRatio(cached float64) stoker.Interval {
	if cached >= 1 {
		return stoker.Exactly(0)
	}
	low := 1 - cached
	high := low * (1 - math.Log(low))
	return stoker.Interval{Low: low, Point: (low + high) / 2, High: high}
}

// rankCount returns how many GPUs train together.
func (p *numbers) rankCount() float64 { return p.gpus * p.nodes }

// compute returns the device's time for a step.
func (p *numbers) compute(v bounds.View) float64 {
	if p.curved {
		return p.terms[v].At(p.batch)
	}
	return p.step[v]
}
