package measure

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// From returns the job of a run with the run's own measured costs: of its most starved
// trainer, if it has several. Of a run without steps Took is unknown.
func From(run *recording.Run) predict.Baseline {
	costs, ok := Slowest(run)
	if !ok {
		return predict.Baseline{Took: math.NaN()}
	}
	return costs.MakeBaseline(run)
}

// Slowest measures every trainer of the run and returns the one whose device is most starved of
// input. A rank that waits for it in a collective is not starved itself. If no device clock is
// known, the host's wait decides. It returns false if no trainer has enough steps.
func Slowest(run *recording.Run) (Costs, bool) { return Starved(Trainers(run)) }

// Trainers measures every trainer with enough steps, in order of rank.
func Trainers(run *recording.Run) []Costs {
	var all []Costs
	for _, w := range run.Windows() {
		all = append(all, Measure(run, w))
	}
	return all
}

// Starved picks the trainer that Slowest returns.
func Starved(all []Costs) (Costs, bool) {
	best, found := Costs{}, false
	for _, c := range all {
		if !found || c.starvedShare() > best.starvedShare() {
			best, found = c, true
		}
	}
	return best, found
}

// starvedShare orders trainers by how much of their step is spent waiting for input.
func (c Costs) starvedShare() float64 {
	if !math.IsNaN(c.Idle) {
		return c.Idle / c.Step
	}
	return stat.Or(c.Wait/c.HostStep, 0)
}

// MakeBaseline turns measured costs into a setup. If the batch size is unknown, a batch counts
// as one sample, and no figure in samples is given.
func (c Costs) MakeBaseline(run *recording.Run) predict.Baseline {
	m := run.Facts.Machine
	b := predict.NewBaseline(c.Step)
	b.Setup = predict.Setup{
		Batch: 1, Cores: m.Cores(), Others: stat.Or(m.Cores()-c.Cores, 0), PhysCores: float64(m.PhysCores),
		LoopCPU: stoker.Exactly(max(bounds.Least, c.LoopCPU-c.Spin())), BatchCV: stat.Or(c.FetchCV, 0), Cached: 1,
		Link: MachineOf(run).Link,
	}.WithWorkers(float64(c.Workers))
	l := run.FindLoader(c.Window.PID, c.Window.Loader)
	b.Batch, b.Counted = c.batchSamples(l)
	if l != nil {
		c.takeSettings(&b, l)
	}
	if asks := c.Window.Asks(); asks.CopyBytes > 0 { // what goes to the device, from the loader or not
		b.Decoded, b.Pinned = stoker.Exactly(asks.CopyBytes/b.Batch), asks.Pageable == 0
	}
	b.Settings[stoker.NumWorkers] = c.Workers
	b.Alters = l.Alters
	loop := c.loopTime(len(run.Facts.GPUs) > 0)
	b.Copy = c.transfer(b.Setup, loop)
	b.Step = loop
	if copied := b.Copy; copied.Known() { // what saves most is taken off first: the optimist's loop is the shortest
		b.Step = stoker.Interval{
			Low:   max(bounds.Least, loop.Low-copied.High),
			Point: max(bounds.Least, loop.Point-copied.Point), High: max(bounds.Least, loop.High-copied.Low),
		}
	}
	b.Launch = c.launch(b.Step)
	b.Busy, b.Threads = c.Busy, float64(FeedThreads(run))
	c.setPrepare(run, &b.Setup)
	b.Unhurry(c.Spin(), stat.Or(c.Busy, 0)*c.Step)
	if alone := c.loopWithCores(); alone > 0 {
		b.Uncrowded = max(bounds.Least, alone-stat.Or(b.Copy.High, 0))
	}
	return b
}

// batchSamples returns how many samples a batch has: as counted, or, if the hook could not count
// them, such as graphs, as many as the loader puts together. A loader that puts one together may
// get whole batches from its data set: that is unknown, and one.
func (c Costs) batchSamples(l *recording.Loader) (samples float64, known bool) {
	if samples := c.Window.Samples(); samples > 0 && samples <= bounds.MostCount {
		return samples, true
	}
	if l != nil {
		if size, set := l.Settings.Float(stoker.BatchSize); set && size > 1 && size <= bounds.MostCount {
			return size, true
		}
	}
	return 1, false
}

// takeSettings takes all that is known of the loader's settings.
func (c Costs) takeSettings(b *predict.Baseline, l *recording.Loader) {
	b.Settings = c.FindSettings(l)
	b.Shards, _ = b.Settings.Float(stoker.Shards)
	b.StartMethod, b.Feeds = l.Start, c.Feed != nil
	b.Persistent, _ = l.Settings.Bool(stoker.PersistentWorkers)
	b.Prefetch, _ = l.Settings.Float(stoker.PrefetchFactor)
	if ordered, known := l.Settings.Bool(stoker.InOrder); known {
		b.AnyOrder = !ordered
	}
	b.Epoch = float64(l.Samples)
	if c.EpochSteps > 0 {
		b.Epoch = c.EpochSteps * b.Batch
	}
	b.Start = c.startOfWorkers()
	if l.BatchBytes > 0 {
		b.Decoded = stoker.Exactly(l.BatchBytes / b.Batch)
	}
	b.Pinned, b.Tensors = l.Pinned != nil && *l.Pinned, float64(l.Tensors)
}

// startOfWorkers returns what new workers add to the wait for an epoch's first batch: all except
// the batch's own preparation. In the worst view half of it has another cause that comes once in
// an epoch, in the best view all of the wait goes. It is not set if no epoch began with new
// workers.
func (c Costs) startOfWorkers() stoker.Interval {
	if c.Workers == 0 || c.Feed != nil || !(c.EpochSteps > 0) || math.IsNaN(c.EpochStart) {
		return stoker.Interval{}
	}
	own := min(c.EpochStart, max(stat.Or(c.Fetch, 0), stat.Or(c.FirstFetch, 0)))
	likely := max(bounds.Least, c.EpochStart-own)
	most := c.EpochStart
	if c.StartsWithWork() {
		most = likely
	}
	return stoker.Interval{Low: max(bounds.Least, likely/2), Point: likely, High: max(likely, most)}
}

// mostOfStart is the share of the wait for an epoch's first batch from which the worker's own
// work on that batch counts as the cause. [J]
const mostOfStart = 0.5

// StartsWithWork reports whether an epoch's first batch waits for the work on that batch, which
// persistent workers repeat in each epoch.
func (c Costs) StartsWithWork() bool {
	return c.FirstFetch >= mostOfStart*c.EpochStart
}

// StartsWithBatch reports whether an epoch's first batch waits for the work on a batch as any other.
func (c Costs) StartsWithBatch() bool {
	return c.Fetch > 0 && c.Fetch >= mostOfStart*c.EpochStart
}

// loopTime bounds the time of a step whose input is always ready. The upper bound is the time
// that was not spent waiting for input, as the device saw it. The lower bound is the larger of
// the launching thread's time and the device's busy time: the step if the two overlap
// completely. If the loop synchronises in every step, the two bounds meet, because the launching
// thread then waits for the device.
func (c Costs) loopTime(hasDevice bool) stoker.Interval {
	host := max(0, c.HostStep-c.Wait)
	if !hasDevice {
		return stoker.Exactly(host)
	}
	high := c.Step
	if !math.IsNaN(c.Idle) {
		high = max(host, c.Step-c.Idle)
	}
	low := min(high, max(host, stat.Or(c.Busy, 0)*c.Step))
	point := low
	if math.IsNaN(c.Busy) {
		point = high
	}
	return stoker.Interval{Low: low, Point: point, High: high}
}

// Shares of the time at work in which the launching thread blocks on a core, from which the job's threads
// hold each other up, and from which they do so all the time. [J]
const (
	queuesSeldom = 0.02
	queuesOften  = 0.10
)

// loopWithCores returns how short the loop's time may get when workers leave the launching
// thread its core. It was measured while they had it: threads that it blocks on, such as
// autograd's, queued as it did, and its other work on a core was slowed down by theirs
// (bench/gpu/RESULTS.md). The device's kernels take as long as before.
func (c Costs) loopWithCores() float64 {
	if c.Workers == 0 || !(c.LaunchQueue > 0) || !(c.LaunchCPU > 0) {
		return math.NaN()
	}
	queued := c.LaunchQueue / (c.LaunchQueue + c.LaunchCPU)
	slowed := 1 + stat.Ramp(queued, queuesSeldom, queuesOften)*(predict.Crowding().High-1)
	return max(stat.Or(c.Busy, 0)*c.Step, max(0, c.HostStep-c.Wait)*(1-queued)/slowed)
}

// manyLaunches is how many launches a step has from which at least half of what no kernel
// runs in is launching them. [J]
const manyLaunches = 10

// launch returns what of a loop does not grow with the batch: launching does not, kernels do.
func (c Costs) launch(loop stoker.Interval) stoker.Interval {
	if math.IsNaN(c.Busy) {
		return stoker.Interval{Low: 0, Point: loop.Point / 2, High: loop.Low}
	}
	rest := max(0, loop.Point-c.Busy*c.Step)
	low := 0.0
	if c.Window.Asks().Launches >= manyLaunches {
		low = rest / 2
	}
	return stoker.Interval{Low: low, Point: rest, High: max(rest, loop.High-c.Busy*c.Step)}
}

// Spin returns the core time per step of a launching thread that blocks on the device, as CUDA
// does by default: it can do so only while the device works.
func (c Costs) Spin() float64 { return min(c.LoopCPU, stat.Or(c.Busy, 0)*c.Step) }

// single returns the cost of a batch in a process with one thread, over its cost in the
// launching thread. If the launching thread had helpers, a part of its own time is spinning at
// the end of operations, and the helpers' time may be work that it would have to do.
func (c Costs) single() stoker.Interval {
	most := 1 + stat.Or(c.HelperCPU/c.FetchCPU, 0)
	switch {
	case c.Workers > 0 || c.Feed != nil:
		return stoker.Exactly(1)
	case c.HelpersSpin():
		return stoker.Interval{Low: spinLeast, Point: 1, High: most}
	case c.Helped():
		return withHelpers
	}
	return stoker.Interval{Low: 1, Point: 1, High: most}
}

// withHelpers is what decoding and transforming images costs with one thread,
// over the cost to the launching thread that has intra-op helpers and cores for
// them. Measured 2026-11-21, 2 cores, Pillow and torchvision: 104 against 106 ms
// per batch of 32, 80 to 96 against 107 ms in other pairs (n = 4). [J] A transform
// that is mostly large tensor operations is above; the forecast says so.
var withHelpers = stoker.Interval{Low: 0.78, Point: 0.9, High: 1.06}

// helpersSeen is the share of the launching thread's core time from which helpers
// count as taking part.
const helpersSeen = 0.3

// spinLeast is the least share of the launching thread's core time that is work, if intra-op
// threads spin for each other on cores that they do not have. Measured 2026-11-21 on 2 cores
// with another program on one of them: Pillow decode, crop, ToTensor and Normalize took 2.9 ms
// of core time per image with one intra-op thread, 5.7 to 22 with two (n = 4 runs).
const spinLeast = 0.13

// Helped reports whether other threads of the trainer took part in fetching.
func (c Costs) Helped() bool { return c.HelperCPU > helpersSeen*c.FetchCPU }

// workersHelped reports whether other threads of the workers took part in fetching.
func (c Costs) workersHelped() bool {
	return c.WorkerHelpers > helpersSeen*(c.WorkerCPU-c.WorkerHelpers)
}

// HelpersSpin reports whether the launching thread's core time is inflated by
// intra-op threads: they take part, and they have to queue for a core, so that
// the thread spins at the end of each operation until its helper had its turn.
func (c Costs) HelpersSpin() bool {
	return c.Helped() && c.FetchQueue > 0.1*c.Fetch && c.FetchQueue <= c.Fetch // more is the loop's own queueing
}

// severalThreads is how many threads of a worker want a core at a time, from which a library computes with
// several: Python's own thread that sends batches is seldom at work at the same time. [J]
const severalThreads = 1.5

// crowdedCores is the number of threads per core from which the workers' threads are too many.
// As many threads as cores only take turns with the machine's other programs. [J]
const crowdedCores = 1.25

// CrowdedByThreads reports whether the workers' libraries start more threads than there are cores: those
// threads take a good part of the workers' core time, and together with those that fetch they want more
// cores than the job may use. More workers would add as many again.
func (c Costs) CrowdedByThreads(cores float64) bool {
	if c.Workers == 0 || c.Feed != nil || !c.workersHelped() {
		return false
	}
	busy := min(1, stat.Or(c.Fetch/(float64(c.Workers)*c.HostStep), 1))
	return c.WorkerThreads >= severalThreads && float64(c.Workers)*busy*c.WorkerThreads > crowdedCores*cores
}

// LeastStep bounds the step of a loader whose threads no longer delay each other: it is at least
// as long as the loop, and as the share of loading's core time that is certainly work.
func (c Costs) LeastStep(loop, cores float64) float64 {
	work := max(stat.Or(c.FetchCPU, 0), stat.Or(c.WorkerCPU, 0)) * spinLeast
	return max(loop, work/max(1, min(float64(max(1, c.Workers)), cores)))
}

// hardlyRead is a rate of reading, bytes/s, below which files are not what loading
// blocks on. [J] A disk that seeks for every small file brings more.
const hardlyRead = 100e3

// FromStorage describes where the data comes from.
func (c Costs) FromStorage() string {
	read := math.Max(stat.Or(c.ReadRate, 0), stat.Or(c.DiskRate, 0))
	switch {
	case math.IsNaN(c.DiskRate):
		return "how much comes from storage is not known"
	case read < hardlyRead && c.Remote > c.OnDisk:
		return "hardly anything is read from files: what is waited for comes over a network connection"
	case read < hardlyRead:
		return "hardly any bytes come from storage: requests are waited for, such as opening and looking up files"
	case c.Remote > c.OnDisk && c.DiskRate < read/2:
		return fmt.Sprintf("%s are read, and %s come from local disks: the rest comes over the network or "+
			"from a program, or lies in the page cache", quantity.AboutRate(read), quantity.AboutRate(c.DiskRate))
	case c.DiskRate > 0.99*read:
		return quantity.AboutRate(c.DiskRate) + " come from storage, which is all that is read"
	}
	return fmt.Sprintf("%s come from storage, of %s read: the rest is in the page cache",
		quantity.AboutRate(c.DiskRate), quantity.AboutRate(read))
}

// setPrepare splits the preparation of a batch into waiting and core time. It subtracts from the
// core time what the present number of workers adds to it.
func (c Costs) setPrepare(run *recording.Run, s *predict.Setup) {
	if c.Cluster != nil { // to this machine's cores a worker elsewhere is something that is waited for
		s.PrepareCPU, s.HandOver = stoker.Exactly(predict.NoWork), stoker.Exactly(predict.NoWork)
		s.Wait, s.Waiters = stoker.Exactly(c.Fetch/s.Batch), float64(c.Workers)
		return
	}
	cpu := c.FetchCPU
	if c.Workers > 0 && c.Feed == nil && c.WorkerCPU > stat.Or(cpu, 0) {
		cpu = c.WorkerCPU // decoders may use their own threads
	}
	took := stoker.Exactly(cpu)
	var wait stoker.Interval
	switch {
	case math.IsNaN(c.Fetch):
		s.PrepareCPU, s.Wait = stoker.Unknown(), stoker.Unknown()
		return
	case math.IsNaN(cpu):
		took = stoker.Interval{Low: 0, Point: c.Fetch / 2, High: c.Fetch}
		wait = took
	default:
		wait = stoker.Exactly(max(0, c.Fetch-stat.Or(c.FetchCPU, cpu)-stat.Or(c.FetchQueue, 0)))
		s.Single = c.single()
		s.Queue = stoker.Exactly(1 + stat.Or(c.FetchQueue, 0)/max(bounds.Least, cpu))
	}
	s.Wait, s.Shared = bounds.Scale(wait, 1/s.Batch), c.sharedWait(run, wait.Point)
	s.Waiters = float64(max(1, c.Workers))
	s.SetMeasuredPrepare(took)
}

// sharedWait says how much of the waiting is a queue that more workers only make
// longer: a disk or a limit that is already used up.
func (c Costs) sharedWait(run *recording.Run, wait float64) stoker.Interval {
	if wait < 0.1*c.Fetch || stat.Or(c.OnDisk, 0) < 0.1 {
		return stoker.Exactly(0)
	}
	limit := run.Facts.Machine.DiskLimit
	if c.DiskBusy >= 0.9 || limit > 0 && c.DiskRate >= 0.8*limit {
		return stoker.Interval{Low: 0.8, Point: 1, High: 1}
	}
	return stoker.Interval{Low: 0, Point: 0.5, High: 1}
}

// transfer estimates how long the copy to the device keeps it from computing,
// from the batch's size and the link's rates, never more than the time in which
// no kernel ran though input was there.
func (c Costs) transfer(s predict.Setup, loop stoker.Interval) stoker.Interval {
	bytes := s.Batch * s.Decoded.Point
	if !bounds.IsSet(s.Decoded) || s.Link.Name == "" {
		return stoker.Unknown()
	}
	rest := math.Inf(1)
	if !math.IsNaN(c.Busy) {
		rest = max(bounds.Least, loop.High-c.Busy*c.Step)
	}
	if s.Pinned {
		return stoker.Exactly(min(rest, bytes/s.Link.Pinned.Value))
	}
	low, high := bytes/s.Link.Pageable[1].Value, bytes/s.Link.Pageable[0].Value
	point := min(high, max(low, rest))
	if math.IsInf(rest, 1) {
		point = math.Sqrt(low * high)
	}
	return stoker.Interval{Low: min(rest, low), Point: min(rest, point), High: min(rest, high)}
}

// MachineOf finds the hardware rows of the run's first GPU.
func MachineOf(run *recording.Run) hardware.Machine {
	if len(run.Facts.GPUs) == 0 {
		return hardware.Machine{}
	}
	return hardware.MachineOf(run.Facts.GPUs[0].Name)
}
