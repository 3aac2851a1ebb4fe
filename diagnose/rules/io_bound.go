package rules

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

var ioBound = Rule{
	Class:  diagnose.IOBound,
	Title:  "Storage is the limit",
	Text:   "Loading waits for a disk or a network file system, and the device waits for loading.",
	Limits: "Reads served from the page cache are not storage, and a client in user space sleeps like any other program.",
	check: func(c *inquiry) float64 {
		if !c.LoadingWaitsForStorage.CanBeAsked() {
			return 0
		}
		starved := c.yes(c.InputShort)
		disk := c.yes(c.LoadingWaitsForStorage)
		c.because(c.InputShort.Evidence, c.LoadingWaitsForStorage.Evidence, c.FetchEvidence)
		if math.IsNaN(c.Stall) && c.WorkersSaturated.CanBeAsked() && c.Costs.Workers > 0 {
			// GPU-Util does not tell why the device idles; workers that rest between reads are ahead of it
			return starved * disk * c.yes(c.WorkersSaturated)
		}
		return starved * disk
	},
	refine: func(c *inquiry) diagnose.Class { return c.askKinds(diagnose.IOBound, ioKinds) },
}

// askKinds is the kind of an ailment that convinces most; the ailment itself if none does.
func (c *inquiry) askKinds(best diagnose.Class, kinds []Rule) diagnose.Class {
	most := LeastScore
	for _, kind := range kinds {
		c.rule = kind.Class
		if score := kind.check(c); score >= most {
			best, most = kind.Class, score
		}
	}
	return best
}

// ioKinds are rules for loading that is waiting for storage: they tell its kind.
var ioKinds = []Rule{memoryPressure, remoteFS, deviceSaturated, smallFiles}
