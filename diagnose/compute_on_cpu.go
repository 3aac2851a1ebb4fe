package diagnose

import (
	"math"
	"strings"
)

var computeOnCPU = Rule{
	Class:  ComputeOnCPU,
	Title:  "The model computes on the CPU",
	Text:   "The optimizer's parameters lie in host memory: every step runs on the CPU and a GPU, where there is one, is left idle.",
	Limits: "Without the start-up hook the model's place is not known and only suspected.",
	Check: func(c *Case) float64 {
		if c.hostOnly {
			c.askFact("Does the trace hold work of a device?", false, "it may not have been asked for it")
			return 0.3 // as likely, the profiler recorded the CPU alone
		}
		if c.traced != nil {
			return 0
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.ask("Is the GPU unused?", c.Util, 0.06, 0.03, "")
		}
		m := c.Run.Facts.Model
		if m == nil {
			return unused * c.suspectCPU()
		}
		onCPU := c.askFact("Do the optimizer's parameters lie on the CPU?", strings.HasPrefix(m.Device, "cpu"), "they lie on "+m.Device)
		c.because(onCPU, "ratio", "model.device", "the optimizer's parameters lie in host memory (%s)", m.DType)
		if math.IsNaN(c.Util) && len(c.Run.Facts.GPUs) == 0 {
			c.because(0, "ratio", "gpu.utilisation", "no GPU could be seen on this machine")
		} else if math.IsNaN(c.Util) {
			c.because(0, "ratio", "gpu.utilisation", "how much the GPU is in use could not be read")
		} else {
			c.because(c.Util, "ratio", "gpu.utilisation", "the GPU is in use %s of the time", percent(c.Util))
		}
		return unused * onCPU
	},
}

// suspectCPU judges by live signals alone: a trainer that keeps the cores busy
// while a GPU lies idle.
func (c *Case) suspectCPU() float64 {
	if c.HasSteps || len(c.Run.Facts.GPUs) == 0 || !c.torchSeen() {
		return c.askFact("Is anything known of where the model lies?", false, "no")
	}
	use := c.ask("Do several cores compute?", c.Costs.CoresUse/c.Costs.Cores, 0.4, 0.7, "decoding in threads looks the same")
	c.because(c.Costs.CoresUse, "cores", "tree.cpu", "PyTorch is loaded, %.1f cores are busy and the GPU is not used", c.Costs.CoresUse)
	return 0.6 * use
}
