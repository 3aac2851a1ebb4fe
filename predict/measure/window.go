package measure

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Measure takes the costs of one window from the run.
func Measure(run *recording.Run, w recording.Window) Costs {
	c := Costs{Window: w, Step: w.Time(), HostStep: w.HostTime(), Wait: w.Wait(), Idle: w.Idle()}
	c.Workers, c.Set = workers(run, w)
	c.Uncounted = c.Workers == 0 && !c.Set && (c.Other(run) != "" || !isWatched(run))
	c.Giving = givingWorkers(run, w, c.Workers)
	c.EpochSteps, c.EpochStart = measureEpochs(w)
	c.Rare, c.SyncsAt = findRare(w), w.SyncsAt()
	device := deviceBusy(run, w)
	c.Busy, c.BusyFrom, c.Copying = device.Share, device.From, device.Copying
	c.Queued = math.NaN()
	if !math.IsNaN(c.Idle) {
		c.Queued = max(0, c.Wait-c.Idle)
	}
	c.fetching(run)
	c.takeCores(run)
	c.addStorage(run)
	c.readFeeding(run)
	c.readCluster(run)
	c.Split = c.splitFetch(run)
	return c
}

func workers(run *recording.Run, w recording.Window) (n int, set bool) {
	if l := run.FindLoader(w.PID, w.Loader); l != nil {
		if n, known := l.Settings.Int("num_workers"); known {
			return n, true
		}
		if Feeds(l.Settings) {
			return FeedThreads(run), false
		}
	}
	return len(aliveDuring(run.Workers(w.PID), w)), false
}

// measureEpochs returns how many steps are between the beginnings of epochs, and how long each
// waits for its first batch.
func measureEpochs(w recording.Window) (steps, start float64) {
	var waits, lengths []float64
	last := -1
	for _, s := range w.Steps {
		if !s.First {
			continue
		}
		waits = append(waits, stat.Or(s.Idle, s.Wait))
		if last >= 0 && s.N > last {
			lengths = append(lengths, float64(s.N-last))
		}
		last = s.N
	}
	return stat.Median(lengths), stat.Mean(waits)
}

// givingWorkers returns how many workers had data to give, in the mean; NaN unknown.
func givingWorkers(run *recording.Run, w recording.Window, workers int) float64 {
	ended := run.Find(recording.WorkersEnded, fmt.Sprintf("loader/%d/%d", w.PID, w.Loader))
	return float64(workers) - ended.Mean(w.Start, w.End)
}

// leastGiving is the part of a worker that has to be without data in the mean, so that it is
// more than the end of epochs, at which all run out one after the other. [J]
const leastGiving = 0.5

// WithoutData returns how many of the workers have nothing to read while others give batches, in
// the mean; 0 where all have, or if it is not known.
func (c Costs) WithoutData() float64 {
	if without := float64(c.Workers) - c.Giving; without >= leastGiving {
		return without
	}
	return 0
}

// FindSettings returns a loader's settings, with all that is known of its data set: how that is
// split, and into how many shards. Where its library does not tell, those workers that have data
// tell.
func (c Costs) FindSettings(l *recording.Loader) stoker.Settings {
	found := l.Settings.With()
	if s := l.FindSplit(); s != recording.UnknownSplit {
		found[stoker.Split] = string(s)
	}
	if l.Shards > 0 {
		found[stoker.Shards] = l.Shards
	} else if c.WithoutData() > 0 {
		found[stoker.Shards] = max(1, int(math.Round(c.Giving)))
	}
	return found
}

// isWatched reports whether somebody looked at the job's processes.
func isWatched(run *recording.Run) bool {
	return len(run.All(recording.TreeCPU)) > 0 || len(run.All(recording.ProcessCPU)) > 0
}

// aliveDuring returns the processes that were there for most of the window.
func aliveDuring(all []recording.Process, w recording.Window) []recording.Process {
	var some []recording.Process
	middle := (w.Start + w.End) / 2
	for _, p := range all {
		if p.Start <= middle && (p.End == 0 || p.End >= middle) {
			some = append(some, p)
		}
	}
	return some
}

// deviceBusy returns for how much of the window kernels ran on the trainer's device. If that
// device is not known, it takes the run's only one; with several it is unknown.
func deviceBusy(run *recording.Run, w recording.Window) recording.KernelTime {
	device := -1
	if p := run.FindProcess(w.PID); p != nil {
		device = p.Device
	}
	if device < 0 && len(run.Facts.GPUs) == 1 {
		device = run.Facts.GPUs[0].Index
	}
	return run.KernelTime(fmt.Sprintf("gpu/%d", device), w)
}

// fetchers returns the subjects whose fetch counters belong to the window: the
// trainer itself without workers, else its workers.
func (c *Costs) fetchers(run *recording.Run) []string {
	if c.Workers == 0 {
		return []string{fmt.Sprintf("process/%d", c.Window.PID)}
	}
	var subjects []string
	for _, p := range run.Workers(c.Window.PID) {
		subjects = append(subjects, fmt.Sprintf("process/%d", p.PID))
	}
	return subjects
}

// firstFetch returns how much longer the workers' first reports are than as many usual fetches.
// An iterable data set starts again in each epoch. A map-style one stays with its worker, so its
// first work is done once.
func (c *Costs) firstFetch(run *recording.Run) float64 {
	var firsts []float64
	for _, subject := range c.fetchers(run) {
		wall, count := run.Find(recording.FetchWall, subject), run.Find(recording.FetchCount, subject)
		if wall == nil || count == nil || c.Workers == 0 {
			continue
		}
		if len(wall.V) > 0 && len(count.V) > 0 && wall.T[0] >= c.Window.Start {
			firsts = append(firsts, wall.V[0]-max(0, count.V[0]-1)*c.Fetch)
		}
	}
	return stat.Median(firsts)
}

// slowFetches returns what fetches take beyond their usual time, seconds: what readings of
// workers' counters have more than the median reading's time for as many fetches.
func (c *Costs) slowFetches(run *recording.Run) (sum float64) {
	type reading struct{ wall, count float64 }
	var readings []reading
	var each []float64
	for _, subject := range c.fetchers(run) {
		wall, count := run.Find(recording.FetchWall, subject), run.Find(recording.FetchCount, subject)
		if wall == nil || count == nil || len(wall.V) != len(count.V) {
			continue
		}
		for i := 1; i < len(wall.V); i++ {
			r := reading{wall.V[i] - wall.V[i-1], count.V[i] - count.V[i-1]}
			if r.count > 0 && wall.T[i-1] >= c.Window.Start && wall.T[i] <= c.Window.End {
				readings, each = append(readings, r), append(each, r.wall/r.count)
			}
		}
	}
	if len(readings) == 0 {
		return math.NaN()
	}
	usual := stat.Median(each)
	for _, r := range readings {
		sum += max(0, r.wall-r.count*usual)
	}
	return sum
}

func (c *Costs) fetching(run *recording.Run) {
	total := func(signal recording.Signal) (sum float64) {
		for _, subject := range c.fetchers(run) {
			if by, _ := run.Find(signal, subject).Growth(c.Window.Start, c.Window.End); !math.IsNaN(by) {
				sum += by
			}
		}
		return sum
	}
	c.Fetch, c.FetchCPU, c.FetchCV, c.FetchCollate = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	c.FirstFetch, c.FetchSlow = math.NaN(), math.NaN()
	if n := total(recording.FetchCount); n > 0 {
		c.Fetch = total(recording.FetchWall) / n
		c.FetchCPU = total(recording.FetchCPU) / n
		c.FetchCollate = total(recording.FetchCollate) / n
		if variance := total(recording.FetchWallSquares)/n - c.Fetch*c.Fetch; variance >= 0 && c.Fetch > 0 {
			c.FetchCV = math.Sqrt(variance) / c.Fetch
		}
		if l := run.FindLoader(c.Window.PID, c.Window.Loader); l != nil && l.Iterable {
			c.FirstFetch = math.Min(c.firstFetch(run), c.EpochStart)
		}
		c.FetchSlow = c.slowFetches(run) / (c.Window.End - c.Window.Start) * c.HostStep
	} else if c.Workers == 0 && !c.Uncounted && len(c.Window.Steps) > 0 {
		c.Fetch = c.Wait // the loop loads: its wait is the fetch
	}
	if c.Workers == 0 && len(c.Window.Apart) > 0 && c.Fetch > 0 { // the counters count what evaluation fetched, too
		judged := c.Wait / c.Fetch
		c.Fetch, c.FetchCPU, c.FetchCollate = c.Wait, c.FetchCPU*judged, c.FetchCollate*judged
	}
	c.FetchQueue = c.queueFactor(run)
}

// queueFactor returns the time per batch in which the fetching threads were runnable
// without a core. A thread that launches as well queues for both, and for each in
// proportion to the core time that it has: one that sleeps while it loads queues
// next to never for that.
func (c *Costs) queueFactor(run *recording.Run) float64 {
	from, to := c.Window.Start, c.Window.End
	if c.Workers == 0 {
		thread := LaunchThread(run, c.Window.PID)
		core := run.Find(recording.ThreadCPU, thread).Rate(from, to) * c.HostStep
		return run.Find(recording.ThreadQueue, thread).Rate(from, to) * c.HostStep * min(1, stat.Or(c.FetchCPU/core, 1))
	}
	sum, seen := 0.0, false
	for _, p := range run.Workers(c.Window.PID) {
		queue := run.Find(recording.ThreadQueue, fmt.Sprintf("thread/%d", p.PID))
		seen = seen || !math.IsNaN(queue.Rate(from, to))
		sum += timeSpent(queue, p, from, to)
	}
	if !seen {
		return math.NaN()
	}
	return sum / (to - from) * c.HostStep
}

func (c *Costs) takeCores(run *recording.Run) {
	from, to := c.Window.Start, c.Window.End
	c.CoresUse = run.Find(recording.TreeCPU, "tree").Rate(from, to)
	c.TreeCPU = c.CoresUse * c.HostStep
	c.Others = max(0, run.Find(recording.MachineCPU, "machine").Rate(from, to)-c.CoresUse)
	c.Cores = freeCores(run.Facts.Machine, c.Others)
	by, young := 0.0, false
	c.WorkerMemory = math.NaN()
	for _, p := range append(run.Workers(c.Window.PID), daemons(run)...) {
		subject := fmt.Sprintf("process/%d", p.PID)
		by += timeSpent(run.Find(recording.ProcessCPU, subject), p, from, to)
		young = young || p.Start > from
		if memory := run.Find(recording.ProcessMemory, subject).Mean(from, to); !math.IsNaN(memory) {
			c.WorkerMemory = math.Max(memory, stat.Or(c.WorkerMemory, 0))
		}
	}
	c.WorkerCPU = by / (to - from) * c.HostStep
	c.countThreads(run)
	fetching := c.WorkerCPU
	if c.Workers == 0 {
		fetching = c.FetchCPU
	}
	c.LoopCPU = max(0, c.TreeCPU-fetching)
	if young {
		c.LoopCPU = c.beside(run, from, to) * c.HostStep
	}
	launching := LaunchThread(run, c.Window.PID)
	c.LaunchCPU = run.Find(recording.ThreadCPU, launching).Rate(from, to) * c.HostStep
	c.LaunchQueue = run.Find(recording.ThreadQueue, launching).Rate(from, to) * c.HostStep
	if !computesOnCPU(run) || c.Busy > unusedDevice { // there all threads compute the model
		c.helpers()
	}
	c.Throttled = run.Find(recording.Throttled, "machine").Rate(from, to)
}

// countThreads adds the core time of workers' threads that do not fetch. It compares core time
// in whole ticks with a thread's core time in nanoseconds, so a small difference counts as none.
func (c *Costs) countThreads(run *recording.Run) {
	from, to := c.Window.Start, c.Window.End
	c.WorkerHelpers, c.WorkerThreads = math.NaN(), math.NaN()
	if c.Workers == 0 {
		return
	}
	own, seen := 0.0, false
	var wants []float64
	for _, p := range run.Workers(c.Window.PID) {
		thread := run.Find(recording.ThreadCPU, fmt.Sprintf("thread/%d", p.PID))
		seen = seen || !math.IsNaN(thread.Rate(from, to))
		own += timeSpent(thread, p, from, to)
		for _, n := range run.Find(recording.ProcessWants, fmt.Sprintf("process/%d", p.PID)).Between(from, to).V {
			if n > 0 {
				wants = append(wants, n)
			}
		}
	}
	if seen {
		c.WorkerHelpers = max(0, c.WorkerCPU-own/(to-from)*c.HostStep)
	}
	if len(wants) >= leastCounts {
		c.WorkerThreads = stat.Mean(wants)
	}
}

// leastCounts is how many counts of threads tell their mean. [J]
const leastCounts = 5

// timeSpent returns by how much a process's counter of seconds grew in [from, to]; 0 if nothing
// is known. If the process began in that time, all of its counter counts, including the time
// before its first sample.
func timeSpent(counter *recording.Series, p recording.Process, from, to float64) float64 {
	seen := counter.Between(from, to)
	by, over := counter.Growth(from, to)
	switch {
	case len(seen.V) == 0:
		return 0
	case p.Start > from:
		return seen.V[len(seen.V)-1]
	case !(over > 0):
		return 0
	case p.End > 0 && p.End < to:
		return by
	}
	return by / over * (to - from)
}

// beside returns the core time per second of all processes that do not prepare batches for the
// window's trainer. It adds them up, and does not subtract the workers from the total: the
// samples of workers that live for a few seconds are incomplete.
func (c *Costs) beside(run *recording.Run, from, to float64) float64 {
	sum := 0.0
	for _, p := range run.Facts.Processes {
		cpu := run.Find(recording.ProcessCPU, fmt.Sprintf("process/%d", p.PID))
		if p.Parent != c.Window.PID && p.Role != recording.RoleFeed {
			sum += timeSpent(cpu, p, from, to) / (to - from)
		}
	}
	return sum
}

// unusedDevice is the share of time with a kernel up to which no model computes there.
const unusedDevice = 0.05

// computesOnCPU reports whether the optimizer's parameters are in host memory. They may be there
// even if the model computes on a device.
func computesOnCPU(run *recording.Run) bool {
	return run.Facts.Model != nil && strings.HasPrefix(run.Facts.Model.Device, "cpu")
}

// helpers subtracts the core time of helper threads from the loop if the launching thread loads
// its own data. PyTorch's intra-op threads split each operation of a transform and spin between
// two of them. Workers run with one thread each and start none, so this time belongs to loading,
// and at most a part of it is work. If the launching thread sleeps while it fetches, other
// threads load for it, and their time is work.
func (c *Costs) helpers() {
	c.HelperCPU = 0
	if c.Workers > 0 || math.IsNaN(c.LaunchCPU) || math.IsNaN(c.FetchCPU) ||
		c.FetchCPU+stat.Or(c.FetchQueue, 0) < 0.8*c.Fetch {
		return
	}
	c.HelperCPU = max(0, c.TreeCPU-c.LaunchCPU)
	c.LoopCPU = max(0, c.LaunchCPU-c.FetchCPU)
}

// freeCores returns what the machine's other users leave of it. A quota is the job's own
// whatever they do, unless the machine itself is full.
func freeCores(m recording.Machine, others float64) float64 {
	cores := m.Cores()
	if cores == 0 {
		return math.NaN()
	}
	if math.IsNaN(others) {
		return cores
	}
	return max(0.1, min(cores, m.Processors()-others)) // machine.cpu counts the allowed processors only
}

func (c *Costs) addStorage(run *recording.Run) {
	from, to := c.Window.Start, c.Window.End
	var busy, disk, remote, runnable []float64
	for _, thread := range c.threads(run) {
		states := run.Find(recording.ThreadState, thread)
		if share := states.Share(from, to, recording.Parked); !math.IsNaN(share) {
			busy = append(busy, 1-share)
			disk = append(disk, states.Share(from, to, recording.OnDisk))
			remote = append(remote, states.Share(from, to, recording.Remote))
			runnable = append(runnable, states.Share(from, to, recording.Running))
		}
	}
	c.WorkersBusy, c.OnDisk, c.Remote, c.Runnable = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if len(busy) > 0 {
		c.WorkersBusy, c.OnDisk, c.Remote, c.Runnable = stat.Mean(busy), stat.Mean(disk), stat.Mean(remote),
			stat.Mean(runnable)
	}
	c.sockets(run)
	c.DiskBusy = math.NaN()
	for _, s := range run.All(recording.DiskBusy) {
		if rate := s.Rate(from, to); !math.IsNaN(rate) {
			c.DiskBusy = math.Max(rate, stat.Or(c.DiskBusy, 0))
		}
	}
	c.ReadRate, c.DiskRate = processRates(run, from, to)
}

// NetworkRate is a rate of receiving, bytes/s, from which it counts. [J] Control traffic
// brings less.
const NetworkRate = 1e6

// sockets counts as reads from the network the time that workers sleep in poll and similar calls
// during a fetch while an interface receives bytes: a client in user space waits for its server
// like any process. A reader receives more than it sends; what ranks exchange goes both ways.
// Within the machine (lo), everything that is sent is received.
func (c *Costs) sockets(run *recording.Run) {
	c.Received = math.NaN()
	p := run.FindProcess(c.Window.PID)
	for _, s := range run.All(recording.NetReceived) {
		rate, sent := s.Rate(c.Window.Start, c.Window.End),
			run.Find(recording.NetSent, s.Subject).Rate(c.Window.Start, c.Window.End)
		if both := rate < 2*sent; both && (s.Subject != "net/lo" || p != nil && p.World > 1) {
			continue
		}
		if !math.IsNaN(rate) && !(rate <= c.Received) {
			c.Received, c.ReceivedBy = rate, strings.TrimPrefix(s.Subject, "net/")
		}
	}
	inside := min(1, c.Fetch/(float64(c.Workers)*c.HostStep)) // of a worker's time, by the clock around a fetch
	if c.workersHelped() {
		return // they wait for threads of their own
	}
	if parked := inside - c.WorkersBusy; c.Workers > 0 && parked > 0 && c.Received >= NetworkRate {
		c.Remote, c.WorkersBusy = c.Remote+parked, inside
	}
}

func processRates(run *recording.Run, from, to float64) (read, disk float64) {
	sum := func(signal recording.Signal) float64 {
		total, seen := 0.0, false
		for _, s := range run.All(signal) {
			if by, _ := s.Growth(from, to); !math.IsNaN(by) {
				total, seen = total+by, true
			}
		}
		if !seen {
			return math.NaN()
		}
		return total / (to - from)
	}
	return sum(recording.ProcessRead), sum(recording.ProcessDisk)
}
