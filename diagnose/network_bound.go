package diagnose

var networkBound = Rule{
	Class:  NetworkBound,
	Title:  "The exchange between ranks is the limit",
	Text:   "Collectives run alone: nothing computes while gradients or activations are exchanged.",
	Limits: "A rank that waits in a collective for a slower rank looks the same; the traces of all ranks tell the two apart.",
	check: func(c *Case) float64 {
		if !c.Exchange.known() {
			return 0 // only the device's work tells
		}
		alone := c.yes(c.Exchange)
		c.because(c.Exchange.Seen)
		return alone * c.leads(c.Parts.Exchange) * c.besideInput(c.Parts.Exchange) * c.no(c.Late)
	},
}

var straggler = Rule{
	Class:  StragglerRank,
	Title:  "One rank is late, the others wait for it",
	Text:   "Collectives end on all ranks together: one rank comes last to them, and all others wait.",
	Limits: "Needs the traces of the ranks of one run, of the same steps.",
	check: func(c *Case) float64 {
		late := c.yes(c.Late)
		if late > 0 {
			c.because(c.Late.Seen)
		}
		return late * besideInput(c.Parts.Input) // why it is late says more than that it is
	},
}

// Late by a tenth of the step is TraceML's warning, by a fifth critical.
const lateLow, lateHigh = 0.10, 0.20
