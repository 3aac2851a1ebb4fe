package diagnose

// Start values of the rule.
const (
	shortKernel = 10e-6 // nsys-ai's and the published procedure's mark of a kernel that a launch outlasts, seconds
	longGapText = "2 ms"
)

var launchBound = Rule{
	Class:  LaunchBound,
	Title:  "The host launches too slowly",
	Text:   "Between two kernels the device waits for the host to come to the next launch: many small kernels, each after more Python and operator code than it has work.",
	Limits: "A profiler slows the host, with stacks more than without: the share is an upper bound of what a run without it loses.",
	Check: func(c *Case) float64 {
		t := c.traced
		if t == nil {
			return 0 // live signals do not tell launching from other work of the thread
		}
		many := c.ask("Does the device wait for the next launch, in gaps below "+longGapText+"?", t.host, 0.08, 0.15, "")
		c.ask("Are kernels shorter than a launch (median, of 10 us)?", shortKernel/max(1e-9, seconds(t.kernels.Median)), 0.5, 1, "long kernels hide launches only while the host runs ahead")
		c.because(t.host, "ratio", "trace.host", "the device waits for the host to launch %s of the window; %d kernels of %s median",
			percent(t.host), t.kernels.Count, us(t.kernels.Median))
		c.gapEvidence()
		c.placeEvidence(t.worst())
		return many * t.rival(t.host) * t.besideInput()
	},
}
