package diagnose

var cpuBound = Rule{
	Class:  CPUBound,
	Title:  "The program's own work on the host is the limit",
	Text:   "In long stretches the thread that launches, or one that it waits for, does something else: preprocessing outside a loader, a simulator, logging, evaluation on the host. The device waits meanwhile.",
	Limits: "Loading that no loader's span marks looks the same; a stack names the line.",
	check: func(c *Case) float64 {
		if c.Own.known() {
			starved := c.Starved
			if !c.HasSteps {
				starved = starved.as("Is the device idle (GPU-Util)?", "")
			}
			idle := c.yes(starved)
			disk := c.yes(c.Storage)
			own := c.yes(c.Own)
			c.because(c.Own.Seen)
			return 0.9 * idle * (1 - disk) * own * c.used()
		}
		much := c.yes(c.Stretches)
		c.because(c.Stretches.Seen)
		return much * c.leads(c.Parts.Long) * c.besideInput(c.Parts.Long)
	},
}
