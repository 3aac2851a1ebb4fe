package diagnose

var mainThreadLoader = Rule{
	Class:  MainThread,
	Title:  "The launching thread loads the data itself",
	Text:   "The thread that launches work on the device also reads, decodes and collates, because no worker process does; the device waits meanwhile.",
	Limits: "Without the start-up hook, 'no worker processes' may also mean threads that load.",
	check: func(c *Case) float64 {
		alone := c.yes(c.Alone)
		starved := c.yes(c.Starved)
		disk := c.yes(c.Storage.as("Is it waiting for storage?", ""))
		full := c.yes(c.Cores)
		score := alone * starved * (1 - disk) * (1 - full) * c.inputLeads()
		if c.Launcher.known() {
			c.because(c.Launcher.Seen)
			return score * 0.9 * c.used() * c.yes(c.Launcher) // the hook would know; live signals suspect
		}
		c.because(c.Starved.Seen, c.Fetching, c.Alone.Seen)
		return score
	},
}
