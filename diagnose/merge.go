package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Traced is what a trace of a few steps of a live run adds to the run's verdict.
// Ratios are of the trace's own window; NaN is unknown.
type Traced struct {
	Class          Class
	Rank           int
	Stall, Idle    float64
	Shares         Shares
	Steps          int  // that could be told apart
	HostOnly       bool // no work of a device was recorded
	Evidence       []Evidence
	Contradictions []string // sentences; nil where live and trace agree
}

// stallApart is the difference of two stalls from which live run and trace
// contradict each other. [J] A trace of five steps at one moment of a run whose
// workers fall behind now and then differs by a few points; by ten, something else
// is going on.
const stallApart = 0.10

// Merge joins the verdict of a live run with that of a trace of a few of its
// steps: one answer. Class, stall, steps and costs stay the run's, which saw all
// of it; the trace names causes of idle time, adds its findings, says which
// kind of a class it is (gpu-bound becomes gpu-bound/memory), and decides where the
// run could not. Where the two contradict each other, that is the first warning.
func Merge(run *recording.Run, live, trace Verdict) Verdict {
	v := live
	t := &Traced{
		Class: trace.Class, Rank: trace.Rank, Stall: trace.Stall, Idle: trace.Idle, Shares: trace.Shares,
		HostOnly: math.IsNaN(trace.Idle), Evidence: trace.Evidence,
	}
	if trace.HasSteps {
		t.Steps = len(trace.Costs.Window.Steps)
	}
	v.Traced = t
	var notes []string
	if t.HostOnly {
		notes = []string{hostOnly(run, live)}
	} else {
		t.Contradictions = contradictions(live, trace)
		v.Causes = trace.Causes
		v = settleClass(v, trace)
		if v.Unexplained = trace.Unexplained; !math.IsNaN(live.Unexplained) {
			v.Unexplained = max(0, live.Unexplained-named(trace.Causes, stat.Or(live.Stall, 0)))
		}
		for _, w := range trace.Warnings {
			notes = append(notes, "trace: "+w)
		}
	}
	v.Findings = joined(live.Findings, trace.Findings)
	v.Warnings = slices.Concat(t.Contradictions, live.Warnings, notes)
	return v
}

// settleClass takes the trace's class where it is a kind of the run's, or where the
// run has none.
func settleClass(v, trace Verdict) Verdict {
	switch {
	case trace.Class == Unknown:
	case v.Class == Unknown:
		v.Class, v.RunnerUp, v.Evidence, v.State = trace.Class, trace.RunnerUp, trace.Evidence, Provisional
		if math.IsNaN(v.Stall) {
			v.Stall, v.StallSource = trace.Stall, trace.StallSource
		}
	case trace.Class.Is(v.Class):
		v.Class = trace.Class
	}
	if math.IsNaN(v.Idle) {
		v.Idle, v.Shares = trace.Idle, trace.Shares
	}
	return v
}

// contradictions are what run and trace cannot both be right about: classes of
// different families, and stalls further apart than stallApart. A stall by GPU-Util
// is an upper bound: a trace below it agrees.
func contradictions(live, trace Verdict) (out []string) {
	const why = "the profiler slows the launching thread, and a few steps may not be typical; the answer is the run's"
	if live.Class != Unknown && trace.Class != Unknown && family(live.Class) != family(trace.Class) {
		out = append(out, fmt.Sprintf("run and trace contradict each other: the run is %s, the trace of it %s; %s", live.Class, trace.Class, why))
	}
	if math.IsNaN(live.Stall) || math.IsNaN(trace.Stall) {
		return out
	}
	apart := trace.Stall - live.Stall
	if live.StallSource != Utilisation {
		apart = math.Abs(apart)
	}
	if apart > stallApart {
		out = append(out, fmt.Sprintf("run and trace contradict each other: the device waits for input %s of the time by the run, %s by the trace; %s",
			stoker.Percent(live.Stall), stoker.Percent(trace.Stall), why))
	}
	return out
}

// family is the part of a class that a remedy is looked for in: gpu-bound/memory
// is of gpu-bound.
func family(c Class) string {
	name, _, _ := strings.Cut(string(c), "/")
	return name
}

// hostOnly says why a trace holds no work of a device.
func hostOnly(run *recording.Run, live Verdict) string {
	switch {
	case run.Emulated():
		return "trace: an emulated device is in no trace by PyTorch's profiler: it holds operators on the CPU and says nothing of the device"
	case live.Idle < 0.97: // not NaN: a GPU was seen at work
		return "trace: it holds no work of the GPU that the run used: PyTorch's profiler had no CUPTI or was not allowed to use it"
	}
	return "trace: it holds operators on the CPU only, as no GPU was at work: of a device's idle time, copies and kernels it says nothing"
}

// joined are the findings of both, those of the trace first as they have a place;
// each name once but for those that the trace itself names twice.
func joined(live, trace []Finding) []Finding {
	out := slices.Clone(trace)
	for _, f := range live {
		if !slices.ContainsFunc(trace, func(other Finding) bool { return other.Name == f.Name }) {
			out = append(out, f)
		}
	}
	return out
}

// Slowdown is what a capture cost the run, by the run's own steps. Seconds; NaN is
// unknown.
type Slowdown struct {
	Before float64 // mean step in the seconds before
	During float64 // mean step from the request to the finished file
	Worst  float64 // the longest step meanwhile
	Extra  float64 // what all steps meanwhile took longer, together
	Base   int     // steps before
	Steps  int     // steps meanwhile
}

// Bounds of what a capture is compared with.
const (
	baseTime  = 30.0 // seconds before
	baseSteps = 5    // fewer tell nothing
)

// CaptureCost compares the steps while a trace was captured with those before.
func CaptureCost(run *recording.Run, c recording.Capture) Slowdown {
	var before, during []float64
	for _, s := range run.Steps {
		if s.PID != c.PID || s.First || s.Phase == recording.Evaluate || s.Phase == recording.Checkpoint || !(s.Period > 0) {
			continue
		}
		switch end := s.Start + s.Period; {
		case end < c.From && s.Start >= c.From-baseTime:
			before = append(before, s.Period)
		case end >= c.From && s.Start <= c.To:
			during = append(during, s.Period)
		}
	}
	d := Slowdown{Before: math.NaN(), During: math.NaN(), Worst: math.NaN(), Extra: math.NaN(), Base: len(before), Steps: len(during)}
	if len(before) < baseSteps || len(during) == 0 {
		return d
	}
	d.Before, d.During, d.Worst = stat.Mean(before), stat.Mean(during), slices.Max(during)
	d.Extra = float64(len(during)) * (d.During - d.Before)
	return d
}
