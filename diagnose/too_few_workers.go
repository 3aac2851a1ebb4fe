package diagnose

var tooFewWorkers = Rule{
	Class:  TooFewWorkers,
	Title:  "The workers are the limit, and cores are free",
	Text:   "Every DataLoader worker always has a batch to prepare, the device waits for them, and cores are left for more workers.",
	Limits: "Workers that wait for something they share (a lock, a server) do not get faster by being more.",
	Check: func(c *Case) float64 {
		if c.traced != nil {
			return c.loaderTraced(false)
		}
		k := c.Costs
		some := c.askFact("Are there worker processes?", k.Workers > 0, workersText(k))
		starved := c.starved()
		busy := c.ask("Do the workers always have a batch to prepare?", c.saturated(), 0.70, 0.88, "workers that are not the limit park on their index queue")
		disk := c.askOr(unlikely, "Are they waiting for storage?", c.onStorage(), 0.3, 0.6, "")
		full := c.coresFull()
		c.stallEvidence()
		c.workersEvidence()
		c.because(k.Cores-k.CoresUse, "cores", "tree.cpu", "%.1f of %.1f cores are free", max(0, k.Cores-k.CoresUse), k.Cores)
		return some * starved * busy * (1 - disk) * (1 - full)
	},
}
