package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

var computeOnCPU = Rule{
	Class:  diagnose.ComputeOnCPU,
	Title:  "The model computes on the CPU",
	Text:   "The model lies in host memory and computes on the CPU. A GPU, if there is one, is left idle.",
	Limits: "Without the start-up hook the model's place is not known and only suspected.",
	check: func(c *inquiry) float64 {
		switch {
		case c.WorksRecorded == 0 && c.LaunchCalls > 0:
			c.yes(diagnose.AskFact("Does the program launch work on a device?", true,
				"calls that launch were recorded, their work was not"))
			return 0
		case c.WorksRecorded == 0 && c.DeviceSign != "" && !c.DeviceListed:
			c.yes(diagnose.AskFact("Does the program compute on a device?", true, c.DeviceSign))
			return 0
		case c.WorksRecorded == 0 && len(c.HostInput) > 0:
			c.yes(diagnose.AskFact("Does computing take most of the time?", false, c.HostInput[0].Text))
			return 0
		case c.WorksRecorded == 0 && len(c.CPUWork) > 0:
			c.yes(diagnose.AskFact("Do operators that run on a CPU alone take much of the time?", true, c.CPUWork[0].Text))
			c.because(slices.Concat(c.CPUWork, c.HostLoading))
			return 0.9
		case c.WorksRecorded == 0 && c.DeviceSign != "" && c.ModelComputes:
			c.yes(diagnose.AskFact("Does the program compute on a device?", false, "the file lists one, and none of its work"))
			return 0
		case c.WorksRecorded == 0 && !c.ModelComputes:
			c.yes(diagnose.AskFact("Were operators of a model recorded?", false, "nothing tells what computes"))
			return 0
		case c.WorksRecorded == 0:
			c.yes(diagnose.AskFact("Does the trace hold work of a device?", false,
				"it may not have been asked for it"))
			return 0.3 // as likely, the profiler recorded the CPU alone
		case c.WorksRecorded > 0:
			return 0
		}
		if c.OnDevice && !c.Requests.Known() {
			c.yes(diagnose.AskFact("Does each step launch work on a device, or wait for it?", true,
				"a model on the CPU asks nothing of one: parameters in host memory are a copy"))
			return 0
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.yes(diagnose.AskShare("Is the GPU unused?", c.Util, diagnose.DeviceUnused, ""))
		}
		if c.Model == nil {
			return unused * c.suspectCPU()
		}
		onCPU := c.yes(diagnose.AskFact("Do the model's parameters lie on the CPU?",
			c.Model.OnCPU(), "they lie on "+c.Model.Device))
		c.because(diagnose.AddEvidence(nil, onCPU, "ratio", "model.device",
			"%s", c.sayWhereModelIs()))
		switch {
		case !math.IsNaN(c.Util):
			c.because(diagnose.AddEvidence(nil, c.Util, "ratio", c.MeterSignal(),
				"the GPU is in use %s of the time", quantity.Percent(c.Util)))
		case c.GPUCount == 0:
			c.because(diagnose.AddEvidence(nil, 0, "ratio", "gpu.utilisation", "no GPU could be seen on this machine"))
		default:
			c.because(diagnose.AddEvidence(nil, 0, "ratio", "gpu.utilisation",
				"how much the GPU is in use could not be read"))
		}
		return unused * onCPU
	},
}

// sayWhereModelIs says what was seen of a model that computes on the CPU.
func (c *inquiry) sayWhereModelIs() string {
	if f := c.Grounds.Framework; f != "" { // of which no parameter is seen
		return fmt.Sprintf("%s computes on the %s", f, strings.ToUpper(c.Model.Device))
	}
	return "the model's parameters lie in host memory" + inBrackets(c.Model.DType)
}

// inBrackets is a word for behind another; "" if it is not known.
func inBrackets(word string) string {
	if word == "" {
		return ""
	}
	return " (" + word + ")"
}

// suspectCPU judges by the cores alone: a trainer that keeps them busy while a GPU is
// idle.
func (c *inquiry) suspectCPU() float64 {
	if c.HasSteps || c.GPUCount == 0 || !c.TorchLoaded || c.TooFewSteps {
		return c.yes(diagnose.AskFact("Is it known on which device the model lies?", false, "no"))
	}
	use := c.yes(diagnose.AskShare("Do the cores compute?", c.Costs.CoresUse/c.Costs.Cores, diagnose.CoresCompute,
		"decoding in threads looks the same"))
	// a share of the few that others leave free is no work to speak of
	use *= c.yes(diagnose.AskShare("Is that a core at least?", c.Costs.CoresUse, diagnose.CoreComputes, ""))
	c.because(diagnose.AddEvidence(nil, c.Costs.CoresUse, "cores", "tree.cpu",
		"PyTorch is loaded, %.1f cores are busy and the GPU is not used", c.Costs.CoresUse))
	return suspected * use
}

// suspected is the score of a model that seems to compute on the CPU. [J] More than a
// tenth above the half that not-training has.
const suspected = 0.65

// computesOnCPU reports whether the model's place is known, and is the host.
func (c *inquiry) computesOnCPU() bool {
	return c.Model.OnCPU() && !c.OnDevice && !(c.Util > diagnose.DeviceUnused.No)
}

// inputWait says what limits a run whose model computes on the CPU as it is: the deeper
// cause has the class.
func inputWait(c *diagnose.Case, class diagnose.Class) (diagnose.Finding, bool) {
	k := c.Costs
	waits := k.Wait / k.HostStep
	if class != diagnose.ComputeOnCPU || !c.HasSteps || !(waits >= leastWait) {
		return diagnose.Finding{}, false
	}
	who := "in the thread that computes"
	if k.Workers > 0 {
		who = fmt.Sprintf("in each of %d worker process%s", k.Workers, quantity.Ending(k.Workers, "", "es"))
	}
	f := diagnose.NewTextFinding(diagnose.FindingInputWait,
		fmt.Sprintf("beside computing on the CPU, this run waits for input %s of its time (%s of a %s step): faster "+
			"input is worth at most %.2fx. Computing takes %s, and preparing a batch %s%s %s",
			quantity.Percent(waits), quantity.AboutSeconds(k.Wait), quantity.AboutSeconds(k.HostStep),
			1/(1-min(waits, 0.99)), quantity.AboutSeconds(k.HostStep-k.Wait), quantity.AboutSeconds(k.Fetch),
			diagnose.CoreShare(k), who))
	f.Seconds, f.Share, f.Saves = k.Wait*float64(len(k.Window.Steps)), waits, waits
	return f, true
}

// leastWait is the share of a step from which waiting for input is worth a word where
// the model computes on the CPU. [J]
const leastWait = 0.1
