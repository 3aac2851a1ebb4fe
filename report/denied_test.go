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

// Beside a late rank a gain that is only bounded is no first thing to do: the others wait all the same.
func TestLateRankComesBeforeABound(t *testing.T) {
	for point, want := range map[float64]bool{1.5: true, math.NaN(): false} {
		fix := advise.Fix{Name: string(stoker.SyncEvery)}
		fix.Forecast.Speedup = stoker.Interval{Low: 1, Point: point, High: 2}
		plan := advise.Plan{Fixes: []advise.Fix{fix}}
		if leads := LeadsWithFix(diagnose.Verdict{Class: diagnose.StragglerRank}, plan); leads != want {
			t.Errorf("a likely gain of %v: leads %v", point, leads)
		}
		if !LeadsWithFix(diagnose.Verdict{Class: diagnose.GPUBound}, plan) {
			t.Errorf("a likely gain of %v does not lead beside another class", point)
		}
	}
}
