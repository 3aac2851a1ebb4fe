package diagnose_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

var unknown = math.NaN()

// liveRun is a verdict of a live run, as far as Merge looks at it.
func liveRun(class diagnose.Class, stall float64) diagnose.Verdict {
	return diagnose.Verdict{
		Class: class, State: diagnose.Final, Stall: stall, StallSource: diagnose.DeviceEvents, Idle: 0.5, HasSteps: true,
		Shares:   diagnose.Shares{Kernel: 0.5, Copy: unknown, Communication: unknown, Idle: 0.5},
		Costs:    measure.Costs{Window: recording.Window{Steps: make([]recording.Step, 100)}},
		Evidence: []diagnose.Evidence{{Text: "seen live"}}, Warnings: []string{"live warning"},
		Findings: []diagnose.Finding{{Name: "full-memory", Text: "live"}, {Name: "launch-bound", Text: "live"}},
	}
}

// traceOf is a verdict of a trace of five steps.
func traceOf(class diagnose.Class, stall float64) diagnose.Verdict {
	v := liveRun(class, stall)
	v.StallSource, v.Idle, v.State = diagnose.FromTrace, 0.6, diagnose.Provisional
	v.Shares = diagnose.Shares{Kernel: 0.3, Copy: 0.06, Communication: 0.04, Idle: 0.6}
	v.Costs.Window.Steps = make([]recording.Step, 5)
	v.Causes = []diagnose.Cause{{Cause: "data loader", Seconds: 0.1, Share: 0.4}}
	v.Evidence = []diagnose.Evidence{{Text: "seen in the trace"}}
	v.Warnings = []string{"trace warning"}
	v.Findings = []diagnose.Finding{{Name: "launch-bound", Text: "trace", From: 1}, {Name: "pageable-copies", Text: "trace"}}
	return v
}

func hostTrace() diagnose.Verdict {
	v := traceOf(diagnose.Unknown, unknown)
	v.Idle, v.Shares, v.Causes = unknown, diagnose.Shares{Kernel: unknown, Copy: unknown, Communication: unknown, Idle: unknown}, nil
	return v
}

func TestMergeAgrees(t *testing.T) {
	live, trace := liveRun(diagnose.TooFewWorkers, 0.40), traceOf(diagnose.TooFewWorkers, 0.42)
	v := judge.Merge(&recording.Run{}, live, trace)
	if v.Class != diagnose.TooFewWorkers || v.Stall != 0.40 || v.StallSource != diagnose.DeviceEvents || v.State != diagnose.Final || len(v.Costs.Window.Steps) != 100 {
		t.Errorf("the run's own answer changed: %+v", v)
	}
	if v.Traced == nil || v.Traced.Contradictions != nil || v.Traced.Shares.Copy != 0.06 || v.Traced.Steps != 5 || v.Causes[0].Cause != "data loader" {
		t.Errorf("the trace's part: %+v", v.Traced)
	}
	if v.Evidence[0].Text != "seen live" || v.Traced.Evidence[0].Text != "seen in the trace" || strings.Join(v.Warnings, "|") != "live warning|trace: trace warning" {
		t.Errorf("%v %v", v.Evidence, v.Warnings)
	}
	var names []string
	for _, f := range v.Findings {
		names = append(names, f.Name+" "+f.Text)
	}
	if got := strings.Join(names, ", "); got != "launch-bound trace, pageable-copies trace, full-memory live" {
		t.Errorf("findings %s", got)
	}
	if len(live.Findings) != 2 || len(live.Warnings) != 1 || live.Traced != nil {
		t.Error("the live verdict was changed")
	}
}

func TestMergeContradictions(t *testing.T) {
	by := func(v diagnose.Verdict, s diagnose.Source) diagnose.Verdict { v.StallSource = s; return v }
	for name, c := range map[string]struct {
		live, trace diagnose.Verdict
		want        int
	}{
		"same":                       {liveRun(diagnose.GPUBound, 0.01), traceOf(diagnose.GPUBound, 0.02), 0},
		"a kind of it":               {liveRun(diagnose.GPUBound, 0.01), traceOf(diagnose.GPUMemory, 0.02), 0},
		"same family":                {liveRun(diagnose.TooFewWorkers, 0.4), traceOf(diagnose.CPUExhausted, 0.4), 0},
		"other family":               {liveRun(diagnose.GPUBound, 0.01), traceOf(diagnose.LaunchBound, 0.01), 1},
		"stall 9 points apart":       {liveRun(diagnose.IOBound, 0.40), traceOf(diagnose.IOBound, 0.49), 0},
		"stall 11 points more":       {liveRun(diagnose.IOBound, 0.40), traceOf(diagnose.IOBound, 0.51), 1},
		"stall 11 points less":       {liveRun(diagnose.IOBound, 0.40), traceOf(diagnose.IOBound, 0.29), 1},
		"both":                       {liveRun(diagnose.GPUBound, 0.01), traceOf(diagnose.MainThread, 0.5), 2},
		"trace does not know":        {liveRun(diagnose.GPUBound, 0.01), traceOf(diagnose.Unknown, unknown), 0},
		"run does not know":          {liveRun(diagnose.Unknown, unknown), traceOf(diagnose.GPUBound, 0), 0},
		"below an upper bound":       {by(liveRun(diagnose.IOBound, 0.7), diagnose.Utilisation), traceOf(diagnose.IOBound, 0.4), 0},
		"above an upper bound":       {by(liveRun(diagnose.IOBound, 0.3), diagnose.Utilisation), traceOf(diagnose.IOBound, 0.5), 1},
		"a trace without any device": {liveRun(diagnose.IOBound, 0.3), hostTrace(), 0},
	} {
		v := judge.Merge(&recording.Run{}, c.live, c.trace)
		if got := v.Traced.Contradictions; len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		} else if c.want > 0 && v.Warnings[0] != got[0] {
			t.Errorf("%s: the contradiction is not the first note: %q", name, v.Warnings)
		}
	}
}

func TestMergeSettlesTheClass(t *testing.T) {
	for _, c := range []struct{ live, trace, want diagnose.Class }{
		{diagnose.GPUBound, diagnose.GPUMemory, diagnose.GPUMemory},
		{diagnose.GPUMemory, diagnose.GPUBound, diagnose.GPUMemory},
		{diagnose.IOBound, diagnose.LaunchBound, diagnose.IOBound},
		{diagnose.Unknown, diagnose.LaunchBound, diagnose.LaunchBound},
		{diagnose.IOBound, diagnose.Unknown, diagnose.IOBound},
	} {
		if v := judge.Merge(&recording.Run{}, liveRun(c.live, 0.3), traceOf(c.trace, 0.3)); v.Class != c.want {
			t.Errorf("%s and %s: %s, want %s", c.live, c.trace, v.Class, c.want)
		}
	}
	v := judge.Merge(&recording.Run{}, liveRun(diagnose.Unknown, unknown), traceOf(diagnose.LaunchBound, 0.02))
	if v.Stall != 0.02 || v.StallSource != diagnose.FromTrace || v.State != diagnose.Provisional || v.Evidence[0].Text != "seen in the trace" {
		t.Errorf("%+v", v)
	}
}

// A trace without a device says nothing of one, and why there is none is said.
func TestMergeWithoutADevice(t *testing.T) {
	emulated := &recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{{Emulated: true}}}}
	nothing := liveRun(diagnose.ComputeOnCPU, unknown)
	nothing.Idle = unknown
	for want, v := range map[string]diagnose.Verdict{
		"an emulated device is in no trace": judge.Merge(emulated, liveRun(diagnose.MainThread, 0.4), hostTrace()),
		"no CUPTI":                          judge.Merge(&recording.Run{}, liveRun(diagnose.GPUBound, 0), hostTrace()),
		"no GPU was at work":                judge.Merge(&recording.Run{}, nothing, hostTrace()),
	} {
		if text := strings.Join(v.Warnings, "|"); !strings.Contains(text, want) || !v.Traced.HostOnly || v.Class == diagnose.Unknown || v.Causes != nil {
			t.Errorf("want %q: %s, %+v", want, text, v)
		}
	}
}

func steps(pid int, from, period float64, n int) (out []recording.Step) {
	for i := range n {
		out = append(out, recording.Step{PID: pid, Start: from + float64(i)*period, Period: period, Phase: recording.Train})
	}
	return out
}

func TestCaptureCost(t *testing.T) {
	run := &recording.Run{Steps: steps(5, 0, 0.1, 100)}                                     // to 10 s
	run.Steps = append(run.Steps, steps(5, 10, 0.15, 10)...)                                // to 11.5 s
	run.Steps = append(run.Steps, steps(5, 11.5, 0.1, 50)...)                               // after it
	run.Steps = append(run.Steps, steps(6, 9, 9, 3)...)                                     // of another rank
	run.Steps = append(run.Steps, recording.Step{PID: 5, Start: 9, Period: 5, First: true}) // an epoch's start
	d := judge.CaptureCost(run, recording.Capture{PID: 5, From: 10.05, To: 11.45})
	if d.Base != 100 || d.Steps != 10 || math.Abs(d.Before-0.1) > 1e-9 || math.Abs(d.During-0.15) > 1e-9 || math.Abs(d.Extra-0.5) > 1e-9 || d.Worst != 0.15 {
		t.Errorf("%+v", d)
	}
	for name, c := range map[string]recording.Capture{
		"no steps of it": {PID: 7, From: 5, To: 6}, "too few before": {PID: 5, From: 0.35, To: 1}, "none meanwhile": {PID: 5, From: 90, To: 91},
	} {
		if d := judge.CaptureCost(run, c); !math.IsNaN(d.During) || !math.IsNaN(d.Extra) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func ExampleMerge() {
	live := diagnose.Verdict{Class: diagnose.GPUBound, Stall: 0.01, Idle: 0.02, StallSource: diagnose.DeviceEvents}
	trace := diagnose.Verdict{Class: diagnose.GPUMemory, Stall: 0.15, Idle: 0.2, StallSource: diagnose.FromTrace}
	v := judge.Merge(&recording.Run{}, live, trace)
	fmt.Println(v.Class)
	fmt.Println(v.Warnings[0])
	// Output:
	// gpu-bound/memory
	// run and trace contradict each other: the device waits for input 1 % of the time by the run, 15 % by the trace (the profiler slows the launching thread, and a few steps may not be typical: the answer is the run's)
}

// A run that does not know why its device idles takes class and reason from its trace,
// and keeps its own stall.
func TestMergeNamesIdleTime(t *testing.T) {
	live, trace := liveRun(diagnose.Unknown, 0.10), traceOf(diagnose.LaunchBound, 0.08)
	live.Idle, live.Unexplained, live.RunnerUp = 0.85, 0.75, diagnose.MainThread
	trace.Causes = []diagnose.Cause{{Cause: "unrecorded", Share: 0.60}, {Cause: "data-loader", Share: 0.12}, {Cause: "unlinked", Share: 0.05}}
	v := judge.Merge(&recording.Run{}, live, trace)
	if v.Class != diagnose.LaunchBound || v.Stall != 0.10 || v.StallSource != diagnose.DeviceEvents || v.Evidence[0].Text != "seen in the trace" || v.Traced.Contradictions != nil {
		t.Errorf("%+v", v)
	}
	if math.Abs(v.Unexplained-0.13) > 1e-9 { // 75 less 60, and less the 2 that the trace has for input beyond the run's 10
		t.Errorf("unexplained %v", v.Unexplained)
	}
	if v := judge.Merge(&recording.Run{}, live, hostTrace()); v.Unexplained != 0.75 || v.Class != diagnose.Unknown {
		t.Errorf("a trace without a device named idle time: %+v", v)
	}
}
