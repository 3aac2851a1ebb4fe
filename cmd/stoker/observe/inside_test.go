package observe

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

func idling(unexplained float64) (*recording.Run, diagnose.Verdict) {
	run := &recording.Run{Facts: recording.Facts{Processes: []recording.Process{{PID: 7, Role: recording.RoleTrainer, Hooked: true}}}}
	v := diagnose.Verdict{Class: diagnose.Unknown, HasSteps: true, Idle: 0.84, Unexplained: unexplained, Costs: measure.Costs{Window: recording.Window{PID: 7}, Step: 0.025}}
	return run, v
}

func TestWhenATraceIsTakenFromInside(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*inside, *recording.Run, *diagnose.Verdict)
		pid    int
		says   string
	}{
		"idle without a name":  {func(*inside, *recording.Run, *diagnose.Verdict) {}, 7, "traces 20 steps of process 7, once"},
		"forbidden":            {func(i *inside, _ *recording.Run, _ *diagnose.Verdict) { i.forbidden = true }, 0, ""},
		"named":                {func(_ *inside, _ *recording.Run, v *diagnose.Verdict) { v.Unexplained = 0.1 }, 0, ""},
		"idle unknown":         {func(_ *inside, _ *recording.Run, v *diagnose.Verdict) { v.Unexplained = math.NaN() }, 0, ""},
		"no steps":             {func(_ *inside, _ *recording.Run, v *diagnose.Verdict) { v.HasSteps = false }, 0, ""},
		"attached":             {func(i *inside, _ *recording.Run, _ *diagnose.Verdict) { i.lacking = "it ran before" }, 0, "(it ran before): start the program with stoker observe --trace 5 -- CMD"},
		"no hook in it":        {func(_ *inside, r *recording.Run, _ *diagnose.Verdict) { r.Facts.Processes[0].Hooked = false }, 0, "the hook is not in process 7"},
		"one of several ranks": {func(_ *inside, r *recording.Run, _ *diagnose.Verdict) { r.Facts.Processes[0].World = 2 }, 7, "of process 7"},
		"rank 0 is elsewhere": {func(_ *inside, r *recording.Run, _ *diagnose.Verdict) {
			r.Facts.Processes[0].World, r.Facts.Processes[0].Rank = 2, 1
		}, 0, ""},
		"steps of five seconds":  {func(_ *inside, _ *recording.Run, v *diagnose.Verdict) { v.Costs.Step = 5 }, 7, "traces 3 steps"},
		"steps of a millisecond": {func(_ *inside, _ *recording.Run, v *diagnose.Verdict) { v.Costs.Step = 0.001 }, 7, "traces 50 steps"},
	} {
		i := &inside{}
		run, v := idling(0.7)
		c.change(i, run, &v)
		says := i.look(run, v, 20)
		if pid, _ := i.next(); pid != c.pid || !strings.Contains(says, c.says) || (c.says == "") != (says == "") {
			t.Errorf("%s: process %d, %q", name, pid, says)
		}
		if again := i.look(run, v, 30); again != "" {
			t.Errorf("%s: said twice: %q", name, again)
		}
		if pid, _ := i.next(); pid != 0 {
			t.Errorf("%s: asked twice", name)
		}
	}
}

// A captured trace is read once, and from then on it counts in the live verdict.
func TestLiveVerdictWithATrace(t *testing.T) {
	_, run := withTrace(t, "run.rank0.trace.json.gz")
	reads := 0
	l := &liveVerdict{read: func(_ *recording.Run, pid int) *diagnose.Verdict {
		if reads++; pid != 100 { // the process of the recording
			t.Errorf("the trace of process %d", pid)
		}
		return &diagnose.Verdict{Class: diagnose.LaunchBound, Idle: 0.8, Stall: 0.8}
	}}
	for range 3 {
		if v := l.judge(run); v.Traced == nil || v.Traced.Class != diagnose.LaunchBound {
			t.Errorf("%+v", v.Traced)
		}
	}
	run.Facts.Captures = nil
	if v := (&liveVerdict{read: l.read}).judge(run); v.Traced != nil || reads != 1 {
		t.Errorf("read %d times; %+v", reads, v.Traced)
	}
}
