package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
)

// What to do first is what the file says, where the words of a class say less: kernels that leave the device empty,
// memory that is allocated again and again.
func TestTheLeadingFindingIsNext(t *testing.T) {
	grids := diagnose.Finding{Name: diagnose.FindingSmallGrids, Share: 0.9, Advice: "more work per launch"}
	allocator := diagnose.Finding{Name: diagnose.FindingAllocator, Share: 0.8, Advice: "allocate once"}
	host := diagnose.Finding{Name: diagnose.FindingHostWork, Share: 0.1, Advice: "do it less often"}
	for name, c := range map[string]struct {
		class    diagnose.Class
		findings []diagnose.Finding
		want     string
	}{
		"an empty device":     {diagnose.GPUBound, []diagnose.Finding{host, grids}, "more work per launch"},
		"a full device":       {diagnose.GPUBound, []diagnose.Finding{host}, "nothing on the host's side"},
		"kernels beside it":   {diagnose.GPUBound, []diagnose.Finding{host, allocator}, "allocate once"},
		"allocations":         {diagnose.CPUBound, []diagnose.Finding{allocator, host}, "allocate once"},
		"the host's own work": {diagnose.CPUBound, []diagnose.Finding{host, allocator}, "do it ahead"},
		"gaps beside kernels": {diagnose.GPUBound, []diagnose.Finding{host}, "1.25x as fast at most"},
		"few gaps":            {diagnose.GPUBound, []diagnose.Finding{host}, "1.09x as fast at most"},
		"little to hide":      {diagnose.CPUBound, []diagnose.Finding{host}, "too little to hide it behind"},
	} {
		v := diagnose.Verdict{Class: c.class, Device: 0, Findings: c.findings}
		switch name {
		case "gaps beside kernels":
			v.Idle = 0.2
		case "few gaps":
			v.Idle = 0.08
		case "little to hide":
			v.Shares.Kernel = 0.02
		}
		if next, _ := sayNext(v, advise.Plan{}, "FILE"); !strings.Contains(next, c.want) {
			t.Errorf("%s: %q, want %q", name, next, c.want)
		}
	}
}

// Of a run whose device is busy in its steps, what it did before them comes first, with its worth.
func TestAStartBesideBusySteps(t *testing.T) {
	v := diagnose.Verdict{Class: diagnose.GPUBound, Device: -1, Findings: []diagnose.Finding{{
		Name: diagnose.FindingSlowStart, Source: "data.py:20", Seconds: 5, Share: 0.2, Advice: diagnose.SlowStartAdvice,
	}}}
	next, _ := sayNext(v, advise.Plan{}, "FILE")
	if !strings.HasPrefix(next, "Starting takes 5 s at data.py:20") || !strings.Contains(next, "at most 1.25x faster") {
		t.Errorf("said: %q", next)
	}
}

// An epoch's time says what is not in it.
func TestAnEpochSaysWhatItLeavesOut(t *testing.T) {
	train := diagnose.Row{Name: diagnose.RowTraining, Seconds: 10}
	for seconds, want := range map[float64]string{0: "", 20: "evaluation"} {
		evaluation := diagnose.Row{Name: diagnose.RowEvaluation, Seconds: seconds}
		if got := besideEpoch(diagnose.Ledger{Rows: []diagnose.Row{train, evaluation}}); got != want {
			t.Errorf("beside %v s of evaluation: %q, want %q", seconds, got, want)
		}
	}
}

// A program that nothing shows to train is told what a larger batch means if it does.
func TestTheRiskOfBatches(t *testing.T) {
	for lossless, want := range map[bool]string{true: "if it trains, the optimizer", false: "the optimizer"} {
		if said := SayRisk(advise.Fix{Risk: advise.LearningRisk, Lossless: lossless}); !strings.HasPrefix(said, want) {
			t.Errorf("%v: %q, want %q", lossless, said, want)
		}
	}
}

// The first line of evidence is not said again where the lead has it.
func TestEvidenceIsSaidOnce(t *testing.T) {
	v := diagnose.Verdict{Class: diagnose.Unknown, Idle: math.NaN(), Stall: math.NaN(), Evidence: []diagnose.Evidence{
		{Text: "no work of a device"}, {Text: "the loop is inside its loader"},
	}}
	if further := FurtherEvidence(v); len(further) != 1 || further[0] != "the loop is inside its loader" {
		t.Errorf("%q", further)
	}
}

// Advice on the host's work is denied by what the plan says of it.
func TestDeniedHostWork(t *testing.T) {
	f := diagnose.Finding{Name: diagnose.FindingHostWork, Advice: "do it in another thread"}
	plan := advise.Plan{Rejected: []advise.Rejected{{Name: advise.Overlap, Why: "the host reads results", Gate: advise.Program}}}
	if set, denied := AdviceOn(f, plan); set != "" || !strings.Contains(denied, "reads results") {
		t.Errorf("%q, %q", set, denied)
	}
	if set, _ := AdviceOn(f, advise.Plan{}); set != f.Advice {
		t.Errorf("%q", set)
	}
}
