package predict

import (
	"fmt"
	"math"

	"stoker"
	"stoker/hardware"
)

// Forecast is how fast a pipeline would be. Unknown intervals hold NaN.
type Forecast struct {
	Step       stoker.Interval // seconds
	Speedup    stoker.Interval // Step as measured over Step as forecast
	Throughput stoker.Interval // samples/s; unknown where the batch size is
	Stall      stoker.Interval // share of a step in which the device waits for input
	Bound      stoker.Resource // what binds after the change
	Next       stoker.Resource // what would bind if that were free
	Notes      []string        // what the forecast assumes or leaves out
}

// Start values of the law. Each says where it comes from.
var (
	// handOver is what it costs to hand one batch from a worker to the trainer,
	// core seconds per byte, both sides together: the batch is collated into fresh
	// shared memory, every page of which is made anew and mapped twice. Measured
	// 2026-11-21 with bench/handover.py on 2 cores AMD EPYC, torch 2.15, two runs:
	// medians 1.14 and 1.31 ns/byte for 9.6 MB, 1.26 and 1.47 for 2.4 MB; 1.11 to
	// 1.93 over all pairs (n = 24).
	handOver = stoker.Interval{Low: 1.1e-9, Point: 1.3e-9, High: 1.9e-9}

	// handOverLarge is the same for batches above largeBatch: without workers
	// they are made of fresh pages as well, so less is added. Same runs: 0.34 and
	// 0.37 ns/byte for 38.5 MB, 0.44 and 0.58 where the trainer reads them; 0.26
	// to 0.65 over all pairs (n = 24).
	handOverLarge = stoker.Interval{Low: 0.25e-9, Point: 0.45e-9, High: 0.65e-9}

	// crowding is the factor by which a core slows down when its neighbours come
	// into use: shared caches, memory bandwidth, turbo. Measured 2026-11-21 with
	// bench/crowding.py on the same machine, Pillow decode and crop in 1 against 2
	// processes: median 0.99, 0.91 to 1.07 (n = 6 pairs), and with other work
	// running 1.03, 0.90 to 1.17 (n = 10 pairs).
	crowding = stoker.Interval{Low: 0.97, Point: 1.01, High: 1.12}

	// sibling is what the second hardware thread of a core adds. [J] prior of
	// research predict 3.2: 0.15-0.35, to be fitted.
	sibling = stoker.Interval{Low: 0.15, Point: 0.25, High: 0.35}

	// forkStart and spawnStart are the seconds until a set of workers runs: a
	// copy of the trainer, or a fresh interpreter that imports torch.
	forkStart  = stoker.Interval{Low: 0.01, Point: 0.05, High: 0.2}
	spawnStart = stoker.Interval{Low: 1, Point: 3, High: 8}
)

// lawError is by which factor a step differs from what the law says though all its
// costs are known: taking a batch from a queue, waking up, caches that are shared
// now. Residuals of the labelled runs whose loop binds after the change
// (bench/labelled, 2026-11-21, n = 4): 1.00 to 1.04.
var lawError = stoker.Interval{Low: 0.98, Point: 1.01, High: 1.05}

// largeBatch is the size above which the C library takes and returns a batch's
// memory anew each time (M_MMAP_THRESHOLD's upper limit, mallopt(3)).
const largeBatch = 32 << 20

// jointSharp is the exponent with which two stages of nearly equal speed hold
// each other up, X^-q = a^-q + b^-q: without variance the slower one alone
// decides (Inf). Fits on public curves gave 4 to 20 (research predict 3.2).
const jointSharp, jointBlunt = 20, 6

// Throughput solves the pipeline with the bottleneck law: a step takes as long as
// its slowest part, where parts that share a thread add up.
//
//	no workers:  step = max(loop, measured step - what the input got faster)
//	W workers:   step = max(loop, input(W))
//	input(W)   = max(batch's wall time / W, all core time / cores, shared waits)
//
// The present settings give the present step: the law predicts changes, not
// what was measured.
func Throughput(p stoker.Pipeline, m hardware.Machine) Forecast {
	f := Forecast{Step: stoker.Unknown(), Speedup: stoker.Unknown(), Throughput: stoker.Unknown(), Stall: stoker.Unknown()}
	if math.IsNaN(p.Step) || !(p.Step > 0) {
		f.Notes = append(f.Notes, "no steps were seen: how long one takes is unknown")
		return f
	}
	changes := p.Settings.Since(p.Measured)
	f.Notes = unmodelled(changes)
	ends := [3]outcome{solve(p, m, optimist), solve(p, m, likely), solve(p, m, pessimist)}
	f.Step = sorted(ends[0].step*lawError.Low, ends[1].step*lawError.Point, ends[2].step*lawError.High)
	if len(changes) == 0 {
		f.Step = stoker.Exactly(p.Step)
	}
	f.Speedup = stoker.Interval{Low: p.Step / f.Step.High, Point: p.Step / f.Step.Point, High: p.Step / f.Step.Low}
	if p.Batch > 0 {
		f.Throughput = stoker.Interval{Low: p.Batch / f.Step.High, Point: p.Batch / f.Step.Point, High: p.Batch / f.Step.Low}
	}
	f.Stall = sorted(ends[0].stall(), ends[1].stall(), ends[2].stall())
	f.Bound, f.Next = ends[1].bound, ends[1].next
	return f
}

// modelled are the settings whose change the closed law understands.
var modelled = map[stoker.Setting]bool{
	stoker.NumWorkers: true, stoker.PersistentWorkers: true, stoker.PinMemory: true, stoker.NonBlocking: true,
	stoker.StorageKind: true, stoker.Cores: true, stoker.PrefetchFactor: true, stoker.InOrder: true,
	stoker.LoaderKind: true, stoker.FastPixels: true, stoker.OnDevice: true,
}

func unmodelled(changes []stoker.Change) (notes []string) {
	for _, c := range changes {
		if !modelled[c.Setting] {
			notes = append(notes, fmt.Sprintf("the closed law has no model of %s: its effect is left out", c.Setting))
		}
	}
	return notes
}

// view picks an end of every interval: the law is solved once for the best case,
// once for the likely one, once for the worst.
type view int

const (
	optimist view = iota
	likely
	pessimist
)

// cost picks from an interval of costs: the optimist takes the low end.
func (v view) cost(i stoker.Interval) float64 {
	return [...]float64{i.Low, i.Point, i.High}[v]
}

// independent is how far a view goes towards the end of an unknown that is one of
// several of similar size: three that are independent of each other add up to the
// root of three, not to three.
const independent = 0.6

// part picks from an interval of one of several independent costs.
func (v view) part(i stoker.Interval) float64 {
	return i.Point + independent*(v.cost(i)-i.Point)
}

// outcome is one solution of the law.
type outcome struct {
	step, loop  float64
	bound, next stoker.Resource
}

func (o outcome) stall() float64 { return max(0, 1-o.loop/o.step) }

func solve(p stoker.Pipeline, m hardware.Machine, v view) outcome {
	loop := v.cost(p.Loop) - v.saved(p, m)
	before, _ := p.Measured.Int(stoker.NumWorkers)
	after, _ := p.Settings.Int(stoker.NumWorkers)
	if after == 0 {
		return serial(p, v, loop, before)
	}
	return pipelined(p, v, loop, before, after)
}

// saved is what a change of the copy takes off the loop: pageable to pinned.
// Pinned and non-blocking, the copy still takes its turn on the device, but the
// launching thread no longer waits for it.
func (v view) saved(p stoker.Pipeline, m hardware.Machine) float64 {
	was, _ := p.Measured.Bool(stoker.PinMemory)
	is, _ := p.Settings.Bool(stoker.PinMemory)
	copied := p.Part(stoker.Transfer).Wait
	if copied.Known() && turned(stoker.OnDevice, p) {
		return v.saving(copied) * (1 - asUint8)
	}
	if was || !is || !copied.Known() || m.Link.Name == "" {
		return 0
	}
	return max(0, v.saving(copied)-p.Bytes/m.Link.Pinned.Value)
}

// asUint8 is the share of a float32 batch's bytes that it has as uint8.
const asUint8 = 0.25

// turned reports whether a switch was off as measured and is on now.
func turned(name stoker.Setting, p stoker.Pipeline) bool {
	was, _ := p.Measured.Bool(name)
	is, _ := p.Settings.Bool(name)
	return is && !was
}

// saving picks from an interval of what a change saves: the optimist saves most.
func (v view) saving(i stoker.Interval) float64 {
	return v.cost(stoker.Interval{Low: i.High, Point: i.Point, High: i.Low})
}

// input is what preparing a batch costs in this view: waiting for itself,
// waiting in a shared queue, core time.
func (v view) input(p stoker.Pipeline, settings stoker.Settings) (alone, shared, cpu float64) {
	read, prepare := p.Part(stoker.Read), p.Part(stoker.Prepare)
	cpu, wait := v.part(prepare.CPU)*v.cheaper(p.Measured, settings), v.cost(read.Wait)
	if settings.Text(stoker.StorageKind) == PageCache {
		wait = 0
	}
	shared = wait * v.cost(read.Shared)
	return wait, shared, cpu
}

// PageCache is the value of the storage setting that says that the data set lies
// in memory.
const PageCache = "page cache"

// serial solves num_workers=0: whatever the input got faster comes off the step,
// until the loop binds.
func serial(p stoker.Pipeline, v view, loop float64, before int) outcome {
	waitWas, _, cpuWas := v.input(p, p.Measured)
	wait, _, cpu := v.input(p, p.Settings)
	input := wait + cpu
	o := outcome{loop: loop, bound: stoker.MainThread, next: stoker.GPU}
	if before == 0 { // Serial(input, loop) less what the queue on the device covers: as measured
		o.step = max(loop, p.Step-(v.cost(p.Loop)-loop)-(waitWas+cpuWas-input))
	} else {
		o.step = max(loop, v.cost(stoker.Interval{Low: max(input, p.Loop.Low), Point: Serial(input, p.Loop.Point), High: Serial(input, p.Loop.High)}))
	}
	if o.step <= loop {
		o.bound, o.next = stoker.GPU, stoker.MainThread
	}
	return o
}

// pipelined solves num_workers > 0.
func pipelined(p stoker.Pipeline, v view, loop float64, before, after int) outcome {
	alone, shared, cpu := v.input(p, p.Settings)
	if before == 0 && !Feeds(p.Settings) { // stoker's loader hands over the memory that it writes to
		cpu += v.handOver(p.Bytes)
	}
	crowd := 1.0
	if after > before {
		crowd = v.part(crowding) * v.siblings(p, after)
	}
	one := alone + cpu*crowd // one worker's time for one batch
	one = max(one, fitted(p, one))
	demands := map[stoker.Resource]float64{
		stoker.Worker:  one / float64(after),
		stoker.CPU:     (cpu*crowd + v.cost(p.LoopCPU)) / v.cores(p),
		stoker.Storage: shared,
	}
	input, bound := largest(demands)
	sharp := [...]float64{math.Inf(1), jointSharp, jointBlunt}[v]
	if p.FetchCV < 0.05 {
		sharp = math.Inf(1)
	}
	o := outcome{loop: loop, step: joint(input, loop, sharp), bound: bound, next: stoker.GPU}
	if loop >= input {
		o.bound, o.next = stoker.GPU, bound
	}
	o.step += v.refill(p, one, loop, after, input > loop)
	return o
}

// fitted is what one batch really takes one worker, hand-over and gaps included:
// a starved run whose workers are the limit tells it. Zero where the run tells
// nothing, because it has no workers, a core was missing, or the settings changed
// what a batch costs.
func fitted(p stoker.Pipeline, one float64) float64 {
	workers, _ := p.Measured.Int(stoker.NumWorkers)
	took := p.Step * float64(workers)
	cpu := (p.Part(stoker.Prepare).CPU.Point + p.LoopCPU.Point) / likely.cores(p)
	same := p.Settings.Text(stoker.StorageKind) == p.Measured.Text(stoker.StorageKind) && likely.cheaper(p.Measured, p.Settings) == 1
	if p.Loop.High >= 0.95*p.Step || cpu > 0.9*p.Step || !same || took > 1.3*one {
		return 0
	}
	return took
}

// handOver is what handing over a batch costs in this view, core seconds.
func (v view) handOver(bytes float64) float64 {
	switch {
	case math.IsNaN(bytes):
		return 0
	case bytes > largeBatch:
		return v.part(handOverLarge) * bytes
	}
	return v.part(handOver) * bytes
}

// cores is how many cores the job gets in this view. Its neighbours may stay as
// they are; the optimist sees half of them go.
func (v view) cores(p stoker.Pipeline) float64 {
	cores := p.Cores
	if v == optimist && p.CoresMost > cores {
		cores += (p.CoresMost - cores) / 2
	}
	if set, known := p.Settings.Float(stoker.Cores); known {
		cores = set
	}
	if math.IsNaN(cores) {
		return math.Inf(1)
	}
	return max(0.1, cores)
}

// siblings is by how much a core's work slows down when processes share physical
// cores as hardware threads.
func (v view) siblings(p stoker.Pipeline, workers int) float64 {
	threads := min(float64(workers+1), v.cores(p))
	_, moved := p.Settings[stoker.Cores] // what lies behind other cores is not known
	if moved {
		return 1
	}
	return v.threads(threads, p.PhysCores)
}

// threads is by how much that many busy threads slow each other down on so many
// physical cores; 1 where those are not known.
func (v view) threads(busy, physical float64) float64 {
	if physical <= 0 || !(busy > physical) {
		return 1
	}
	gain := stoker.Interval{Low: sibling.High, Point: sibling.Point, High: sibling.Low} // the optimist gains most
	return busy / (physical + v.cost(gain)*(busy-physical))
}

// refill is what an epoch's start costs per step: workers start anew unless they
// persist, and the queue is empty. Where input binds, most of the refill is work
// that had to be done anyway; what remains is that workers idle while the last
// step of the epoch runs, and that the last round is not full.
func (v view) refill(p stoker.Pipeline, one, loop float64, workers int, inputBinds bool) float64 {
	if p.EpochSteps == 0 || Feeds(p.Settings) { // which goes on into the next epoch by itself
		return 0
	}
	start := 0.0
	if persistent, _ := p.Settings.Bool(stoker.PersistentWorkers); !persistent {
		start = v.cost(forkStart)
		if p.StartMethod == "spawn" || p.StartMethod == "forkserver" {
			start = v.cost(spawnStart)
		}
	}
	extra := stoker.Exactly(one)
	if inputBinds {
		extra = stoker.Interval{Low: 0, Point: loop + one*(1-1/float64(workers))/2, High: loop + one}
	}
	return (start + v.cost(extra)) / p.EpochSteps
}

// Serial is the step of a loop that loads and computes by turns: nothing
// overlaps, and the device is busy for compute/Serial of it.
func Serial(load, compute float64) float64 { return load + compute }

// Overlapped is the step of a loop whose loading happens while it computes: the
// slower one decides.
func Overlapped(load, compute float64) float64 { return max(load, compute) }

// joint is the time of a step in which two stages of these times feed each
// other through a short queue.
func joint(a, b, sharp float64) float64 {
	slow, fast := Overlapped(a, b), min(a, b)
	if math.IsInf(sharp, 1) || slow == 0 {
		return slow
	}
	return slow * math.Pow(1+math.Pow(fast/slow, sharp), 1/sharp)
}

func largest(demands map[stoker.Resource]float64) (float64, stoker.Resource) {
	most, name := -1.0, stoker.Resource("")
	for _, r := range []stoker.Resource{stoker.Worker, stoker.CPU, stoker.Storage} { // in this order where they tie
		if demands[r] > most {
			most, name = demands[r], r
		}
	}
	return most, name
}

// sorted makes an interval whose point lies inside: the three views move several
// costs at once and may cross where one of them hits a bound.
func sorted(a, point, b float64) stoker.Interval {
	return stoker.Interval{Low: min(a, point, b), Point: point, High: max(a, point, b)}
}
