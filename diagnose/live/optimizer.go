package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// longOptimizer is the share of a step from which an optimizer on the CPU is worth a word. [J]
const longOptimizer = 0.1

// stepsOnCPU reports whether steps wait for a device, and the optimizer works on the CPU: its parameters are a copy
// in host memory, as where its state is offloaded.
func (l filler) stepsOnCPU() bool {
	return l.Costs.Window.Asks().Syncs >= asksDevice && l.Model.OnCPU()
}

// findCPUOptimizer tells of an optimizer that steps on the CPU while the device idles.
func (l filler) findCPUOptimizer(in insideSteps) (diagnose.Finding, bool) {
	waits := stat.Or(l.Costs.Window.Asks().SyncTime, 0) / in.span // Lightning's optimizers call the model themselves
	share := in.optimizer - waits
	if !l.stepsOnCPU() || !(share >= longOptimizer) || l.launchesMuch(in) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingCPUOptimizer)
	f.Share, f.Saves = share, min(share, l.Idle)
	f.Text = fmt.Sprintf("the optimizer steps on the CPU, as its parameters lie in host memory, and takes %s of a "+
		"step (%s): the device idles meanwhile", quantity.Percent(share), quantity.AboutSeconds(share*in.span))
	f.Advice = diagnose.OptimizerAdvice
	return f, true
}

// manyLaunches is the share of a step from which an optimizer that launches kernel after kernel is worth a word. [J]
const manyLaunches = 0.25

// launchesMuch reports whether a step's launches are what the device waits for. An optimizer on the CPU launches none.
func (l filler) launchesMuch(in insideSteps) bool {
	return in.Launches >= fewLaunches && l.Parts.Host >= diagnose.LaunchTrigger && l.Parts.Host > l.Parts.Long
}

// findOptimizerLaunches tells of an optimizer that takes a good part of a step, in which the device waits for launches.
// The hook times those of PyTorch. Of others the launching thread's samples tell.
func (l filler) findOptimizerLaunches(in insideSteps) (diagnose.Finding, bool) {
	f := diagnose.NewFinding(diagnose.FindingOptimizerLaunches)
	f.Advice = diagnose.OptimizerLaunchesAdvice
	line, share := l.ownOptimizer()
	switch {
	case !l.launchesMuch(in):
		return f, false
	case in.optimizer >= manyLaunches:
	case share >= mostLaunches:
		f.Source, f.Saves = line.Short(), l.Parts.Host
		f.Text = fmt.Sprintf("the device waits for launches, and %s of the time in which the loop launches lies in the step of "+
			"the program's own optimizer (%s)", diagnose.WholePercent(share), line)
		return f, true
	default:
		return f, false
	}
	f.Share, f.Saves = in.optimizer, min(in.optimizer, l.Parts.Host)
	f.Text = fmt.Sprintf("the optimizer takes %s of a step (%s) in which the device waits for launches: it launches kernel "+
		"after kernel", quantity.Percent(in.optimizer), quantity.AboutSeconds(in.optimizer*in.span))
	return f, true
}

// mostLaunches is the share of the launches' time that lies in the step of the program's own optimizer, from which it
// is worth a word. [J]
const mostLaunches = 0.5

// updates reports whether a line is in the step of an optimizer of the program's own.
func updates(line diagnose.LoopLine) bool {
	return line.Own.File != "" && optimizing.MatchString(line.Own.Function)
}

// ownOptimizer is the line on which an optimizer of the program's own launches most, and its steps' share of the time
// of all launches.
func (l filler) ownOptimizer() (diagnose.LoopLine, float64) {
	line, seconds := diagnose.BusiestFunction(l.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		return line.Kind == diagnose.Launching && updates(line)
	})
	all := l.LoopLines.SecondsOf(diagnose.Launching)
	if l.LoopLines.Looks < fewLooks || !(all > 0) {
		return line, 0
	}
	return line, seconds / all
}
