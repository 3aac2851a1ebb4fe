package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// What the plan refuses for the kind of program is not named as what to do next.
func TestNextNamesNothingThatAGateRefuses(t *testing.T) {
	for gate, want := range map[advise.Gate]string{advise.Program: "no change is named: it measures", advise.Physics: "CUDA graphs"} {
		v := diagnose.Verdict{Class: diagnose.LaunchBound}
		plan := advise.Plan{Replay: &replay.Check{}, Rejected: []advise.Rejected{{Name: "compile", Why: "it measures an operator", Gate: gate}}}
		if lead := report.LeadOf(&recording.Run{}, v, plan, ""); !strings.Contains(lead.Next, want) {
			t.Errorf("%s: %q, want %q", gate, lead.Next, want)
		}
	}
}

// A program without a loader is not said to wait 0 % for input.
func TestWithoutALoaderNothingIsSaidOfInput(t *testing.T) {
	for loads, said := range map[bool]bool{true: true, false: false} {
		v := diagnose.Verdict{Class: diagnose.Unknown, Idle: 0.8, Grounds: diagnose.Grounds{Loads: loads}}
		if lead := report.LeadOf(&recording.Run{}, v, advise.Plan{}, ""); strings.Contains(lead.Why, "waits for input 0 %") != said {
			t.Errorf("a loader %v: %q", loads, lead.Why)
		}
	}
	v := diagnose.Verdict{Class: diagnose.GPUBound, Stall: math.NaN()}
	if text := report.SayWhatElse(v); strings.Contains(text, "input") {
		t.Error(text)
	}
}
