package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// longOptimizer is the share of a step from which an optimizer on the CPU is worth a word. [J]
const longOptimizer = 0.1

// stepsOnCPU reports whether the model computes on a device, and its optimizer on the CPU: the optimizer's parameters
// are a copy in host memory, as where its state is offloaded.
func (l filler) stepsOnCPU() bool {
	return l.OnDevice && l.Model.OnCPU()
}

// findCPUOptimizer tells of an optimizer that steps on the CPU while the device idles.
func (l filler) findCPUOptimizer(in insideSteps) (diagnose.Finding, bool) {
	share := in.optimizer
	if !l.stepsOnCPU() || !(share >= longOptimizer) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingCPUOptimizer)
	f.Share, f.Saves = share, min(share, l.Idle)
	f.Text = fmt.Sprintf("the optimizer steps on the CPU, as its parameters lie in host memory, and takes %s of a "+
		"step (%s): the device idles meanwhile", quantity.Percent(share), quantity.AboutSeconds(share*in.span))
	f.Advice = diagnose.OptimizerAdvice
	return f, true
}
