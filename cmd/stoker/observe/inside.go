package observe

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// unnamed is the share of idle time that nothing explains from which a trace is taken.
const unnamed = 0.10

// inside decides whether and where a trace is taken from within: once, where idle time
// stays without a name.
type inside struct {
	forbidden bool   // --no-trace, or another trace was asked for
	lacking   string // why none can be taken in this run; "" where one can
	told      bool   // one was asked for, or it was said that none can be
	pid       int    // to be asked for next, 0: none
	steps     int
}

// next is what observe.Options.Inside asks.
func (t *inside) next() (pid, steps int) {
	pid, t.pid = t.pid, 0
	return pid, t.steps
}

// look asks for a trace where a verdict that has settled leaves idle time unexplained.
// What it says is what it costs, or how to have a trace that this run cannot have.
func (t *inside) look(run *recording.Run, v diagnose.Verdict, now float64) (says string) {
	if t.told || t.forbidden || !v.HasSteps || !(v.Unexplained > unnamed) || v.Class == diagnose.GPUBound {
		return ""
	}
	p := run.FindProcess(v.Costs.Window.PID)
	if p == nil || elsewhere(run, p) {
		return ""
	}
	t.told = true
	seen := fmt.Sprintf("%.0f s: the device is idle %s of the time, and nothing that is measured says why for %s of it",
		now, quantity.Percent(v.Idle), quantity.Percent(v.Unexplained))
	how, command := diagnose.TakeTrace(v.Grounds.Framework)
	switch {
	case v.Grounds.Framework != "":
		return fmt.Sprintf("%s. A trace would tell: %s, then %s", seen, how, command)
	case !p.Hooked:
		t.lacking = "the hook is not in process " + fmt.Sprint(p.PID)
	}
	if t.lacking != "" {
		return fmt.Sprintf(
			"%s. A trace would tell, and cannot be taken here (%s): start the program with %s", seen, t.lacking, command)
	}
	t.pid, t.steps = p.PID, traceSteps(v.Costs.Step)
	return fmt.Sprintf("%s: PyTorch's profiler traces %d steps of process %d, once. They take longer, and its start "+
		"and its file hold the program up for %s (--no-trace forbids it)", seen, t.steps, t.pid, insideCost)
}

// insideCost is what a trace from within took besides its steps: 0.02 s (a small model on
// the CPU) to 0.5 s (25,000 events, an emulated device), with PyTorch 2.15 on two cores
// without a GPU; the first use of CUPTI and a large model take longer.
const insideCost = "0.02 to some seconds"

// elsewhere reports whether the rank that is to be traced runs under another observer:
// of a job whose ranks are observed one by one, that of rank 0 does.
func elsewhere(run *recording.Run, p *recording.Process) bool {
	if p.World <= 1 {
		return false
	}
	for _, other := range run.Facts.Processes {
		if other.Role == recording.RoleTrainer && other.Rank == 0 {
			return false
		}
	}
	return true
}

// Steps of a trace: enough to last half a second, of which the first one is not judged.
const (
	insideSpan  = 0.5 // seconds
	leastTraced = 5
	mostTraced  = 50
	longStep    = 2.0 // seconds, from which three steps do
	fewTraced   = 3
)

func traceSteps(step float64) int {
	if step > longStep {
		return fewTraced
	}
	return max(leastTraced, min(mostTraced, int(math.Ceil(insideSpan/step))))
}
