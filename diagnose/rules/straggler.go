package rules

import "github.com/stoker-dev/stoker/diagnose"

var straggler = Rule{
	Class:  diagnose.StragglerRank,
	Title:  "One rank is late, the others wait for it",
	Text:   "Collectives end on all ranks together: one rank comes last to them, and all others wait.",
	Limits: "Needs the traces of the ranks of one run, of the same steps.",
	check: func(c *inquiry) float64 {
		late := c.yes(c.OneRankLate)
		if late > 0 {
			c.because(c.OneRankLate.Evidence)
		}
		return late * diagnose.BesideInput(c.Parts.Input) // why it is late says more than that it is
	},
}
