package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/replay"
)

// A page does not recommend a setting that it rejects further down.
func TestNextIsNotWhatThePlanRejects(t *testing.T) {
	v := diagnose.Verdict{Class: diagnose.TransferBound, Device: 0, Stall: math.NaN(), Idle: math.NaN()}
	plan := advise.Plan{
		Replay:   &replay.Check{},
		Rejected: []advise.Rejected{{Name: string(stoker.PinMemory), Why: "no measurable gain (1.01x in the replay)"}},
	}
	if next, _ := sayNext(v, plan, ""); strings.Contains(next, "pin_memory") {
		t.Errorf("next: %q, and the plan rejects pin_memory", next)
	}
	if next, _ := sayNext(v, advise.Plan{Replay: plan.Replay}, ""); !strings.Contains(next, "pin_memory") {
		t.Errorf("next: %q, want the class's own words", next)
	}
	v.Grounds.Traffic = diagnose.Traffic{Full: true}
	if next, _ := sayNext(v, plan, ""); !strings.Contains(next, "send fewer bytes") {
		t.Errorf("next: %q, want fewer bytes", next)
	}
}
