package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Measure takes the costs of one window from the run.
func Measure(run *recording.Run, w recording.Window) Costs {
	m := meter{run: run, workers: run.Workers(w.PID), from: w.Start, to: w.End, Costs: Costs{
		Window: w, Step: w.Time(), HostStep: w.HostTime(), Wait: w.Wait(), Idle: w.Idle(), SyncsAt: w.SyncsAt(),
		Rare: findRare(w), Queued: math.NaN(),
	}}
	if !math.IsNaN(m.Idle) {
		m.Queued = max(0, m.Wait-m.Idle)
	}
	m.countWorkers()
	m.EpochSteps, m.EpochStart = measureEpochs(w)
	device := m.deviceBusy()
	m.Busy, m.BusyFrom, m.Copying = device.Share, device.From, device.Copying
	m.fetching()
	m.takeCores()
	m.addStorage()
	m.readFeeding()
	m.readCluster()
	m.Split = m.splitFetch()
	return m.Costs
}

// meter measures the costs of one window.
type meter struct {
	Costs
	run      *recording.Run
	workers  []recording.Process // of the window's trainer, in the whole run
	from, to float64             // the window
}

// rate returns a counter's growth per second in the window; NaN if unknown.
func (m *meter) rate(signal recording.Signal, subject string) float64 {
	return m.run.Find(signal, subject).Rate(m.from, m.to)
}

// growth returns by how much a counter grew in the window; NaN if unknown.
func (m *meter) growth(signal recording.Signal, subject string) float64 {
	by, _ := m.run.Find(signal, subject).Growth(m.from, m.to)
	return by
}

func processSubject(pid int) string { return fmt.Sprintf("process/%d", pid) }

func threadSubject(pid int) string { return fmt.Sprintf("thread/%d", pid) }

// countWorkers counts the workers of the loader, as set, else as seen, and those that have data to give.
func (m *meter) countWorkers() {
	m.Workers = m.countAlive()
	if l := m.run.FindLoader(m.Window.PID, m.Window.Loader); l != nil {
		if n, known := l.Settings.Int("num_workers"); known {
			m.Workers, m.Set = n, true
		} else if Feeds(l.Settings) {
			m.Workers = FeedThreads(m.run)
		}
	}
	m.Uncounted = m.Workers == 0 && !m.Set && (m.Other(m.run) != "" || !isWatched(m.run))
	ended := m.run.Find(recording.WorkersEnded, fmt.Sprintf("loader/%d/%d", m.Window.PID, m.Window.Loader))
	m.Giving = float64(m.Workers) - ended.Mean(m.from, m.to)
}

// countAlive returns how many workers were there for most of the window.
func (m *meter) countAlive() (n int) {
	middle := (m.from + m.to) / 2
	for _, p := range m.workers {
		if p.Start <= middle && (p.End == 0 || p.End >= middle) {
			n++
		}
	}
	return n
}

// measureEpochs returns how many steps are between the beginnings of epochs, and how long each
// waits for its first batch.
func measureEpochs(w recording.Window) (steps, start float64) {
	var waits []float64
	for _, s := range w.Steps {
		if s.First {
			waits = append(waits, stat.Or(s.Idle, s.Wait))
		}
	}
	return stat.Median(recording.EpochSteps(w.Steps)), stat.Mean(waits)
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

// deviceBusy returns for how much of the window kernels ran on the trainer's device. If that
// device is not known, it takes the run's only one; with several it is unknown.
func (m *meter) deviceBusy() recording.KernelTime {
	device := -1
	if p := m.run.FindProcess(m.Window.PID); p != nil {
		device = p.Device
	}
	if device < 0 && len(m.run.Facts.GPUs) == 1 {
		device = m.run.Facts.GPUs[0].Index
	}
	return m.run.KernelTime(fmt.Sprintf("gpu/%d", device), m.Window)
}

// fetchers returns the subjects whose fetch counters belong to the window: the
// trainer itself without workers, else its workers.
func (m *meter) fetchers() []string {
	if m.Workers == 0 {
		return []string{processSubject(m.Window.PID)}
	}
	var subjects []string
	for _, p := range m.workers {
		subjects = append(subjects, processSubject(p.PID))
	}
	return subjects
}

// threads returns the subjects of the threads that fetch.
func (m *meter) threads() []string {
	if m.Workers == 0 {
		return []string{LaunchThread(m.run, m.Window.PID)}
	}
	var subjects []string
	for _, p := range m.workers {
		subjects = append(subjects, threadSubject(p.PID))
	}
	return subjects
}

// firstFetch returns how much longer the workers' first reports are than as many usual fetches.
// An iterable data set starts again in each epoch. A map-style one stays with its worker, so its
// first work is done once.
func (m *meter) firstFetch() float64 {
	var firsts []float64
	for _, subject := range m.fetchers() {
		wall, count := m.run.Find(recording.FetchWall, subject), m.run.Find(recording.FetchCount, subject)
		if wall == nil || count == nil || m.Workers == 0 {
			continue
		}
		if len(wall.V) > 0 && len(count.V) > 0 && wall.T[0] >= m.from {
			firsts = append(firsts, wall.V[0]-max(0, count.V[0]-1)*m.Fetch)
		}
	}
	return stat.Median(firsts)
}

// slowFetches returns what fetches take beyond their usual time, seconds: what readings of
// workers' counters have more than the median reading's time for as many fetches.
func (m *meter) slowFetches() (sum float64) {
	type reading struct{ wall, count float64 }
	var readings []reading
	var each []float64
	for _, subject := range m.fetchers() {
		wall, count := m.run.Find(recording.FetchWall, subject), m.run.Find(recording.FetchCount, subject)
		if wall == nil || count == nil || len(wall.V) != len(count.V) {
			continue
		}
		for i := 1; i < len(wall.V); i++ {
			r := reading{wall.V[i] - wall.V[i-1], count.V[i] - count.V[i-1]}
			if r.count > 0 && wall.T[i-1] >= m.from && wall.T[i] <= m.to {
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

func (m *meter) fetching() {
	total := func(signal recording.Signal) (sum float64) {
		for _, subject := range m.fetchers() {
			sum += stat.Or(m.growth(signal, subject), 0)
		}
		return sum
	}
	m.Fetch, m.FetchCPU, m.FetchCV, m.FetchCollate = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	m.FirstFetch, m.FetchSlow = math.NaN(), math.NaN()
	if total(recording.FetchCount) == 0 { // workers that live for an epoch of one or two batches report once
		total = m.fetchedByYoung
	}
	if n := total(recording.FetchCount); n > 0 {
		m.Fetch = total(recording.FetchWall) / n
		m.FetchCPU = total(recording.FetchCPU) / n
		m.FetchCollate = total(recording.FetchCollate) / n
		if variance := total(recording.FetchWallSquares)/n - m.Fetch*m.Fetch; variance >= 0 && m.Fetch > 0 {
			m.FetchCV = math.Sqrt(variance) / m.Fetch
		}
		if l := m.run.FindLoader(m.Window.PID, m.Window.Loader); l != nil && l.Iterable {
			m.FirstFetch = math.Min(m.firstFetch(), m.EpochStart)
		}
		m.FetchSlow = m.slowFetches() / (m.to - m.from) * m.HostStep
	} else if m.Workers == 0 && !m.Uncounted && len(m.Window.Steps) > 0 {
		m.Fetch = m.Wait // the loop loads: its wait is the fetch
	}
	if m.Workers == 0 && len(m.Window.Apart) > 0 && m.Fetch > 0 { // the counters count what evaluation fetched, too
		judged := m.Wait / m.Fetch
		m.Fetch, m.FetchCPU, m.FetchCollate = m.Wait, m.FetchCPU*judged, m.FetchCollate*judged
	}
	m.FetchQueue = m.queueFactor()
}

// fetchedByYoung returns the sum of a signal over the workers that began and ended in the window, their first batches
// included.
func (m *meter) fetchedByYoung(signal recording.Signal) (sum float64) {
	for _, p := range m.workers {
		if p.Start > m.from && p.End > 0 && p.End < m.to {
			sum += m.timeSpent(signal, processSubject(p.PID), p)
		}
	}
	return sum
}

// queueFactor returns the time per batch in which the fetching threads were runnable
// without a core. A thread that launches as well queues for both, and for each in
// proportion to the core time that it has: one that sleeps while it loads queues
// next to never for that.
func (m *meter) queueFactor() float64 {
	if m.Workers == 0 {
		thread := LaunchThread(m.run, m.Window.PID)
		core := m.rate(recording.ThreadCPU, thread) * m.HostStep
		return m.rate(recording.ThreadQueue, thread) * m.HostStep * min(1, stat.Or(m.FetchCPU/core, 1))
	}
	sum, seen := 0.0, false
	for _, p := range m.workers {
		thread := threadSubject(p.PID)
		seen = seen || !math.IsNaN(m.rate(recording.ThreadQueue, thread))
		sum += m.timeSpent(recording.ThreadQueue, thread, p)
	}
	if !seen {
		return math.NaN()
	}
	return sum / (m.to - m.from) * m.HostStep
}

func (m *meter) takeCores() {
	m.CoresUse = m.rate(recording.TreeCPU, "tree")
	m.TreeCPU = m.CoresUse * m.HostStep
	m.Others = max(0, m.rate(recording.MachineCPU, "machine")-m.CoresUse)
	m.Cores = freeCores(m.run.Facts.Machine, m.Others)
	by, young := 0.0, false
	m.WorkerMemory = math.NaN()
	for _, p := range slices.Concat(m.workers, daemons(m.run)) {
		subject := processSubject(p.PID)
		by += m.timeSpent(recording.ProcessCPU, subject, p)
		young = young || p.Start > m.from
		if memory := m.run.Find(recording.ProcessMemory, subject).Mean(m.from, m.to); !math.IsNaN(memory) {
			m.WorkerMemory = math.Max(memory, stat.Or(m.WorkerMemory, 0))
		}
	}
	m.WorkerCPU = by / (m.to - m.from) * m.HostStep
	m.countThreads()
	fetching := m.WorkerCPU
	if m.Workers == 0 {
		fetching = m.FetchCPU
	}
	m.LoopCPU = max(0, m.TreeCPU-fetching)
	if young {
		m.LoopCPU = m.beside() * m.HostStep
	}
	launching := LaunchThread(m.run, m.Window.PID)
	m.LaunchCPU = m.rate(recording.ThreadCPU, launching) * m.HostStep
	m.LaunchQueue = m.rate(recording.ThreadQueue, launching) * m.HostStep
	if !computesOnCPU(m.run) || m.Busy > unusedDevice { // there all threads compute the model
		m.helpers()
	}
	m.Throttled = m.rate(recording.Throttled, "machine")
}

// countThreads adds the core time of workers' threads that do not fetch. It compares core time
// in whole ticks with a thread's core time in nanoseconds, so a small difference counts as none.
func (m *meter) countThreads() {
	m.WorkerHelpers, m.WorkerThreads = math.NaN(), math.NaN()
	if m.Workers == 0 {
		return
	}
	own, seen := 0.0, false
	var wants []float64
	for _, p := range m.workers {
		thread := threadSubject(p.PID)
		seen = seen || !math.IsNaN(m.rate(recording.ThreadCPU, thread))
		own += m.timeSpent(recording.ThreadCPU, thread, p)
		for _, n := range m.run.Find(recording.ProcessWants, processSubject(p.PID)).Between(m.from, m.to).V {
			if n > 0 {
				wants = append(wants, n)
			}
		}
	}
	if seen {
		m.WorkerHelpers = max(0, m.WorkerCPU-own/(m.to-m.from)*m.HostStep)
	}
	if len(wants) >= leastCounts {
		m.WorkerThreads = stat.Mean(wants)
	}
}

// leastCounts is how many counts of threads tell their mean. [J]
const leastCounts = 5

// timeSpent returns by how much a process's counter of seconds grew in the window; 0 if nothing
// is known. If the process began in that time, all of its counter counts, including the time
// before its first sample.
func (m *meter) timeSpent(signal recording.Signal, subject string, p recording.Process) float64 {
	counter := m.run.Find(signal, subject)
	seen := counter.Between(m.from, m.to)
	by, over := counter.Growth(m.from, m.to)
	switch {
	case len(seen.V) == 0:
		return 0
	case p.Start > m.from:
		return seen.V[len(seen.V)-1]
	case !(over > 0):
		return 0
	case p.End > 0 && p.End < m.to:
		return by
	}
	return by / over * (m.to - m.from)
}

// beside returns the core time per second of all processes that do not prepare batches for the
// window's trainer. It adds them up, and does not subtract the workers from the total: the
// samples of workers that live for a few seconds are incomplete.
func (m *meter) beside() float64 {
	sum := 0.0
	for _, p := range m.run.Facts.Processes {
		if p.Parent != m.Window.PID && p.Role != recording.RoleFeed {
			sum += m.timeSpent(recording.ProcessCPU, processSubject(p.PID), p) / (m.to - m.from)
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
func (m *meter) helpers() {
	m.HelperCPU = 0
	if m.Workers > 0 || math.IsNaN(m.LaunchCPU) || math.IsNaN(m.FetchCPU) ||
		m.FetchCPU+stat.Or(m.FetchQueue, 0) < 0.8*m.Fetch {
		return
	}
	m.HelperCPU = max(0, m.TreeCPU-m.LaunchCPU)
	m.LoopCPU = max(0, m.LaunchCPU-m.FetchCPU)
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

func (m *meter) addStorage() {
	var busy, disk, remote, runnable []float64
	for _, thread := range m.threads() {
		states := m.run.Find(recording.ThreadState, thread)
		if share := states.Share(m.from, m.to, recording.Parked); !math.IsNaN(share) {
			busy = append(busy, 1-share)
			disk = append(disk, states.Share(m.from, m.to, recording.OnDisk))
			remote = append(remote, states.Share(m.from, m.to, recording.Remote))
			runnable = append(runnable, states.Share(m.from, m.to, recording.Running))
		}
	}
	m.WorkersBusy, m.OnDisk, m.Remote, m.Runnable = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if len(busy) > 0 {
		m.WorkersBusy, m.OnDisk, m.Remote, m.Runnable = stat.Mean(busy), stat.Mean(disk), stat.Mean(remote),
			stat.Mean(runnable)
	}
	m.sockets()
	m.DiskBusy = math.NaN()
	for _, s := range m.run.All(recording.DiskBusy) {
		if rate := s.Rate(m.from, m.to); !math.IsNaN(rate) {
			m.DiskBusy = math.Max(rate, stat.Or(m.DiskBusy, 0))
		}
	}
	m.ReadRate, m.DiskRate = m.totalRate(recording.ProcessRead), m.totalRate(recording.ProcessDisk)
}

// NetworkRate is a rate of receiving, bytes/s, from which it counts. [J] Control traffic
// brings less.
const NetworkRate = 1e6

// sockets counts as reads from the network the time that workers sleep in poll and similar calls
// during a fetch while an interface receives bytes: a client in user space waits for its server
// like any process. A reader receives more than it sends; what ranks exchange goes both ways.
// Within the machine (lo), everything that is sent is received.
func (m *meter) sockets() {
	m.Received = math.NaN()
	p := m.run.FindProcess(m.Window.PID)
	for _, s := range m.run.All(recording.NetReceived) {
		rate, sent := s.Rate(m.from, m.to), m.rate(recording.NetSent, s.Subject)
		if both := rate < 2*sent; both && (s.Subject != "net/lo" || p != nil && p.World > 1) {
			continue
		}
		if !math.IsNaN(rate) && !(rate <= m.Received) {
			m.Received, m.ReceivedBy = rate, strings.TrimPrefix(s.Subject, "net/")
		}
	}
	inside := min(1, m.Fetch/(float64(m.Workers)*m.HostStep)) // of a worker's time, by the clock around a fetch
	if m.workersHelped() {
		return // they wait for threads of their own
	}
	if parked := inside - m.WorkersBusy; m.Workers > 0 && parked > 0 && m.Received >= NetworkRate {
		m.Remote, m.WorkersBusy = m.Remote+parked, inside
	}
}

// totalRate returns the rate of a counter, of all subjects together; NaN if unknown.
func (m *meter) totalRate(signal recording.Signal) float64 {
	total, seen := 0.0, false
	for _, s := range m.run.All(signal) {
		if by, _ := s.Growth(m.from, m.to); !math.IsNaN(by) {
			total, seen = total+by, true
		}
	}
	if !seen {
		return math.NaN()
	}
	return total / (m.to - m.from)
}
