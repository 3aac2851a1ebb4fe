package live

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// torchAhead is PyTorch's prefetch_factor where workers are used.
const torchAhead = 2

// findDeepQueue tells of workers whose batches take more of /dev/shm than it has, or nearly:
// a worker that finds it full dies of a bus error.
func (l filler) findDeepQueue() (diagnose.Finding, bool) {
	w := l.Costs.Window
	loader := l.run.FindLoader(w.PID, w.Loader)
	size := stat.Value(l.run.Facts.Machine.ShmBytes)
	if loader == nil || l.Costs.Workers == 0 || l.Costs.Feed != nil || !(size > 0) || !(loader.BatchBytes > 0) {
		return diagnose.Finding{}, false
	}
	ahead := torchAhead
	if n, ok := loader.Settings.Int(stoker.PrefetchFactor); ok {
		ahead = n
	}
	need := float64(l.Costs.Workers*ahead) * loader.BatchBytes
	left := l.run.Find(recording.MachineShm, "machine").Between(l.From, l.To)
	least := size
	for _, v := range left.V {
		least = min(least, v)
	}
	if need < diagnose.ShmPlanned*size && least > diagnose.ShmLeft*size {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingDeepQueue,
		fmt.Sprintf("%s keep %d batches of %s each ahead: %s of the %s of /dev/shm, and %s of it were left at "+
			"least. A worker that finds it full dies of a bus error: a smaller prefetch_factor, fewer workers, or "+
			"more of it (docker run --shm-size, --ipc=host)",
			quantity.Many(l.Costs.Workers, "worker"), ahead, quantity.AboutBytes(loader.BatchBytes),
			quantity.AboutBytes(need), quantity.AboutBytes(size), quantity.AboutBytes(least)))
	return f, true
}

// findPinnedQueue tells of batches ahead that may take a good part of the machine's memory page-locked: that can
// be neither swapped nor given to others, and where it runs out the program fails.
func (l filler) findPinnedQueue() (diagnose.Finding, bool) {
	loader, memory := l.judgedLoader(), stat.Value(l.run.Facts.Machine.MemoryBytes)
	if loader == nil || l.Costs.Workers == 0 || l.Costs.Feed != nil || loader.Pinned == nil || !*loader.Pinned {
		return diagnose.Finding{}, false
	}
	ahead := torchAhead
	if n, ok := loader.Settings.Int(stoker.PrefetchFactor); ok {
		ahead = n
	}
	need := float64(l.Costs.Workers*ahead) * loader.BatchBytes
	if !(need >= diagnose.PinnedShare*memory) {
		return diagnose.Finding{}, false
	}
	return diagnose.NewTextFinding(diagnose.FindingDeepQueue, fmt.Sprintf(
		"%d batches of %s each may lie in page-locked memory at once: %s of the machine's %s, which can be neither swapped "+
			"nor given to others. A smaller prefetch_factor, fewer workers, smaller samples (uint8), or pin_memory=False",
		l.Costs.Workers*ahead, quantity.AboutBytes(loader.BatchBytes), quantity.AboutBytes(need),
		quantity.AboutBytes(memory))), true
}

// findPinThread tells of PyTorch's thread that copies batches to page-locked memory, if it
// is always at work and keeps the device waiting though the workers keep up.
func (l filler) findPinThread() (diagnose.Finding, bool) {
	p := l.run.FindProcess(l.Costs.Window.PID)
	if p == nil || p.PinThread == 0 || l.Costs.Workers == 0 || !l.InputShort.IsLikely() {
		return diagnose.Finding{}, false
	}
	subject := fmt.Sprintf("thread/%d", p.PinThread)
	core := l.run.Find(recording.ThreadCPU, subject).Rate(l.From, l.To)
	queued := stat.Or(l.run.Find(recording.ThreadQueue, subject).Rate(l.From, l.To), 0)
	if !(core+queued >= diagnose.PinThreadBusy) || !(l.WorkersPreparing() < diagnose.WorkersRest) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingPinThread,
		fmt.Sprintf("the one thread that copies batches to page-locked memory is always at work (%s of the time on "+
			"a core), and the workers wait for it: each batch is copied once more there. Smaller batches of data "+
			"(uint8 instead of float32), or pin_memory=False, relieve it", quantity.Percent(min(1, core))))
	return f, true
}

// findTooManyWorkers tells of workers that wait for each other's cores: twice as many as
// there are cores, which each of them wants most of the time.
func (l filler) findTooManyWorkers() (diagnose.Finding, bool) {
	k, cores := l.Costs, l.countCores()
	if k.Feed != nil || k.Split == nil || !(cores > 0) || float64(k.Workers) < 2*math.Ceil(cores) ||
		!(k.Split.Queued >= diagnose.CrowdedFetch) {
		return diagnose.Finding{}, false
	}
	enough := k.MakeBaseline(l.run).EnoughWorkers()
	if enough == k.Workers { // the law does not know how much less fewer would queue
		if k.Others >= diagnose.ManyOthers { // of cores that other programs want, fewer workers get a smaller part
			return diagnose.Finding{}, false
		}
		enough = int(math.Ceil(cores))
	}
	if l.Grounds.Alters(diagnose.ProposeChange(stoker.NumWorkers, k.Workers, enough)) != "" {
		return diagnose.Finding{}, false // fewer would give other samples
	}
	f := diagnose.NewTextFinding(diagnose.FindingTooManyWorkers,
		fmt.Sprintf("%d workers share the %s cores that this job may use, and wait for one %s of their time: "+
			"%d prepare as much, in less memory", k.Workers, quantity.AboutCores(cores),
			quantity.Percent(k.Split.Queued), enough))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.NumWorkers, k.Workers, enough)}
	return f, true
}
