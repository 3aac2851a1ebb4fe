package advise

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of the search for num_workers.
const (
	mostWorkers  = 64 // more should not be started by a rule
	goodEnough   = predict.GoodEnough
	memoryShare  = 0.8  // of the available memory that more workers may take
	defaultAhead = 2    // PyTorch's prefetch_factor where workers are used
	refillWorth  = 0.01 // share of a step from which epoch starts are worth persistent workers
	spikyFetch   = 0.25 // coefficient of variation from which a deeper queue helps [J]
	deeperQueue  = 4
	shmReserve   = 0.9      // of /dev/shm that batches may fill
	pinnedCopies = 2        // batches that lie pinned at once
	mostlyOnCore = 0.7      // of a worker's time without queueing: it is taken for all of it
	leastOnCore  = 1.0 / 16 // of a worker's time: more than 16 to a core are not tried
	wastedMemory = 0.05     // share of the free memory from which what they take is worth a change

	feedThread = 32 << 20 // bytes that a thread of stoker feed keeps (feed/budget.go)
)

// workers proposes how many worker processes to use.
func (a adviser) workers() (Fix, string) {
	fix := Fix{
		Name: string(stoker.NumWorkers), Title: "prepare batches in worker processes", Effort: Flag,
		Risk: a.riskOfWorkers(), Mind: a.mindOfWorkers(),
	}
	now := a.costs.Workers
	if fewer, ok := a.fewerWorkers(now); ok {
		return fewer, ""
	}
	if a.idleKnown() && !a.isStarved() {
		return fix, fmt.Sprintf("the device does not wait for input (%s of the time): faster input is worth 1.00x",
			quantity.Percent(a.verdict.Stall))
	}
	if why := a.whyNoWorkers(now); why != "" {
		return fix, why
	}
	if a.costs.Uncounted || a.costs.Cluster != nil {
		return Fix{}, "" // the finding of the trace says what can be said, or cluster
	}
	if !a.base.PrepareCPU.Known() {
		return fix, "the cost of preparing a batch was not measured"
	}
	if why := a.alters(now + 1); why != "" {
		return fix, why
	}
	if f := a.forecast(a.makeChange(stoker.NumWorkers, now+1)); !f.Step.Known() {
		return fix, "the gain of one more is unknown: " + strings.Join(append(f.Notes, "its costs are unknown"), ", ")
	}
	best, cut := a.bestWorkers(now)
	if a.startsPrograms() {
		if best = min(best, int(a.costs.Cores)); best <= now {
			return fix, "each worker waits for a program that takes a core, and there is none left"
		}
	}
	if best <= now {
		if cut != "" && cut == a.alters(max(best, now)+1) {
			return fix, cut
		}
		if few := a.sayShards(best); few != "" {
			return fix, few
		}
		return fix, fmt.Sprintf("%d %s %s enough: %s", now, a.noun(now), quantity.Ending(now, "is", "are"),
			a.whyNotMore(now, cut))
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.NumWorkers, best)}
	if now == 0 {
		fix.Changes = append(fix.Changes, a.keepWorkers()...)
	}
	fix.Forecast = a.forecast(fix.Changes...)
	if why := a.alters(best + 1); why != "" && why == cut && !a.worthIt(fix.Forecast) {
		return fix, why
	}
	fix.Notes = append(fix.Notes, a.sayEnough(best, cut))
	if a.costs.Feed != nil { // its threads share their memory and leave /dev/shm alone
		fix.Title = "let stoker's loader use more threads"
		return fix, ""
	}
	fix.Notes = append(fix.Notes, a.memoryNote(best), a.queueNote(best, fix.Forecast))
	if a.costs.Helped() {
		fix.Notes = append(fix.Notes, fmt.Sprintf(
			"PyTorch's intra-op threads used %s of core time per batch beside the launching thread. If that was "+
				"real work and not spinning, expect less than forecast: each worker has one thread",
			quantity.AboutSeconds(a.costs.HelperCPU)))
	}
	if now == 0 {
		fix.Notes = append(fix.Notes,
			`workers must be able to start: with "spawn" or "forkserver" (the default since Python 3.14) the script needs if __name__ == "__main__"`)
	}
	return fix, ""
}

// whyNoWorkers says why more of them would be in vain, or cannot be; "" if they may help.
func (a adviser) whyNoWorkers(now int) string {
	if a.queuesAtLock() {
		return "workers wait for each other at the lock of a file: more of them only wait longer"
	}
	if a.asksManager() {
		return "workers wait for the one process of a multiprocessing.Manager, which answers them in turn: more of them wait longer"
	}
	if a.verdict.Class == diagnose.SlowSamples {
		return "few slow samples hold the others up: more workers take memory and wait as well"
	}
	if a.crowded() {
		return a.countThreads() + ": one more worker adds as many threads"
	}
	if a.verdict.Class == diagnose.HandsOver {
		return "the loop takes batches over more slowly than the workers prepare them"
	}
	if a.shareOfRows() > 0 {
		return "index whole batches first: then a batch takes less than handing it over from a worker"
	}
	if now == 0 && len(a.verdict.Lines) > 0 && a.verdict.Lines[0].Kind == diagnose.OnDevice {
		return "the data set works on the device: a worker process that is forked cannot"
	}
	return ""
}

// startsPrograms reports whether preparing a batch mostly waits for programs that it starts: each needs a core while
// its worker sleeps, and no figure of the workers has that.
func (a adviser) startsPrograms() bool {
	lines := a.verdict.Lines
	return len(lines) > 0 && lines[0].Kind == diagnose.Programs && lines[0].Share.Point >= mostOfBatch
}

// sayEnough says why so many workers are the right number.
func (a adviser) sayEnough(best int, cut string) string {
	if cut != "" && cut == a.alters(best+1) {
		return fmt.Sprintf("no more than %d: %s", best, cut)
	}
	return fmt.Sprintf("%d %s enough: %s", best, quantity.Ending(best, "is", "are"), a.whyNotMore(best, cut))
}

// fewerWorkers proposes half as many workers or less, where they do as well by the law
// and the others take memory, or wait for cores that are not there.
func (a adviser) fewerWorkers(now int) (Fix, bool) {
	if a.costs.Uncounted || a.costs.Cluster != nil || a.crowded() || a.costs.Feed != nil || a.hostOnly() ||
		a.costs.WithoutData() > 0 || !a.base.PrepareCPU.Known() {
		return Fix{}, false
	}
	enough := a.base.EnoughWorkers()
	memory := -a.workersMemory(enough)
	cores := a.run.Facts.Machine.Cores()
	fits := float64(now) <= math.Ceil(cores) && memory < wastedMemory*a.freeMemory()
	if enough == now || fits || a.alters(enough) != "" {
		return Fix{}, false
	}
	fix := Fix{Name: string(stoker.NumWorkers), Title: "use fewer worker processes", Effort: Flag, Risk: NoRisk}
	fix.Changes = []stoker.Change{a.makeChange(stoker.NumWorkers, enough)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Saves = fmt.Sprintf("%d %s and at most %s of memory", now-enough, quantity.Ending(now-enough, "process",
		"processes"), quantity.AboutBytes(memory))
	fix.Notes = []string{
		fmt.Sprintf("%d workers share the %s cores that this job may use, and %d prepare batches as fast", now,
			quantity.About(cores), enough),
	}
	return fix, true
}

// noun is what num_workers counts, of n.
func (a adviser) noun(n int) string {
	if a.costs.Feed != nil {
		return quantity.Ending(n, "thread", "threads")
	}
	return quantity.Ending(n, "worker", "workers")
}

func (a adviser) idleKnown() bool { return !math.IsNaN(a.verdict.Stall) }

func (a adviser) isStarved() bool { return a.verdict.Stall >= diagnose.LeastStall }

// bestWorkers is the smallest number of workers whose step is nearly the best that
// this machine's cores and memory allow; cut says what ended the search early.
func (a adviser) bestWorkers(now int) (best int, cut string) {
	more := now + 1
	cores := a.run.Facts.Machine.Cores()
	fills := a.costs.Split != nil && float64(now)*a.costs.Split.Wants() >= cores
	if a.verdict.Class.LacksCores() && float64(now) >= cores || fills {
		more = now // another one would only take its share of the cores from other programs, or from the loop
	}
	most := min(max(a.mostUseful(), more), mostWorkers)
	if has := int(a.base.Shards); has > 0 {
		most = min(most, max(has, now))
	}
	steps := map[int]float64{}
	lowest, enough := math.Inf(1), false // enough: workers are not the limit
	for w := max(1, now); w <= most; w++ {
		if why := a.tooMuch(w); why != "" && w > now {
			cut = why
			break
		}
		f := a.forecast(a.makeChange(stoker.NumWorkers, w))
		steps[w] = f.Step.Point
		lowest = min(lowest, steps[w])
		if enough && steps[w-1] <= goodEnough*steps[w] {
			break // more would at best take cores from other programs
		}
		enough = f.Bound != stoker.Worker
	}
	for w := max(1, now); w <= most; w++ {
		if step, tried := steps[w]; tried && step <= goodEnough*lowest {
			return w, cut
		}
	}
	return now, cut
}

// mostUseful is how many workers fill the job's cores: as many as there are, or more
// if a fetch is mostly waiting for something else than a core.
func (a adviser) mostUseful() int {
	onCore := 1.0
	if s := a.costs.Split; s != nil && s.Core < mostlyOnCore*(1-s.Queued) {
		onCore = max(leastOnCore, s.Core/(1-s.Queued))
	}
	return int(math.Ceil(stat.Or(a.base.Cores, 1) / onCore))
}

// tooMuch says why a number of workers does not fit into this machine, "" if
// it does.
func (a adviser) tooMuch(workers int) string {
	if why := a.alters(workers); why != "" {
		return why
	}
	if need, have := a.workersMemory(workers), a.freeMemory(); need > memoryShare*have {
		return fmt.Sprintf("%d %s would take %s of the %s of memory that are free", workers, a.noun(workers),
			quantity.AboutBytes(need), quantity.AboutBytes(have))
	}
	if a.costs.Feed != nil {
		return ""
	}
	ahead := float64(workers * a.ahead())
	if shm := stat.Value(a.run.Facts.Machine.ShmBytes); ahead*stat.Or(a.base.BatchBytes(), 0) > shmReserve*shm {
		return fmt.Sprintf("/dev/shm has %s, %s would queue %s there (containers: --shm-size)", quantity.AboutBytes(shm),
			quantity.Many(workers, "worker"), quantity.AboutBytes(ahead*a.base.BatchBytes()))
	}
	return ""
}

// ahead is how many batches each worker prepares ahead.
func (a adviser) ahead() int {
	if n, known := a.base.Settings.Int(stoker.PrefetchFactor); known && n > 0 {
		return n
	}
	return defaultAhead
}

// workersMemory is what additional workers take: their resident set and the
// batches that wait in their queues. Of a run without workers the trainer's own
// resident set is used; a forked copy shares much of it, so this is an upper
// bound.
func (a adviser) workersMemory(workers int) float64 {
	if a.costs.Feed != nil {
		return float64(workers-a.costs.Workers) * feedThread
	}
	each := a.costs.WorkerMemory
	if math.IsNaN(each) {
		subject := fmt.Sprintf("process/%d", a.costs.Window.PID)
		each = stat.Or(a.run.Find(recording.ProcessMemory, subject).Mean(a.costs.Window.Start, a.costs.Window.End), 0)
	}
	return float64(workers-a.costs.Workers) * (each + float64(a.ahead())*stat.Or(a.base.BatchBytes(), 0))
}

func (a adviser) freeMemory() float64 {
	free := a.run.Find(recording.MachineMemory, "machine").Mean(a.costs.Window.Start, a.costs.Window.End)
	return stat.Or(free, math.Inf(1))
}

func (a adviser) whyNotMore(workers int, cut string) string {
	if few := a.sayShards(workers); few != "" {
		return few
	}
	if cut != "" {
		return cut
	}
	f := a.forecast(a.makeChange(stoker.NumWorkers, workers))
	gain := gainOver(f.Step, a.forecast(a.makeChange(stoker.NumWorkers, workers+1)).Step)
	switch a.costs.LimitOf(f) {
	case stoker.CPU:
		return fmt.Sprintf("they use all of the %s cores that this job can get, and %s",
			quantity.AboutCores(a.base.CoresGot(float64(workers))), oneMore(gain))
	case stoker.GPU:
		return fmt.Sprintf("after that the device (%s) is the limit, and %s",
			quantity.AboutSeconds(a.base.Loop().Point), oneMore(gain))
	case stoker.Loop:
		return fmt.Sprintf("after that the program's loop itself (%s) is the limit, and %s",
			quantity.AboutSeconds(a.base.Loop().Point), oneMore(gain))
	case stoker.Storage:
		return "after that storage is the limit, and " + oneMore(gain)
	case stoker.Waiting:
		return "after that what loading waits for (a timer, a lock, an answer) is the limit, and " + oneMore(gain)
	default:
	}
	if workers >= a.mostUseful() {
		return fmt.Sprintf(
			"as many as the cores that this job may use (%s) can keep at work, by what a batch takes of one",
			quantity.AboutCores(a.base.Cores))
	}
	return oneMore(gain)
}

// gainOver is what one step is worth over another of the same law, of which the costs are
// the same: both at their best, likely, and both at their worst.
func gainOver(before, after stoker.Interval) stoker.Interval {
	best, point, worst := before.Low/after.Low-1, before.Point/after.Point-1, before.High/after.High-1
	return stoker.Interval{Low: min(best, point, worst), Point: point, High: max(best, point, worst)}
}

// oneMore says how much another worker brings, as far as that is known. Its cost has
// a part that the law leaves out: a waiting loop spins less.
func oneMore(gain stoker.Interval) string {
	switch {
	case gain.Point < nothingMore:
		return "one more promises nothing"
	case math.Round(100*gain.Low) == math.Round(100*gain.High):
		return "one more adds " + quantity.Percent(gain.Point)
	}
	return fmt.Sprintf("one more adds %s (%s to %s)", quantity.Percent(gain.Point), quantity.Percent(gain.Low),
		quantity.Percent(gain.High))
}

// nothingMore is the gain below which another worker is called worth nothing. [J]
const nothingMore = 0.01

func (a adviser) memoryNote(workers int) string {
	queued := float64(workers*a.ahead()) * a.base.BatchBytes()
	return fmt.Sprintf("fits: at most %s more memory (%s free), %s queued in /dev/shm (of %s), %s cores",
		quantity.AboutBytes(a.workersMemory(workers)), quantity.AboutBytes(a.freeMemory()), quantity.AboutBytes(queued),
		quantity.AboutBytes(stat.Value(a.run.Facts.Machine.ShmBytes)),
		quantity.AboutCores(a.base.CoresGot(float64(workers))))
}

// queueNote says for how long a hang of the data set can be covered.
func (a adviser) queueNote(workers int, f predict.Forecast) string {
	lasts := float64(workers*a.ahead()) * f.Step.Point
	return fmt.Sprintf("prefetch_factor=%d: a full queue of %d %s covers a pause of %s", a.ahead(), workers*a.ahead(),
		quantity.Ending(workers*a.ahead(), "batch", "batches"), quantity.AboutSeconds(lasts))
}

// keepWorkers keeps workers over epochs if starting them again would cost.
func (a adviser) keepWorkers() []stoker.Change {
	if keep, _ := a.base.Settings.Bool(stoker.PersistentWorkers); keep || a.base.Epoch == 0 {
		return nil
	}
	keeps := a.makeChange(stoker.PersistentWorkers, true)
	if a.verdict.Grounds.Alters(a.makeChange(stoker.NumWorkers, 1), keeps) != "" {
		return nil
	}
	return []stoker.Change{keeps}
}
