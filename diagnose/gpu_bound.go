package diagnose

var gpuBound = Rule{
	Class:  GPUBound,
	Title:  "The device is the limit",
	Text:   "Kernels run nearly all the time and the device does not wait for input. A faster loader is worth nothing.",
	Limits: "GPU-Util cannot tell a filled device from one tiny kernel after another.",
	check: func(c *Case) float64 {
		starved := c.yes(c.Starved)
		busy := c.yes(c.Busy)
		c.because(c.Busy.Seen)
		return busy * (1 - starved) * c.no(c.Late) * c.no(c.Slowed) * c.no(c.Shared)
	},
	refine: func(c *Case) Class {
		k := c.Kernels
		switch {
		case k.Plain >= plainShare && k.Major >= 7:
			return GPUPrecision
		case k.Moving >= memoryShare:
			return GPUMemory
		case k.Tensor >= tensorShare:
			return GPUTensor
		}
		return GPUBound
	},
}

// Start values for the kinds of gpu-bound.
const (
	plainShare  = 0.2 // of kernel time in matrix work without Tensor Cores: the trigger of the published procedure
	memoryShare = 0.5 // [J] of kernel time in kernels that move data
	tensorShare = 0.3 // KempnerPulse and the published procedure call 30 % tensor-active tensor-bound
)
