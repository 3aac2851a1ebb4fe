package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
)

// tooManyWorkers tells of workers that wait for each other's cores: twice as many as
// there are cores, which each of them wants most of the time.
func (l live) tooManyWorkers() (Finding, bool) {
	k, cores := l.Costs, l.cores()
	if k.Feed != nil || k.Split == nil || !(cores > 0) || float64(k.Workers) < 2*math.Ceil(cores) || !(k.Split.Queued >= 0.25) {
		return Finding{}, false
	}
	f := said("too-many-workers", fmt.Sprintf("%d workers share the %s cores that this job may use, and wait for one %s of their time: as many as there are cores prepare as much, in less memory", k.Workers, stoker.AboutCores(cores), stoker.Percent(k.Split.Queued)))
	f.Settings = []stoker.Change{change(stoker.NumWorkers, k.Workers, int(math.Ceil(cores)))}
	return f, true
}
