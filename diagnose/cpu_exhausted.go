package diagnose

var cpuExhausted = Rule{
	Class:  CPUExhausted,
	Title:  "The cores are used up",
	Text:   "Preparing batches takes more core time than the job's cores have; more workers only queue for them.",
	Limits: "Cores are what affinity mask and quota allow. Where loading mostly waits for something else, full cores are not its limit.",
	check: func(c *Case) float64 {
		if !c.Cores.known() {
			return 0
		}
		return c.coresRunOut() * c.no(c.Throttled) * c.no(c.Neighbours)
	},
}

// coresRunOut is whether the device starves because loading gets no core; whoever has
// the cores.
func (c *Case) coresRunOut() float64 {
	starved := c.yes(c.Starved)
	busy := 1.0
	if c.Costs.Workers > 0 {
		busy = c.yes(c.Saturated)
	}
	disk := c.yes(c.Storage)
	full := c.yes(c.Cores)
	c.because(c.Starved.Seen, c.Cores.Seen)
	if c.Costs.Workers > 0 {
		c.because(c.Saturated.Seen)
	}
	c.because(c.Fetching)
	return starved * busy * (1 - disk) * full
}
