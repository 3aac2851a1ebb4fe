package diagnose

import "math"

var gpuBound = Rule{
	Class:  GPUBound,
	Title:  "The device is the limit",
	Text:   "Kernels run nearly all the time and the device does not wait for input. A faster loader is worth nothing.",
	Limits: "GPU-Util cannot tell a filled device from one tiny kernel after another.",
	Check: func(c *Case) float64 {
		starved := c.starved()
		busy := c.ask("Does some kernel run nearly all the time?", c.Util, 0.82, 0.93, "")
		k := c.Costs
		if !math.IsNaN(c.Util) {
			c.because(c.Util, "ratio", "gpu.utilisation", "some kernel runs %s of the time", percent(c.Util))
		}
		if !math.IsNaN(c.Stall) {
			c.because(c.Stall, "ratio", "step.idle", "the device waits for input %s of the time, by its own clock", percent(c.Stall))
		}
		if wait := k.Wait / k.HostStep; wait > 0.2 && c.Stall < 0.05 {
			c.because(wait, "ratio", "step.wait",
				"the host waits %s of its time in next(), but work queued on the device covers it: host wait is not starvation", percent(wait))
		}
		return busy * (1 - starved)
	},
}
