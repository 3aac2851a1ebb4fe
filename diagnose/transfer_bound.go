package diagnose

import (
	"math"

	"stoker/internal/stat"
)

var transferBound = Rule{
	Class:  TransferBound,
	Title:  "Copies to the device are the limit",
	Text:   "The device computes nothing while a batch crosses the host link. From pageable memory the copy is slow and blocks the launching thread.",
	Limits: "The copy's time is estimated from the batch's size and the link's rates, within the time in which no kernel ran.",
	Check: func(c *Case) float64 {
		if c.traced != nil {
			return c.transferTraced()
		}
		b := c.Costs.Baseline(c.Run)
		copied := b.Copy
		share := math.NaN()
		if c.HasSteps && copied.Known() {
			share = copied.Point / c.Costs.Step
		}
		if math.IsNaN(share) {
			return c.askFact("Is the size of the copies known?", false, "unknown: no batch was seen on its way to a device")
		}
		starved := c.starved()
		much := c.ask("Does the copy take a good part of the step?", share, 0.07, 0.15, "")
		idle := c.ask("Is there time in which no kernel runs, though input is there?", 1-c.Util-stat.Or(c.Stall, 0), 0.05, 0.12, "")
		l := c.Run.Loader(c.Costs.Window.PID, c.Costs.Window.Loader)
		pinned := l != nil && l.Pinned != nil && *l.Pinned
		c.because(share, "ratio", "loader.batch_bytes", "copying a batch of %.1f MB takes about %s of a %s step (%s to %s)",
			b.BatchBytes()/1e6, ms(copied.Point), ms(c.Costs.Step), ms(copied.Low), ms(copied.High))
		c.because(1-c.Util, "ratio", "gpu.utilisation", "no kernel runs %s of the time, of which waiting for input is %s", percentOr(1-c.Util), percentOr(c.Stall))
		if !pinned {
			c.because(b.BatchBytes(), "bytes", "loader.pinned", "batches arrive in pageable memory: the copy is staged by the CPU and blocks the launching thread")
		}
		return (1 - starved) * much * idle
	},
}
