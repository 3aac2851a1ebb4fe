package observe

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// unnamed is the share of idle time without a cause above which a trace is taken.
const unnamed = 0.10

// inside decides whether and in which process the hook records a trace: once per run, if idle time
// remains unexplained.
type inside struct {
	forbidden bool   // by --no-trace, or because the flags ask for another trace
	lacking   string // why no trace can be taken in this run; "" if one can
	told      bool   // a trace was requested, or the user was told why there is none
	pid       int    // the process to trace next; 0: none
	steps     int
}

// next is called by observe.Options.Inside.
func (t *inside) next() (pid, steps int) {
	pid, t.pid = t.pid, 0
	return pid, t.steps
}

// look requests a trace if a settled verdict leaves idle time unexplained. It returns a line for
// the user: what the trace costs, or, if this run cannot have one, how to get one.
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

// insideCost is the time that a trace by the hook takes besides its steps. Measured with PyTorch
// 2.15 on two cores without a GPU: 0.02 s (a small model on the CPU) to 0.5 s (25,000 events, an
// emulated device). A large model and the first use of CUPTI take longer.
const insideCost = "0.02 to some seconds"

// elsewhere reports whether another observer traces this job: if each rank is observed
// separately, only the observer of rank 0 takes a trace.
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

// The number of steps in a trace: enough for half a second, and one more that is not judged.
const (
	insideSpan  = 0.5 // seconds
	leastTraced = 5
	mostTraced  = 50
	longStep    = 2.0 // seconds; for longer steps, three are enough
	fewTraced   = 3
)

func traceSteps(step float64) int {
	if step > longStep {
		return fewTraced
	}
	return max(leastTraced, min(mostTraced, int(math.Ceil(insideSpan/step))))
}
