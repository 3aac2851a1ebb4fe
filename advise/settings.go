package advise

import (
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// pinning proposes page-locked batches with asynchronous copies.
func (a adviser) pinning() (Fix, string) {
	pinned, known := a.base.Settings.Bool(stoker.PinMemory)
	if len(a.run.Facts.GPUs) == 0 || known && pinned || a.costs.Feed != nil || !a.base.Copy.Known() {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.PinMemory), Title: "copy from page-locked memory, without blocking", Effort: Code,
		Risk: MemoryRisk,
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.PinMemory, true), a.makeChange(stoker.NonBlocking, true)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{
		"pin_memory alone keeps the launching thread waiting: copy with .to(device, non_blocking=True)",
		fmt.Sprintf("%s of host memory are page-locked, and the limit of locked memory here is %s",
			quantity.AboutBytes(pinnedCopies*a.base.BatchBytes()),
			sayLocked(stat.Value(a.run.Facts.Machine.LockedBytes))),
	}
	return fix, ""
}

func sayLocked(limit float64) string {
	if limit < 0 {
		return "unlimited"
	}
	return quantity.AboutBytes(limit)
}

// prefetch proposes a deeper queue where batches take unevenly long.
func (a adviser) prefetch() (Fix, string) {
	fix := Fix{
		Name: string(stoker.PrefetchFactor), Title: "let each worker prepare more batches ahead", Effort: Flag,
		Risk: MemoryRisk,
	}
	if a.costs.Workers == 0 || a.costs.Feed != nil || !a.isStarved() || math.IsNaN(a.costs.FetchCV) ||
		a.ahead() >= deeperQueue {
		return Fix{}, ""
	}
	if a.costs.FetchCV < spikyFetch {
		return fix, fmt.Sprintf("all batches take about the same time (CV %.2f): a deeper queue gains nothing",
			a.costs.FetchCV)
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.PrefetchFactor, deeperQueue)}
	fix.Forecast = a.forecast(fix.Changes...)
	return fix, ""
}

// mostOfEdge is the share of the time between epochs that a line of the program takes from which
// keeping workers is no remedy. [J]
const mostOfEdge = 0.5

// persistence proposes to keep workers over epochs.
func (a adviser) persistence() (Fix, string) {
	keep, _ := a.base.Settings.Bool(stoker.PersistentWorkers)
	if a.costs.Workers == 0 || a.costs.Feed != nil || keep {
		return Fix{}, ""
	}
	if !(a.costs.EpochStart >= refillWorth*a.costs.EpochSteps*a.costs.Step) {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.PersistentWorkers), Title: "keep the workers from epoch to epoch", Effort: Flag,
		Risk: NoRisk,
	}
	if l := a.judgedLoader(); l != nil && l.Changes {
		return fix, changesData
	}
	edge := a.verdict.Ledger.Find(diagnose.RowEdge)
	if edge.IsOwnWork() && edge.LineShare >= mostOfEdge || edge.Line.Kind == diagnose.Iterating {
		return fix, "the first batch of an epoch waits for " + edge.Line.Short() + ", however long workers stay"
	}
	if a.costs.StartsWithWork() {
		return fix, fmt.Sprintf("the first batch of an epoch takes a worker %s of its own work, however long workers stay",
			quantity.AboutSeconds(a.costs.FirstFetch))
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.PersistentWorkers, true)}
	fix.Forecast = a.forecast(fix.Changes...)
	if edge.IsOwnWork() {
		fix.Forecast = keepBound(fix.Forecast)
	}
	fix.Notes = []string{fmt.Sprintf("an epoch has %.0f steps, and the device waits %s for its first batch",
		a.costs.EpochSteps, quantity.AboutSeconds(a.costs.EpochStart))}
	if l := a.run.FindLoader(a.costs.Window.PID, a.costs.Window.Loader); l != nil && l.Anew {
		fix.Effort, fix.Title, fix.At = Code, makeOnce, path.Base(l.Call)
		fix.Changes = nil // the setting alone changes nothing
		fix.Notes = append(fix.Notes, "the DataLoader is created again and again, and its workers with it")
	}
	return fix, ""
}

// makeOnce is what keeps the workers of a loader that the program makes for each epoch.
const makeOnce = "make the DataLoader once, before the loop over epochs, with persistent_workers=True"

// proposeStorage proposes to bring the data set closer.
func (a adviser) proposeStorage() (Fix, string) {
	if !a.verdict.Class.Is(diagnose.IOBound) {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.StorageKind), Title: "serve the data set from memory or a faster disk", Effort: Data,
		Risk: MemoryRisk,
	}
	fix.Changes = []stoker.Change{{Setting: stoker.StorageKind, From: "as found", To: stoker.PageCache}}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{
		a.verdict.Do(),
		"the forecast assumes reads without any waiting, as from the page cache: an upper bound for a faster disk",
		a.costs.FromStorage(),
	}
	return fix, ""
}

// moreCores is the advice if a machine has cores that the job may not use.
const moreCores = "give the job more cores"

// anotherMachine is the advice if the job may use all cores already.
const anotherMachine = "run on another machine, with more cores"

// freeMachine is the advice if other programs use its cores.
const freeMachine = "stop the other programs, or run on a machine that is free"

// proposeCores says how many cores would feed the device, where loading lacks them: the
// machine's own, where other programs have those, else more of them or a larger quota.
func (a adviser) proposeCores() (Fix, string) {
	beside := a.verdict.Class == diagnose.Neighbour || a.othersDelayFetches()
	if !a.verdict.Class.LacksCores() && !beside || !(a.base.Cores > 0) || a.costs.HelpersSpin() {
		return Fix{}, ""
	}
	demand := a.base.Batch*a.base.PrepareCPU.Point + a.base.LoopCPU.Point + a.base.Spin.Point
	loop := max(a.base.Loop().Point, 1e-6)
	if !(demand > 0) {
		return Fix{}, ""
	}
	m := a.run.Facts.Machine
	need := math.Ceil(max(a.base.Cores+1, demand/loop))
	fix := Fix{Name: string(stoker.Cores), Title: moreCores, Effort: Machine, Risk: NoRisk}
	fix.Notes = []string{
		fmt.Sprintf("this machine has %s, and the job may use %s", quantity.Many(m.CPUs, "processor"),
			quantity.AboutCores(m.Cores())),
		fmt.Sprintf("a batch takes %s of core time, the loop %s: %.0f %s enough for this device",
			quantity.AboutSeconds(demand), quantity.AboutSeconds(loop), need,
			quantity.Ending(need, "core is", "cores are")),
		"or make a batch cheaper: smaller images, fewer or cheaper transforms, pictures decoded once (stoker pack --decoded)",
	}
	from := a.base.Cores
	switch here := float64(m.CPUs); {
	case !(here > 0) || need <= here:
	case here > from: // what this machine has is nearer than another one
		need = here
	default:
		fix.Title = anotherMachine
		fix.Notes = append(fix.Notes, "or let the DataLoader's workers use cores of other nodes, with the same batches: "+
			"stoker feed --ray ADDRESS, if the network carries them")
	}
	if beside {
		fix.Title = freeMachine
		from, need = a.base.CoresGot(a.base.Workers), a.base.Cores
		fix.Notes[1] = fmt.Sprintf("other programs use %s cores now, and the forecast assumes none",
			quantity.AboutCores(a.costs.Others))
	}
	if a.verdict.Class == diagnose.CgroupThrottled {
		fix.Title = "raise the CPU quota"
		need = max(min(need, m.Processors()), a.base.Cores)
	}
	if fix.Title == moreCores && m.Allowed > 0 && m.Allowed < m.CPUs && m.Quota == 0 {
		fix.Title += fmt.Sprintf(": its affinity mask has %d of the %s here. A scheduler or taskset narrows it, or a library "+
			"at import, which os.sched_setaffinity(0, range(os.cpu_count())) undoes, in worker_init_fn too",
			m.Allowed, quantity.Many(m.CPUs, "processor"))
	} else if fix.Title == moreCores {
		fix.Notes = append(fix.Notes, "--cpus-per-task, docker run --cpus or --cpuset-cpus, and taskset give cores")
	}
	fix.Changes = []stoker.Change{{Setting: stoker.Cores, From: quantity.Digits(from, 2), To: need}}
	fix.Forecast = a.forecast(fix.Changes...)
	more := a.verdict.Class.LacksCores() && !a.crowded()
	if workers := int(need); more && workers > a.costs.Workers && a.alters(workers) == "" {
		a.addWorkers(&fix, workers)
	}
	return fix, ""
}

// addWorkers gives workers to cores that a change brings, if they are worth something beside the cores.
func (a adviser) addWorkers(fix *Fix, workers int) {
	both := append(slices.Clone(fix.Changes), a.makeChange(stoker.NumWorkers, workers))
	if f := a.forecast(both...); f.Speedup.Point >= leastGain*fix.Forecast.Speedup.Point {
		fix.Changes, fix.Forecast = both, f
		return
	}
	if a.costs.Workers > 0 { // the loop wants the cores, not its loader
		fix.Notes = fix.Notes[:coresNotes]
	}
}

// coresNotes is how many notes of proposeCores say which cores there are. Those after them are of the loader.
const coresNotes = 2

// othersDelayFetches reports whether fetches wait for a core that other programs have, in a run
// whose limit is another one: a loop that loads in its own thread, or too few workers.
func (a adviser) othersDelayFetches() bool {
	c := a.costs
	return a.verdict.Class.Is(diagnose.CPUBound) && !a.verdict.Class.LacksCores() &&
		c.Others > manyOthers*a.base.Cores &&
		c.FetchQueue > manyQueued*c.Fetch && c.FetchQueue <= c.Fetch // more is the loop's own queueing
}

// When other programs are worth a word next to another limit. [J] A fetch that is in the queue for a
// core a quarter of its time is a third slower by it.
const (
	manyOthers = 0.1  // share of the job's cores that others use
	manyQueued = 0.25 // share of a fetch that is queued for a core
)
