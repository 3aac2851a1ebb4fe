package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Priors of a setup that no run measured.
var (
	// collect is what the trainer's process spends on a batch from a worker, in seconds per
	// byte: mapping the memory, unpickling, copying to page-locked memory. The prior goes from
	// one copy at 10 GB/s to the 340 to 665 us per image of 562 KB (500x375x3 bytes) that a fit
	// of public curves of PyTorch's DataLoader needs (ternaus/imread_benchmark, read 2026-11).
	// That is a ceiling of 1,500 to 2,900 images/s per trainer.
	collect = stoker.Interval{Low: 0.1e-9, Point: 0.4e-9, High: 1.2e-9}

	// spinning is the share of a core that a launching thread uses while its
	// device works. Assumption: from launching only, to CUDA's default of spinning
	// in every wait.
	spinning = stoker.Interval{Low: 0.1, Point: 0.5, High: 1}
)

const (
	collectSource = "prior: one copy at 10 GB/s to 340-665 us per 562 KB image through PyTorch's DataLoader (fit " +
		"on ternaus/imread_benchmark, 2026-11)"
)

// Start values of the law. Each names its source.
var (
	// handOver is the cost of passing one batch from a worker to the trainer, in core seconds
	// per byte, both sides together. The batch is collated into new shared memory, whose pages
	// are all allocated again and mapped twice. Measured 2026-11-21 with bench/handover.py on 2
	// cores AMD EPYC, torch 2.15, two runs: medians 1.14 and 1.31 ns/byte for 9.6 MB, 1.26 and
	// 1.47 for 2.4 MB; 1.11 to 1.93 over all pairs (n = 24).
	handOver = stoker.Interval{Low: 1.1e-9, Point: 1.3e-9, High: 1.9e-9}

	// handOverLarge is the same for batches above largeBatch. It is less, because without
	// workers such a batch is made of new pages as well. Same runs: 0.34 and 0.37 ns/byte for
	// 38.5 MB, 0.44 and 0.58 if the trainer reads them; 0.26 to 0.65 over all pairs (n = 24).
	handOverLarge = stoker.Interval{Low: 0.25e-9, Point: 0.45e-9, High: 0.65e-9}

	// crowding is the factor by which a core slows down when its neighbours come
	// into use: shared caches, memory bandwidth, turbo. Measured 2026-11-21 with
	// bench/crowding.py on the same machine, Pillow decode and crop in 1 against 2
	// processes: median 0.99, 0.91 to 1.07 (n = 6 pairs), and with other work
	// running 1.03, 0.90 to 1.17 (n = 10 pairs). On 2 to 16 cores of an Intel Xeon,
	// 2026-11-26, in as many processes: 1.04, 0.87 to 1.21 (n = 15 pairs), and workers
	// of PyTorch's on 4 of them took 1.05 to 1.15 (n = 5, bench/gpu/RESULTS.md). The
	// ends are [J], within what was measured.
	crowding = stoker.Interval{Low: 0.97, Point: 1.03, High: 1.14}

	// unfilled is the share of more than two cores that stays idle where they are the limit:
	// batches are uneven, and a full queue stops the worker that is ahead. 0.03 to 0.13 of
	// 4 cores with 4 workers, 0.08 to 0.10 with 6 (n = 8, the same place). One core was
	// always full (n = 7, bench/accuracy), and on two forecasts were kept (bench/gains).
	unfilled = stoker.Interval{Low: 0, Point: 0.09, High: 0.13}

	// sibling is what the second hardware thread of a core adds. [J] Not fitted.
	sibling = stoker.Interval{Low: 0.15, Point: 0.25, High: 0.35}

	// forkStart and spawnStart are the seconds until a set of workers runs: a
	// copy of the trainer, or a fresh interpreter that imports torch.
	forkStart  = stoker.Interval{Low: 0.01, Point: 0.05, High: 0.2}
	spawnStart = stoker.Interval{Low: 1, Point: 3, High: 8}
)

// lawError is the factor between a real step and the law's if all costs are known: taking a
// batch from a queue, waking up, caches that are now shared. From the residuals of the labelled
// runs whose loop binds after the change (bench/labelled, 2026-11-21, n = 4): 1.00 to 1.04.
var lawError = stoker.Interval{Low: 0.98, Point: 1.01, High: 1.05}

// takeOver is what a worker's batch costs the launching thread, in core seconds: a queue, and a
// file descriptor and a mapping for each tensor. Measured 2026-11-23 on the same machine, torch
// 2.15, for batches of a tensor of samples and one of labels that were ready: median 1.1 ms (0.9
// to 1.8) without bytes, 1.3 to 1.7 ms for 0.4 and 1.6 MB (n = 50 batches of each of 6 loaders).
// A batch of 8 tensors cost three times as much as one of 2 (2026-11-28, n = 600).
var takeOver = stoker.Interval{Low: 0.9e-3, Point: 1.1e-3, High: 1.8e-3}

// giveOver is what handing a batch to the trainer costs a worker regardless of its bytes, core seconds,
// of a batch of two tensors. Measured 2026-11-28 on the same machine: 0.59 to 0.69 ms with 1, 2
// and 4 workers, 0.40 to 0.46 ms of a batch of one tensor, 1.9 to 2.5 ms of one of 8 (n = 1,500 and
// 600 batches).
var giveOver = stoker.Interval{Low: 0.4e-3, Point: 0.6e-3, High: 0.8e-3}

// perTensor returns by which part of a batch of two tensors one with other tensors costs what
// either side spends on handing it over: one queue for all, and a descriptor for each. If
// nothing counted them there are two.
func (p *numbers) perTensor() float64 {
	if p.tensors == 0 {
		return 1
	}
	return (1 + p.tensors) / 3
}

// largeBatch is the size above which the C library takes and returns a batch's
// memory again each time (M_MMAP_THRESHOLD's upper limit, mallopt(3)).
const largeBatch = 32 << 20

// The parts of the path in the order in which a batch passes, as places in times.
const (
	onRead    = iota // storage, shared by all that read
	onWorker         // the loader processes; without them the launching thread
	onCPU            // the machine's cores
	onCollect        // the trainer's process, taking batches from workers
	onCopy           // host link
	onCompute        // device
	onSync           // exchange between ranks, the visible part of it

	parts // how many there are
)

// Behind the parts, what one process takes that makes a batch all on its own.
const (
	waiting = parts + iota // for its reads
	making                 // the whole batch

	timesKept // how many places times has
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
type times [timesKept]float64

// partTimes returns the parts of a step in one view of the device and one of its input.
func (p *numbers) partTimes(device, input bounds.View) (t times) {
	t[onCompute] = p.compute(device)
	t[onSync] = p.sync.Exposed(input, p.gpus, t[onCompute])
	t[onCopy] = p.batch * p.decoded[input] / p.link[input]
	if !math.IsNaN(p.copied[input]) {
		t[onCopy] = p.copied[input]
	}
	t[onRead], t[waiting] = p.readTimes(input)
	t[onRead] *= p.gpus
	t[onCollect] = p.collecting(input)
	if p.rate[input] > 0 { // known
		t[onWorker] = p.batch * p.sample[input] / p.rate[input]
		t[making] = t[onWorker]
		return t
	}
	cpu := p.preparing(input)
	t[onWorker] = cpu * p.queueing(input)
	t[making] = t[onWorker] + orNone(t[waiting])
	if p.workers != 0 {
		t[onWorker] = t[making] / p.workers * p.straggling
	}
	t[onCPU] = p.gpus * (cpu + p.beside(t, input)) / (p.coresFor(input, p.threads[input]) * p.keptBusy(input))
	return t
}

// readTimes returns for how long a batch keeps storage busy, which all share, and for how
// long it keeps the process waiting that reads it.
func (p *numbers) readTimes(v bounds.View) (busy, alone float64) {
	if samples := p.batch * p.misses[v]; samples > 0 {
		bytes, reads := samples*p.sample[v]/p.storage[v], samples*p.perFile[v]
		busy = math.Max(bytes, orNone(reads/p.reads[v])) // unknown bytes stay unknown
		alone = math.Max(bytes+orNone(reads*p.latency[v]), busy)
	}
	if wait := p.batch * orNone(p.wait[v]); wait > 0 {
		inQueue := wait * orNone(p.shared[v])
		busy, alone = orNone(busy)+inQueue/p.waiters, orNone(alone)+wait-inQueue+inQueue/p.waiters
	}
	return busy, alone
}

// answerTime returns how long a worker waits for the reads of a batch if no other process reads,
// as far as that is known.
func (p *numbers) answerTime(v bounds.View) float64 {
	samples := p.batch * p.misses[v]
	return orNone(samples*p.sample[v]/p.storage[v]) + orNone(samples*p.perFile[v]*p.latency[v])
}

// preparing returns the core time of one batch.
func (p *numbers) preparing(v bounds.View) float64 {
	bytes := p.batch * orNone(p.decoded[v])
	switch {
	case p.workers == 0:
		return p.batch*p.prepare[v] + p.moving*costFreshPages(v, bytes)
	case p.feeds:
		return p.batch * p.prepare[v] * p.single[v] * p.slowing(v)
	}
	return (p.batch*p.prepare[v]*p.single[v] + p.moving*p.costGiving(v, bytes)) * p.slowing(v)
}

// costGiving returns what a worker spends on passing a batch to the trainer, in core seconds.
func (p *numbers) costGiving(v bounds.View, bytes float64) float64 {
	if p.tensors == 0 { // priors of described setups were fitted to whole pipelines
		return costHandOver(v, bytes)
	}
	return costHandOver(v, bytes) + v.TakePart(giveOver)*p.perTensor()
}

// costHandOver returns what handing over a batch costs in this view, core seconds.
func costHandOver(v bounds.View, bytes float64) float64 { return v.TakePart(handOver) * bytes }

// costFreshPages returns what a batch costs the launching thread if it is so large that its
// memory is allocated and freed each time. With workers it does not, so handing over adds less.
func costFreshPages(v bounds.View, bytes float64) float64 {
	if bytes <= largeBatch {
		return 0
	}
	return (v.TakePart(handOver) - v.TakePart(handOverLarge)) * bytes
}

// HandOver returns what workers add to the cost of a batch by passing it to the trainer, in core
// seconds, both sides together. It is unknown if the size of a batch is.
func HandOver(bytes float64) stoker.Interval {
	per := handOver
	if bytes > largeBatch {
		per = handOverLarge
	}
	return bounds.Scale(per, bytes)
}

// collecting returns the time of the trainer's process for one batch of its workers.
func (p *numbers) collecting(v bounds.View) float64 {
	switch {
	case p.workers == 0 || p.feeds:
		return 0
	case p.given:
		return p.batch * p.collect[v]
	}
	return p.batch * p.decoded[v] * p.collect[v]
}

// takesOver adds to a loop that loaded on its own what its thread takes to get a batch of
// a worker, in steps of that length before. Of that as much is seen as was of its loading:
// work that is queued on the device covers the rest. The thread blocks on a core as it did.
// The law's own error holds some of it, all that there is in steps of 20 ms and more; the
// pessimist expects it next to that.
func (p *numbers) takesOver(loaded *numbers, took float64) {
	for v := range p.taking {
		v := bounds.View(v)
		takes := v.PickCost(takeOver) * p.perTensor() * loaded.queueing(v)
		if v != bounds.Pessimist {
			takes = max(0, takes-(lawError.High-1)*took)
		}
		p.taking[v] = (1 - loaded.overlap[v]) * takes
	}
}

// orNone takes an unknown cost as none: all that is computed with it is a lower bound.
func orNone(v float64) float64 {
	if v > 0 {
		return v
	}
	return 0
}

// loopTime returns the time of a step whose input is ready. A copy from pageable memory adds to
// the kernels. A copy from page-locked memory runs next to them, unless it is queued on their
// stream, as the pessimistic view expects. A measured copy counts for as long as the device
// waited for it. The visible part of the exchange between ranks is added.
func (p *numbers) loopTime(t times, v bounds.View) float64 {
	compute, copied := orNone(t[onCompute])+orNone(t[onSync])+p.launchDelay(v)+p.taking[v], orNone(t[onCopy])
	if p.pinned && v != bounds.Pessimist && math.IsNaN(p.copied[v]) {
		return StepOverlapped(copied, compute)
	}
	return StepSerial(copied, compute)
}

// slowestInput returns the time of a step whose device takes none, and the part that binds.
func (p *numbers) slowestInput(t times) (float64, int) {
	if p.workers == 0 {
		if t[waiting] > orNone(t[onWorker]) {
			return orNone(t[making]), onRead
		}
		return orNone(t[making]), onWorker
	}
	most, at := 0.0, onWorker
	for part := onRead; part <= onCollect; part++ {
		if t[part] > most {
			most, at = t[part], part
		}
	}
	return most, at
}

// combine returns the bottleneck law: the step that these parts give, its loop, and
// the part that binds. Without workers input and loop take turns; only the
// optimist expects that queued work covers the loading, where no run told how much
// of it. With workers the slower one decides; where batches differ in cost, nearly
// equal ones hold each other up.
func (p *numbers) combine(t times, v bounds.View) (step, loop float64, bound int) {
	loop = p.loopTime(t, v)
	input, slowest := p.slowestInput(t)
	bound = onCompute
	for _, part := range []int{onCopy, onSync} {
		if t[part] > orNone(t[bound]) {
			bound = part
		}
	}
	if p.workers == 0 {
		step = StepSerial(input, loop) - p.overlap[v]*min(input, loop)
		if input > orNone(t[bound]) {
			bound = slowest
		}
		// trainers share too few cores; one has one, or less by a quota
		if (p.gpus > 1 || p.cores[v] < 1) && t[onCPU] > step {
			step, bound = t[onCPU], onCPU
		}
		return step, loop, bound
	}
	if input > loop {
		bound = slowest
	}
	if step, played := p.playQueue(t, v, loop); played {
		return max(step, loop), loop, bound
	}
	return joinStages(input, loop, p.sharp) + p.refill(t, v, loop, input > loop), loop, bound
}

// playQueue plays the loader's queue batch by batch and returns the step. It returns false if
// nobody asked for it, if the queue's content is unknown, or if the closed form is as exact: all
// batches are alike, and no epoch ends.
func (p *numbers) playQueue(t times, v bounds.View, loop float64) (float64, bool) {
	const most = 4096 // batches under way that are played; more have the closed form
	known := p.workers >= 1 && p.workers*p.prefetch <= most && t[making] > 0 && !(p.rate[v] > 0)
	if !p.exactly || !known || p.cv < leastCV && p.epoch == 0 {
		return 0, false
	}
	q := queue{
		workers: int(p.workers), prefetch: int(p.prefetch), anyOrder: p.anyOrder || p.feeds,
		persistent: p.persistent, start: p.start[v],
		batch: service{t[making], p.cv}, loop: loop,
	}
	if p.epoch > 0 && p.epoch < 10*simulated {
		q.epoch = int(p.epoch)
	}
	step, had := p.played[q]
	if !had {
		if step = q.meanStep(); p.played != nil {
			p.played[q] = step
		}
	}
	for _, part := range [...]int{onRead, onCPU, onCollect} {
		step = math.Max(step, orNone(t[part]))
	}
	return step, true
}

// stragglingNow returns how much slower workers are together than alone, because batches are
// delivered in order: while the next batch is late, the other workers finish their share and
// wait. It was fitted, with sharp, to the queue of play for 1 to 64 workers, prefetch 2 to 8, CV
// up to 1, by least squares on 2026-11-22: 0.5 % off on average, 6 % at most (queue_test.go).
func (p *numbers) stragglingNow() float64 {
	if p.cv == 0 || p.anyOrder || p.feeds || !(p.workers > 1) {
		return 1
	}
	return 1 + 0.42*math.Pow(p.cv, 1.79)*math.Pow(math.Log2(p.workers), 1.27)/math.Pow(p.prefetch, 1.19)
}

// leastCV is the spread of batches below which they count as alike.
const leastCV = 0.02

// sharpNow returns the exponent of joint, fitted to the same queue: with more batches ready, the
// two sides affect each other less.
func (p *numbers) sharpNow() float64 {
	if p.cv < leastCV {
		return math.Inf(1)
	}
	if p.anyOrder || p.feeds {
		return max(1.5, 1.74*math.Pow(p.prefetch, 1.13)*math.Pow(max(1, p.workers), 0.62)*math.Pow(p.cv, -1.42))
	}
	return max(1.5, 2.18*math.Pow(p.prefetch, 0.82)*math.Pow(p.cv, -1.22))
}

// refill returns what the start of an epoch costs per step. Workers start again unless they
// persist, and the queue is empty. If the input binds, most of the refill is work that has to be
// done anyway. The rest is lost: workers idle while the last step of the epoch runs, and the
// last round is not full.
func (p *numbers) refill(t times, v bounds.View, loop float64, inputBinds bool) float64 {
	if p.epoch == 0 || p.workers == 0 {
		return 0
	}
	one := orNone(t[making])
	if inputBinds {
		one = loop + one*(1-1/p.workers)/2
	}
	return (p.start[v] + one) / p.epoch
}

// without returns a step that one part does not hold up.
func (t times) without(part int) times {
	t[part] = 0
	switch part {
	case onRead:
		t[making] -= orNone(t[waiting])
		t[waiting] = 0
	case onWorker:
		t[making] = 0
	}
	return t
}

// nextBound returns the part that binds when the first one is free.
func (p *numbers) nextBound(t times, v bounds.View, first int) int {
	_, _, part := p.combine(t.without(first), v)
	return part
}

// resourceOf returns the resource that a part uses.
func (p *numbers) resourceOf(part int) stoker.Resource {
	if part == onWorker && p.workers == 0 {
		return stoker.MainThread
	}
	return limits[part].Resource
}

// isMissing reports whether a part's time is unknown, or known as a lower bound only,
// though the step may depend on it.
func (p *numbers) isMissing(t times, part int) bool {
	given := p.rate[bounds.Likely] > 0
	switch {
	case part == onCPU && (t[onWorker] > 0 && given || p.workers == 0 && p.gpus == 1):
		return false // given as one rate; or one thread, which has a core
	case part == onRead && p.misses[bounds.Likely]*p.perFile[bounds.Likely] > 0 && math.IsNaN(p.reads[bounds.Likely]):
		return true
	case part == onWorker && !given && p.misses[bounds.Likely]*p.perFile[bounds.Likely] > 0 &&
		math.IsNaN(p.latency[bounds.Likely]):
		return true
	}
	return math.IsNaN(t[part])
}

// complete reports whether all parts are known.
func (p *numbers) complete(t times) bool { return p.certain(t, parts) }

// certain reports whether a part binds whatever the unknown parts take: none is unknown, or this
// part alone.
func (p *numbers) certain(t times, bound int) bool {
	for part := range parts {
		if part != bound && p.isMissing(t, part) {
			return false
		}
	}
	return true
}

// solvePoint solves the setup: three views of the step, and the two corners between
// which utilisation is (a slow device with fast input, and the reverse).
func (p *numbers) solvePoint() Point {
	t := p.partTimes(bounds.Likely, bounds.Likely)
	step, _, bound := p.combine(t, bounds.Likely)
	low, _, _ := p.combine(p.partTimes(bounds.Optimist, bounds.Optimist), bounds.Optimist)
	high, _, _ := p.combine(p.partTimes(bounds.Pessimist, bounds.Pessimist), bounds.Pessimist)
	high *= lawError.High
	r := Point{Step: bounds.Enclose(low, step, high), Fits: p.fitsMemory()}
	r.Bound, r.BoundStage = p.resourceOf(bound), limits[bound].Stage
	r.Utilization = p.utilization(t, step)
	if !p.complete(t) {
		r.Step, r.Utilization = atLeastLow(r.Step), atMostHigh(r.Utilization)
	}
	if !p.certain(t, bound) {
		r.Bound = ""
	}
	if step == 0 {
		r.Step, r.Bound = stoker.Unknown(), ""
	}
	samples := p.batch * p.gpus * p.nodes
	r.Throughput = stoker.Interval{
		Low: samples / r.Step.High, Point: samples / r.Step.Point,
		High: samples / r.Step.Low,
	}
	return r
}

func (p *numbers) utilization(t times, step float64) stoker.Interval {
	best, worst := p.partTimes(bounds.Pessimist, bounds.Optimist), p.partTimes(bounds.Optimist, bounds.Pessimist)
	fast, _, _ := p.combine(best, bounds.Optimist)
	slow, _, _ := p.combine(worst, bounds.Pessimist)
	return bounds.Enclose(worst[onCompute]/(slow*lawError.High), t[onCompute]/step, best[onCompute]/fast)
}

// atLeastLow keeps only the lower end of an interval, atMostHigh only the upper end, because an
// unknown part takes time too.
func atLeastLow(i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: i.Low, Point: math.NaN(), High: math.NaN()}
}

func atMostHigh(i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: math.NaN(), Point: math.NaN(), High: i.High}
}

// StepSerial returns the step of a loop that loads and computes by turns: nothing
// overlaps, and the device is busy for compute/serial of it.
func StepSerial(load, compute float64) float64 { return load + compute }

// StepOverlapped returns the step of a loop whose loading happens while it computes: the
// slower one decides.
func StepOverlapped(load, compute float64) float64 { return max(load, compute) }

// joinStages returns the time of a step in which two stages of these times feed each
// other through a short queue.
func joinStages(a, b, sharp float64) float64 {
	slow, fast := StepOverlapped(a, b), min(a, b)
	if math.IsInf(sharp, 1) || fast == 0 {
		return slow
	}
	x := sharp * math.Log(fast/slow)
	if x < -36 { // less than rounding
		return slow
	}
	return slow * math.Exp(math.Log1p(math.Exp(x))/sharp)
}
