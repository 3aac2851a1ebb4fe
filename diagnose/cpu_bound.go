package diagnose

var cpuBound = Rule{
	Class:  CPUBound,
	Title:  "The launching thread does other work",
	Text:   "In long stretches the thread that launches does something else: preprocessing outside a DataLoader, logging, evaluation on the host. The device waits meanwhile.",
	Limits: "Loading that no loader's span marks looks the same; a stack names the line.",
	Check: func(c *Case) float64 {
		t := c.traced
		if t == nil {
			return 0
		}
		much := c.ask("Does the device wait for the host in gaps of "+longGapText+" and more?", t.long, 0.08, 0.15, "")
		c.because(t.long, "ratio", "trace.host", "the device waits for the host %s of the window in gaps of %s and more", percent(t.long), longGapText)
		c.gapEvidence()
		c.placeEvidence(t.worst())
		return much * t.rival(t.long) * t.besideInput()
	},
}
