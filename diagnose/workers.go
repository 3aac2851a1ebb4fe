package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// WorkersPreparing is how much of the time the workers had a batch to prepare.
func (c *Case) WorkersPreparing() float64 {
	k := c.Costs
	inside := k.Fetch / ((float64(k.Workers) - k.WithoutData()) * k.HostStep)
	switch {
	case math.IsNaN(inside):
		return k.WorkersBusy
	case math.IsNaN(k.WorkersBusy):
		return min(1, inside)
	}
	return min(1, max(inside, k.WorkersBusy))
}

// WorkersQueueing is the share of a fetch in which a worker is waiting for a core; NaN if that is
// not counted, or no worker fetches.
func (c *Case) WorkersQueueing() float64 {
	switch k := c.Costs; {
	case k.Workers == 0:
		return math.NaN()
	case k.Split == nil:
		return k.FetchQueue / k.Fetch
	case math.IsNaN(k.FetchQueue) && !(k.Split.Queued > 0):
		return math.NaN() // it was not counted
	default:
		return k.Split.Queued
	}
}

// WorkersText is how many workers a loader has, in words.
func WorkersText(k measure.Costs) string {
	switch {
	case k.Cluster != nil:
		return fmt.Sprintf("%s in a Ray cluster, on %s", quantity.Many(k.Workers, "worker"),
			quantity.Many(len(k.Cluster.Nodes), "node"))
	case k.Feed != nil:
		return "stoker's loader has " + quantity.Many(k.Workers, "thread")
	case k.Set:
		return fmt.Sprintf("num_workers=%d", k.Workers)
	}
	return fmt.Sprintf("%d worker process%s seen", k.Workers, quantity.Ending(k.Workers, "", "es"))
}

// CoreShare is what a batch has of a core, where nothing says where the rest goes.
func CoreShare(k measure.Costs) string {
	if math.IsNaN(k.FetchCPU) || !(k.Fetch > 0) {
		return ""
	}
	return fmt.Sprintf(" (%s of it on a core)", quantity.Percent(min(1, k.FetchCPU/k.Fetch)))
}
