package diagnose

import (
	"math"
	"strings"

	"stoker"
)

var computeOnCPU = Rule{
	Class:  ComputeOnCPU,
	Title:  "The model computes on the CPU",
	Text:   "The optimizer's parameters lie in host memory: every step runs on the CPU and a GPU, where there is one, is left idle.",
	Limits: "Without the start-up hook the model's place is not known and only suspected.",
	check: func(c *Case) float64 {
		switch {
		case c.Recorded == 0:
			c.yes(fact("Does the trace hold work of a device?", false, "it may not have been asked for it"))
			return 0.3 // as likely, the profiler recorded the CPU alone
		case c.Recorded > 0:
			return 0
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.yes(share("Is the GPU unused?", c.Util, 0.06, 0.03, ""))
		}
		if c.Model == nil {
			return unused * c.suspectCPU()
		}
		onCPU := c.yes(fact("Do the optimizer's parameters lie on the CPU?", strings.HasPrefix(c.Model.Device, "cpu"), "they lie on "+c.Model.Device))
		c.because(seen(nil, onCPU, "ratio", "model.device", "the optimizer's parameters lie in host memory (%s)", c.Model.DType))
		switch {
		case !math.IsNaN(c.Util):
			c.because(seen(nil, c.Util, "ratio", "gpu.utilisation", "the GPU is in use %s of the time", stoker.Percent(c.Util)))
		case c.GPUs == 0:
			c.because(seen(nil, 0, "ratio", "gpu.utilisation", "no GPU could be seen on this machine"))
		default:
			c.because(seen(nil, 0, "ratio", "gpu.utilisation", "how much the GPU is in use could not be read"))
		}
		return unused * onCPU
	},
}

// suspectCPU judges by the cores alone: a trainer that keeps them busy while a GPU lies
// idle.
func (c *Case) suspectCPU() float64 {
	if c.HasSteps || c.GPUs == 0 || !c.Torch {
		return c.yes(fact("Is anything known of where the model lies?", false, "no"))
	}
	use := c.yes(share("Do several cores compute?", c.Costs.CoresUse/c.Costs.Cores, 0.4, 0.7, "decoding in threads looks the same"))
	c.because(seen(nil, c.Costs.CoresUse, "cores", "tree.cpu", "PyTorch is loaded, %.1f cores are busy and the GPU is not used", c.Costs.CoresUse))
	return 0.6 * use
}
