package diagnose

var cpuExhausted = Rule{
	Class:  CPUExhausted,
	Title:  "The cores are used up",
	Text:   "Preparing batches takes more core time than the job's cores have; more workers only queue for them.",
	Limits: "Cores are what affinity mask and quota allow, less what other programs use.",
	Check: func(c *Case) float64 {
		if c.noTelemetry() {
			return 0 // a trace alone does not tell what the cores and disks did
		}
		k := c.Costs
		starved := c.starved()
		busy := 1.0
		if k.Workers > 0 {
			busy = c.ask("Do the workers always have a batch to prepare?", c.saturated(), 0.70, 0.88, "")
		}
		disk := c.askOr(unlikely, "Is loading waiting for storage?", c.onStorage(), 0.3, 0.6, "")
		full := c.coresFull()
		c.stallEvidence()
		c.because(k.CoresUse, "cores", "tree.cpu", "the job uses %.1f of the %.1f cores it can get", k.CoresUse, k.Cores)
		if k.Others > 0.3 {
			c.because(k.Others, "cores", "machine.cpu", "other programs use %.1f cores", k.Others)
		}
		if k.Throttled > 0.03 {
			c.because(k.Throttled, "ratio", "cgroup.throttled", "the cgroup's CPU quota holds the job back %s of the time", percent(k.Throttled))
		}
		if k.Workers > 0 {
			c.workersEvidence()
		}
		return starved * busy * (1 - disk) * full
	},
}
