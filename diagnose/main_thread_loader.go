package diagnose

import "stoker/internal/stat"

var mainThreadLoader = Rule{
	Class:  MainThread,
	Title:  "The launching thread loads the data itself",
	Text:   "With num_workers=0 the thread that launches work on the device also reads, decodes and collates; the device waits meanwhile.",
	Limits: "Without the start-up hook, 'no worker processes' may also mean threads that load.",
	Check: func(c *Case) float64 {
		if c.traced != nil {
			return c.loaderTraced(true)
		}
		k := c.Costs
		none := c.askFact("Does the launching thread load by itself (num_workers=0)?", k.Workers == 0, workersText(k))
		starved := c.starved()
		disk := c.askOr(unlikely, "Is it waiting for storage?", c.onStorage(), 0.3, 0.6, "")
		full := c.coresFull()
		score := none * starved * (1 - disk) * (1 - full)
		if !c.HasSteps {
			return score * c.launcherBusy()
		}
		c.stallEvidence()
		c.because(k.Fetch, "seconds", "fetch.wall", "preparing one batch takes %s in the launching thread%s; the rest of the step takes %s",
			ms(k.Fetch), cpuOf(k.FetchCPU, k.Fetch), ms(k.HostStep-k.Wait))
		free := k.Cores - k.CoresUse + stat.Or(k.HelperCPU/k.HostStep, 0)
		c.because(free, "cores", "tree.cpu", "%.1f of %.1f cores are free for workers", max(0, free), k.Cores)
		if k.Others > 0.3 {
			c.because(k.Others, "cores", "machine.cpu", "other programs use %.1f cores", k.Others)
		}
		return score
	},
}

// launcherBusy asks, where no step was seen, whether the launching thread is at
// work all the time.
func (c *Case) launcherBusy() float64 {
	busy := 1 - c.launcherParked()
	score := c.ask("Is the launching thread always at work?", busy, 0.6, 0.85,
		"a thread that spins for the device looks the same")
	c.because(busy, "ratio", "thread.state", "no loader process exists and the launching thread is at work %s of the time", percentOr(busy))
	c.because(c.Idle, "ratio", "gpu.utilisation", "no kernel runs %s of the time", percentOr(c.Idle))
	return 0.9 * score // the hook would know; live signals suspect
}
