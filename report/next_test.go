package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
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

// The second change of a plan stands beside the first if it may gain much. Its own way of making a line cheaper is said
// with it.
func TestTheSecondChangeIsSaidIfItGainsMuch(t *testing.T) {
	bound := func(high float64) predict.Forecast {
		f := predict.NoForecast()
		f.Speedup.Low, f.Speedup.High = 1, high
		return f
	}
	workers := advise.Fix{Title: "load in worker processes", Forecast: bound(2)}
	line := advise.Fix{Name: diagnose.SlowTransform, Title: "make this line cheaper: a.py:3 f", Notes: []string{"call it once"}}
	machine := advise.Fix{Title: "a machine with more cores", Effort: advise.Machine, Forecast: bound(3)}
	for _, c := range []struct {
		second advise.Fix
		gain   float64
		want   string
	}{
		{line, 1.5, "make this line cheaper: a.py:3 f: at most 1.50x faster. Call it once"},
		{line, 1.1, ""},
		{machine, 3, ""},
	} {
		c.second.Forecast = bound(c.gain)
		plan := advise.Plan{Fixes: []advise.Fix{workers, c.second}}
		v := diagnose.Verdict{Class: diagnose.MainThread, Device: -1}
		if lead := report.LeadOf(&recording.Run{}, v, plan, ""); lead.Then != c.want {
			t.Errorf("%s at %v: %q, want %q", c.second.Title, c.gain, lead.Then, c.want)
		}
	}
}

// Two formats of numbers speed up the same work: the second one is no further gain.
func TestOneFormatOfNumbersIsSaid(t *testing.T) {
	fix := func(s stoker.Setting, to any) advise.Fix {
		f := advise.Fix{Name: string(s), Changes: []stoker.Change{{Setting: s, To: to}}, Forecast: predict.NoForecast()}
		f.Forecast.Speedup.High = 4
		return f
	}
	half, tf32 := fix(stoker.Precision, "bf16"), fix(stoker.TF32, true)
	for want, second := range map[string]advise.Fix{"": tf32, "batch_size": fix(stoker.BatchSize, 8)} {
		v := diagnose.Verdict{Class: diagnose.GPUBound, Device: -1}
		lead := report.LeadOf(&recording.Run{}, v, advise.Plan{Fixes: []advise.Fix{half, second}}, "")
		if !strings.HasPrefix(lead.Then, want) || want == "" && lead.Then != "" {
			t.Errorf("%q, want %q", lead.Then, want)
		}
	}
}

// Where nothing decides but a change has a cause, input is named only if it is most of what the device waits for.
func TestAKnownCauseNamesWhatTheDeviceWaitsFor(t *testing.T) {
	plan := advise.Plan{Fixes: []advise.Fix{{Name: diagnose.FindingTinyCopies, Cause: true, Notes: []string{"small copies"}}}}
	for want, stall := range map[string]float64{
		"waits for input 15 % of the time: small copies": 0.15, "is idle 20 % of the time: small copies": 0.03,
	} {
		for _, v := range []float64{stall, math.NaN()} {
			lead := report.LeadOf(&recording.Run{}, diagnose.Verdict{Class: diagnose.Unknown, Idle: 0.2, Stall: v}, plan, "")
			if v == stall && !strings.Contains(lead.Why, want) || v != stall && !strings.Contains(lead.Why, "is idle 20 %") {
				t.Errorf("%v: %q, want %q", v, lead.Why, want)
			}
		}
	}
}

// A change that alters what is learned says so where it is said first, and not only in the plan.
func TestWhatAltersTrainingIsSaidWithIt(t *testing.T) {
	for risk, said := range map[advise.Risk]bool{advise.LearningRisk: true, advise.MemoryRisk: false} {
		fix := advise.Fix{Title: "more work per launch", Risk: risk, Forecast: predict.NoForecast()}
		lead := report.LeadOf(&recording.Run{}, diagnose.Verdict{Class: diagnose.LaunchBound}, advise.Plan{Fixes: []advise.Fix{fix}}, "")
		if strings.Contains(lead.Next, "The optimizer sees other batches") != said {
			t.Errorf("%s: %q", risk, lead.Next)
		}
	}
}
