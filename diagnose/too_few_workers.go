package diagnose

var tooFewWorkers = Rule{
	Class:  TooFewWorkers,
	Title:  "The workers are the limit, and cores are free",
	Text:   "Every DataLoader worker always has a batch to prepare, the device waits for them, and cores are left for more workers.",
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
		c.because(c.Starved.Seen, c.Saturated.Seen, c.Workers.Seen)
		return some * starved * busy * (1 - disk) * (1 - full) * c.inputLeads()
	},
}
