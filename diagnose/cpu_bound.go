package diagnose

var cpuBound = Rule{
	Class:  CPUBound,
	Title:  "The launching thread does other work",
	Text:   "In long stretches the thread that launches does something else: preprocessing outside a DataLoader, logging, evaluation on the host. The device waits meanwhile.",
	Limits: "Loading that no loader's span marks looks the same; a stack names the line.",
	check: func(c *Case) float64 {
		much := c.yes(c.Stretches)
		c.because(c.Stretches.Seen)
		return much * c.leads(c.Parts.Long) * besideInput(c.Parts.Input)
	},
}
