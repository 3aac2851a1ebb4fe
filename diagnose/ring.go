package diagnose

import (
	"math"

	"github.com/stoker-dev/stoker/quantity"
)

// OnlyRingKnown reports whether only the loader's own side is known: it tells how
// long the trainer waited for batches and when its ring was full, and nothing
// tells what the device did meanwhile.
func (c *Case) OnlyRingKnown() bool {
	return c.HasSteps && c.Costs.Feed != nil && c.StallSource != DeviceEvents && math.IsNaN(c.Util)
}

// RingWait is the share of the time in which the trainer waited for batches: an upper
// bound of waiting for input, since queued work may cover it. Where the trainer
// does not tell, the ring decides as far as it can.
func (c *Case) RingWait() float64 {
	share := c.Costs.Wait / c.Costs.HostStep
	full, empty := c.Costs.Feed.Full, c.Costs.Feed.Empty
	switch {
	case !math.IsNaN(share):
		return min(1, share)
	case full >= fullRing:
		return max(0, 1-full)
	case empty >= 1-fullRing:
		return min(1, empty)
	}
	return math.NaN()
}

// ThreadEvidence says what the threads of stoker's loader do.
func (c *Case) ThreadEvidence() []Evidence {
	k, f := c.Costs, c.Costs.Feed
	busy := c.WorkersPreparing()
	list := AddEvidence(nil, busy, "ratio", "feed.threads", "%d thread%s at work in stoker's loader %s of the time",
		k.Workers, quantity.Ending(k.Workers, " is", "s are"), quantity.Percent(busy))
	return AddEvidence(list, k.Fetch, "seconds", "feed.batches",
		"preparing one batch takes a thread %s%s: reading %s, decoding %s, transforming %s",
		quantity.AboutSeconds(k.Fetch), CoreShare(k), quantity.AboutSeconds(f.Read), quantity.AboutSeconds(f.Decode),
		quantity.AboutSeconds(f.Transform))
}
