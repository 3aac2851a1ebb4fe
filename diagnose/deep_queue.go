package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// torchAhead is PyTorch's prefetch_factor where workers are used.
const torchAhead = 2

// deepQueue tells of workers whose batches take more of /dev/shm than it has, or nearly:
// a worker that finds it full dies of a bus error.
func (l live) deepQueue() (Finding, bool) {
	w := l.Costs.Window
	loader := l.run.Loader(w.PID, w.Loader)
	size := stat.Value(l.run.Facts.Machine.ShmBytes)
	if loader == nil || l.Costs.Workers == 0 || l.Costs.Feed != nil || !(size > 0) || !(loader.BatchBytes > 0) {
		return Finding{}, false
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
	if need < 0.8*size && least > 0.1*size { // [J] batches differ, and others use it as well
		return Finding{}, false
	}
	f := said("deep-queue", fmt.Sprintf("%s keep %d batches of %s each ahead: %s of the %s of /dev/shm, of which %s were left at least. A worker that finds it full dies of a bus error: a smaller prefetch_factor, fewer workers, or more of it (docker run --shm-size, --ipc=host)",
		stoker.Many(l.Costs.Workers, "worker"), ahead, stoker.AboutBytes(loader.BatchBytes), stoker.AboutBytes(need), stoker.AboutBytes(size), stoker.AboutBytes(least)))
	return f, true
}
