package diagnose

var tooFewWorkers = Rule{
	Class:  TooFewWorkers,
	Title:  "The workers are the limit",
	Text:   "Every worker of the loader always has a batch to prepare and the device waits for them. Cores are left for more workers, or these mostly wait for something else than a core.",
	Limits: "Workers that wait for something they share (a lock, a server) do not get faster by being more.",
	check: func(c *Case) float64 {
		some := c.yes(c.Workers)
		starved := c.yes(c.Starved)
		busy := 1.0
		if c.Saturated.known() {
			busy = c.yes(c.Saturated.as(c.Saturated.Text, "workers that are not the limit park on their index queue"))
		}
		disk := c.yes(c.Storage.as("Are they waiting for storage?", ""))
		full := c.yes(c.Cores)
		c.because(c.Starved.Seen, c.Saturated.Seen, c.Fetching, c.Workers.Seen)
		return some * starved * busy * (1 - disk) * (1 - full) * c.inputLeads()
	},
}
