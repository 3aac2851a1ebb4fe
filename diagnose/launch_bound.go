package diagnose

var launchBound = Rule{
	Class:  LaunchBound,
	Title:  "The host launches too slowly",
	Text:   "Between two kernels the device waits for the host's next launch: there are many small kernels, and launching one takes the host longer than running it takes the device.",
	Limits: "A profiler slows the host, with stacks more than without: the share is an upper bound of what a run without it loses.",
	check: func(c *Case) float64 {
		many := c.yes(c.Launching)
		c.yes(c.Short) // said beside it, not counted
		c.because(c.Launching.Seen)
		return many * c.leads(c.Parts.Host) * c.besideInput(c.Parts.Host)
	},
}
