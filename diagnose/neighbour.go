package diagnose

import "github.com/stoker-dev/stoker/internal/stat"

var neighbour = Rule{
	Class:  Neighbour,
	Title:  "Other programs have the cores",
	Text:   "Preparing batches, or launching work on the device, waits for cores that other programs of this machine use.",
	Limits: "Who the others are is not recorded: the ranks of a job that are observed one by one are each other's. Where loading mostly waits for something else than a core, they are not its limit.",
	check: func(c *Case) float64 {
		if c.yes(c.Neighbours) == 0 {
			return 0
		}
		input := 1 - besideInput(stat.Or(c.Stall, 1)) // that is what to say first, unless workers that keep up are late
		if c.Costs.Workers > 0 {
			input *= c.Saturated.Score
		}
		launching := c.yes(c.Delayed) * (1 - input)
		if p := c.Parts; p.Copies > p.Queued { // the thread wants a core to stage them
			launching *= p.Queued / p.Copies
		}
		loading := c.coresRunOut()
		c.because(c.Delayed.Seen)
		return c.no(c.Throttled) * max(loading, launching)
	},
}
