package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Start values for copies of a data set. [J]
const (
	copiedLeast = 1e9 // private bytes of a worker
	copiedPart  = 0.5 // of what the trainer holds
)

// copiedDataset tells of workers each of which has about as much memory of its own as the
// process that they were forked from: the data set is there once per worker.
func (l live) copiedDataset() (Finding, bool) {
	var own []float64
	for _, p := range l.run.Workers(l.Costs.Window.PID) {
		if v := l.run.Find(recording.ProcessPrivate, fmt.Sprintf("process/%d", p.PID)).Between(l.From, l.To); len(v.V) > 0 {
			own = append(own, v.Last())
		}
	}
	trainer := l.run.Find(recording.ProcessMemory, fmt.Sprintf("process/%d", l.Costs.Window.PID)).Mean(l.From, l.To)
	each := stat.Median(own)
	if len(own) < 2 || math.IsNaN(each) || each < copiedLeast || each < copiedPart*trainer {
		return Finding{}, false
	}
	f := said("copied-dataset", fmt.Sprintf("each of %d workers holds %s of memory that no other process shares, where the launching process has %s: the data set is there once per worker, %s in all. Keep it in a memory map, a NumPy array or an Arrow table, and open it in the workers",
		l.Costs.Workers, stoker.AboutBytes(each), stoker.AboutBytes(trainer), stoker.AboutBytes(each*float64(l.Costs.Workers))))
	return f, true
}
