package rules

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

var neighbour = Rule{
	Class: diagnose.Neighbour,
	Title: "Other programs have the cores",
	Text: "Preparing batches, answering requests, or launching work, is seen waiting for cores that " +
		"other programs of this machine use.",
	Limits: "Who the others are is not recorded: the ranks of a job that are observed one by one are each other's. " +
		"If loading mostly waits for something else than a core, they are not its limit.",
	check: func(c *inquiry) float64 {
		if c.yes(c.OthersTakeCores) == 0 {
			return 0
		}
		if c.Requests.Known() { // a server waits for no input
			c.because(c.LaunchingLacksCore.Evidence)
			return c.no(c.QuotaTakesCores) * c.yes(c.LaunchingLacksCore)
		}
		// that is what to say first, unless workers that keep up are late
		input := 1 - diagnose.BesideInput(stat.Or(c.Stall, 1))
		if c.Costs.Workers > 0 {
			input *= c.WorkersSaturated.Score
		}
		launching := c.yes(c.LaunchingLacksCore) * (1 - input)
		if p := c.Parts; p.Copies > p.Queued { // the thread wants a core to stage them
			launching *= p.Queued / p.Copies
		}
		loading := c.coresRunOut()
		if c.Costs.Workers > 0 && math.IsNaN(c.WorkersQueueing()) {
			loading = 0 // cores that others use do not tell that a worker wants them
		}
		c.because(c.LaunchingLacksCore.Evidence)
		return c.no(c.QuotaTakesCores) * max(loading, launching)
	},
}
