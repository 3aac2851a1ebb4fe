package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

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
func Merge(run *recording.Run, live, trace diagnose.Verdict) diagnose.Verdict {
	v := live
	t := &diagnose.Traced{
		Class: trace.Class, Rank: trace.Rank, Stall: trace.Stall, Idle: trace.Idle, Shares: trace.Shares,
		HostOnly: math.IsNaN(trace.Idle), Evidence: trace.Evidence,
	}
	if trace.HasSteps {
		t.Steps = len(trace.Costs.Window.Steps)
	}
	v.Traced = t
	var notes []string
	if t.HostOnly {
		notes = []string{describeHostOnly(run, live)}
	} else {
		t.Contradictions = listContradictions(live, trace)
		v.Causes = trace.Causes
		v = settleClass(v, trace)
		if v.Unexplained = trace.Unexplained; !math.IsNaN(live.Unexplained) {
			v.Unexplained = max(0, live.Unexplained-sumNamed(trace.Causes, stat.Or(live.Stall, 0)))
		}
		for _, w := range trace.Warnings {
			notes = append(notes, "trace: "+w)
		}
	}
	v.Findings = joinFindings(live.Findings, trace.Findings)
	for i := range v.Findings { // a trace does not know the data set
		v.Findings[i] = live.Grounds.KeepSamples(v.Findings[i])
	}
	v.Warnings = slices.Concat(t.Contradictions, live.Warnings, notes)
	return v
}

// settleClass takes the trace's class if it is a kind of the run's, or if the
// run has none.
func settleClass(v, trace diagnose.Verdict) diagnose.Verdict {
	switch {
	case trace.Class == diagnose.Unknown:
	case v.Class == diagnose.Unknown:
		v.Class, v.RunnerUp, v.Evidence, v.State = trace.Class, trace.RunnerUp, trace.Evidence, diagnose.Provisional
		v.Confidence = trace.Confidence
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

// listContradictions are what run and trace cannot both be right about: classes of
// different families, and stalls further apart than stallApart. A stall by GPU-Util
// or kernels is an upper bound: a trace below it agrees.
func listContradictions(live, trace diagnose.Verdict) (out []string) {
	const why = "the profiler slows the launching thread, and a few steps may not be typical: the answer is the run's"
	if live.Class != diagnose.Unknown && trace.Class != diagnose.Unknown &&
		familyOf(live.Class) != familyOf(trace.Class) {
		out = append(out, fmt.Sprintf("run and trace contradict each other: the run is %s, the trace of it %s (%s)",
			live.Class, trace.Class, why))
	}
	if math.IsNaN(live.Stall) || math.IsNaN(trace.Stall) {
		return out
	}
	apart := trace.Stall - live.Stall
	if !live.StallSource.IsUpperBound() {
		apart = math.Abs(apart)
	}
	if apart > stallApart {
		out = append(out, fmt.Sprintf("run and trace contradict each other: the device waits for input %s of the "+
			"time by the run, %s by the trace (%s)",
			quantity.Percent(live.Stall), quantity.Percent(trace.Stall), why))
	}
	return out
}

// familyOf is the part of a class that a remedy is looked for in: gpu-bound/memory
// is of gpu-bound.
func familyOf(c diagnose.Class) string {
	name, _, _ := strings.Cut(string(c), "/")
	return name
}

// describeHostOnly says why a trace holds no work of a device.
func describeHostOnly(run *recording.Run, live diagnose.Verdict) string {
	switch {
	case run.Emulated():
		return "trace: an emulated device is in no trace by PyTorch's profiler: it holds operators on the CPU and " +
			"says nothing of the device"
	case live.Idle < diagnose.NothingRan: // not NaN: a GPU was seen at work
		return "trace: it holds no work of the GPU that the run used: PyTorch's profiler had no CUPTI or was not " +
			"allowed to use it"
	}
	return "trace: it holds operators on the CPU only, as no GPU was at work: of a device's idle time, copies and " +
		"kernels it says nothing"
}

// joinFindings are the findings of both, those of the trace first as they have a place;
// each name once but for those that the trace itself names twice.
func joinFindings(live, trace []diagnose.Finding) []diagnose.Finding {
	out := slices.Clone(trace)
	for _, f := range live {
		if !slices.ContainsFunc(trace, func(other diagnose.Finding) bool { return other.Name == f.Name }) {
			out = append(out, f)
		}
	}
	return out
}
