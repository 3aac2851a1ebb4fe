package diagnose

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
)

var computeOnCPU = Rule{
	Class:  ComputeOnCPU,
	Title:  "The model computes on the CPU",
	Text:   "The model's parameters lie in host memory: every step runs on the CPU and a GPU, where there is one, is left idle.",
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
		onCPU := c.yes(fact("Do the model's parameters lie on the CPU?", strings.HasPrefix(c.Model.Device, "cpu"), "they lie on "+c.Model.Device))
		c.because(seen(nil, onCPU, "ratio", "model.device", "the model's parameters lie in host memory%s", inBrackets(c.Model.DType)))
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

// inBrackets is a word for behind another; "" where it is not known.
func inBrackets(word string) string {
	if word == "" {
		return ""
	}
	return " (" + word + ")"
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

// inputWait says what limits a run whose model computes on the CPU as it is: the deeper
// cause has the class.
func (c *Case) inputWait(class Class) (Finding, bool) {
	k := c.Costs
	waits := k.Wait / k.HostStep
	if class != ComputeOnCPU || !c.HasSteps || !(waits >= leastWait) {
		return Finding{}, false
	}
	who := "in the thread that computes"
	if k.Workers > 0 {
		who = fmt.Sprintf("in each of %d worker process%s", k.Workers, stoker.Ending(k.Workers, "", "es"))
	}
	f := said("input-wait", fmt.Sprintf("beside where it computes, this run waits for input %s of its time (%s of a %s step): faster input is worth at most %.2fx. Computing takes %s, and preparing a batch %s%s %s",
		stoker.Percent(waits), stoker.AboutSeconds(k.Wait), stoker.AboutSeconds(k.HostStep), 1/(1-min(waits, 0.99)), stoker.AboutSeconds(k.HostStep-k.Wait), stoker.AboutSeconds(k.Fetch), cpuOf(k.FetchCPU, k.Fetch), who))
	f.Seconds, f.Share, f.Saves = k.Wait*float64(len(k.Window.Steps)), waits, waits
	return f, true
}

// leastWait is the share of a step from which waiting for input is worth a word where
// the model computes on the CPU. [J]
const leastWait = 0.1

// cpuOf is how much of a time is core time, for behind it.
func cpuOf(cpu, wall float64) string {
	if math.IsNaN(cpu) || !(wall > 0) {
		return ""
	}
	return fmt.Sprintf(" (%s of it on a core)", stoker.Percent(min(1, cpu/wall)))
}
