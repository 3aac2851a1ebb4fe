package diagnose

var sharedGPU = Rule{
	Class:  SharedGPU,
	Title:  "Other programs compute on the device",
	Text:   "Kernels of processes outside this job take a good part of the device's time, and those of the job wait for their turn.",
	Limits: "Whose kernels run is told per process by the driver. In a container the other processes may not be seen.",
	check: func(c *Case) float64 {
		shared := c.yes(c.Shared)
		if shared == 0 {
			return 0
		}
		starved := c.yes(c.Starved)
		c.because(c.Shared.Seen)
		return shared * (1 - starved)
	},
	most: func(c *Case) float64 { return 1 / (1 - min(c.Others, 0.99)) },
}
