package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/recording"
)

// Nothing is said about a setting of a DataLoader that nobody saw, whether the hook was
// there to see it or not.
func TestNoSettingOfALoaderThatWasNotSeen(t *testing.T) {
	for name, hear := range map[string]func(*recording.Facts){
		"hook":    func(*recording.Facts) {},
		"silence": func(f *recording.Facts) { f.Model, f.Processes[0].Hooked = nil, false }, // inference, or another framework
		"no hook": func(f *recording.Facts) {
			f.Model, f.Processes[0].Hooked = nil, false
			f.Absent = []recording.Absence{{What: "hook", Why: "--no-hook"}}
		},
	} {
		run := liveRun(t)
		run.Steps, run.Facts.Loaders = nil, nil
		hear(&run.Facts)
		v := judge.Judge(run)
		plan := Rank(run, v)
		if len(plan.Fixes) == 0 || len(v.Evidence) == 0 {
			t.Fatalf("%s: no advice and %d reasons of class %s; scores %v", name, len(v.Evidence), v.Class, v.Scores)
		}
		said := fmt.Sprint(v.Evidence, plan)
		if want := map[bool]diagnose.Class{true: diagnose.MainThread, false: diagnose.CPUBound}[name == "no hook"]; v.Class != want {
			t.Errorf("%s: class %s, want %s; scores %v", name, v.Class, want, v.Scores)
		}
		if rule, _ := rules.FindRule(v.Class); strings.Contains(said+rule.Text, string(stoker.NumWorkers)) || len(plan.Fixes[0].Changes) > 0 {
			t.Errorf("%s: %s names num_workers: %s %+v", name, v.Class, rule.Text, plan)
		}
	}
}

// What a collate_fn of the program's own does, such as tokenising, has no setting: it is
// advised in words, with a bound. PyTorch's own is left alone.
func TestTokenisingInCollate(t *testing.T) {
	for _, own := range [][]string{{"collate_fn"}, nil} {
		run := liveRun(t)
		wall := run.Find(recording.FetchWall, "process/100")
		run.Series = append(run.Series, recording.Series{Signal: recording.FetchCollate, Subject: "process/100", T: wall.T, V: wall.V})
		run.Facts.Loaders[0].Own = own
		plan := Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f Fix) bool { return f.Name == "collate_fn" })
		if (at >= 0) != (own != nil) {
			t.Fatalf("own %v: fixes %v", own, names(plan.Fixes))
		}
		if at < 0 {
			continue
		}
		if s := plan.Fixes[at].Forecast.Speedup; s.Known() || !(s.High > 5.9 && s.High < 6.1) || len(plan.Fixes[at].Changes) > 0 {
			t.Errorf("speed-up %+v, want at most 6 and no point; changes %v", s, plan.Fixes[at].Changes)
		}
	}
}

// Tokens are spoken of only where a tokenizer is seen at work: a collate_fn that puts
// graphs together has none.
func TestTokensOnlyOfATokenizer(t *testing.T) {
	run := liveRun(t)
	wall := run.Find(recording.FetchWall, "process/100")
	run.Series = append(run.Series, recording.Series{Signal: recording.FetchCollate, Subject: "process/100", T: wall.T, V: wall.V})
	run.Facts.Loaders[0].Own = []string{"collate_fn"}
	for _, lines := range [][]diagnose.Line{nil, {{Kind: diagnose.Tokenizer}}} {
		v := judge.Judge(run)
		v.Lines = lines
		plan := Rank(run, v)
		at := slices.IndexFunc(plan.Fixes, func(f Fix) bool { return f.Name == "collate_fn" })
		if at < 0 {
			t.Fatalf("fixes %v", names(plan.Fixes))
		}
		if said := strings.Contains(strings.Join(plan.Fixes[at].Notes, " "), "token"); said != (lines != nil) {
			t.Errorf("lines %v: %s: %q", lines, plan.Fixes[at].Title, plan.Fixes[at].Notes)
		}
	}
}

// The line of a collate_fn is named, where looks at workers find one.
func TestLineOfCollate(t *testing.T) {
	run := liveRun(t)
	wall := run.Find(recording.FetchWall, "process/100")
	run.Series = append(run.Series, recording.Series{Signal: recording.FetchCollate, Subject: "process/100", T: wall.T, V: wall.V})
	run.Facts.Loaders[0].Own = []string{"collate_fn"}
	v := judge.Judge(run)
	v.Lines = []diagnose.Line{{
		Own: recording.Place{File: "/home/me/train.py", Line: 24, Function: "batchify"}, Kind: diagnose.Code,
		Share: stoker.Interval{Low: 0.9, Point: 0.95, High: 1},
	}}
	at := slices.IndexFunc(Rank(run, v).Fixes, func(f Fix) bool { return strings.Contains(f.Title, "train.py:24 batchify") })
	if at < 0 {
		t.Errorf("no fix names the line of collate_fn: %+v", Rank(run, v).Fixes)
	}
}

// onCPU is the live run as it would be with its model on the CPU: a step of 75 ms, of
// which the launching thread loads for 50, on a core or asleep, and computes for 25 on two.
func onCPU(t *testing.T, cores int, asleep bool) *recording.Run {
	t.Helper()
	run := liveRun(t)
	step, fetch, core := 0.075, 0.050, 0.050
	if asleep {
		core = 0.001
	}
	run.Facts.GPUs, run.Facts.Model = nil, &recording.ModelFacts{Device: "cpu", DType: "float32", Steps: 700}
	run.Facts.Machine.Allowed, run.Facts.Machine.CPUs, run.Facts.Machine.PhysCores = cores, cores, cores
	stretch := step / run.Steps[0].Period
	for i := range run.Steps {
		s := &run.Steps[i]
		s.Start, s.Period, s.Wait, s.Idle, s.DevicePeriod, s.NoClock = s.Start*stretch, step, fetch, math.NaN(), math.NaN(), "no device"
	}
	run.Series = slices.DeleteFunc(run.Series, func(s recording.Series) bool { return strings.HasPrefix(string(s.Signal), "gpu.") })
	run.Facts.Loaders[0].BatchBytes = 1e5
	rate := map[recording.Signal]float64{ // per step
		recording.ThreadCPU: core + 0.025, recording.ProcessCPU: core + 0.050, recording.TreeCPU: core + 0.050, recording.MachineCPU: core + 0.050,
		recording.FetchWall: fetch, recording.FetchCPU: core, recording.FetchCount: 1,
	}
	all := run.Find(recording.TreeCPU, "tree")
	run.Series = append(run.Series, recording.Series{Signal: recording.ThreadCPU, Subject: "thread/100", T: slices.Clone(all.T), V: slices.Clone(all.V)})
	for i := range run.Series {
		s := &run.Series[i]
		for j := range s.T {
			s.T[j] *= stretch
			if grows, known := rate[s.Signal]; known {
				s.V[j] = s.T[j] * grows / step
			}
		}
	}
	return run
}

// A model on the CPU is the deeper cause; what limits the run as it is stands beside it,
// with its gain. The threads that help with the model's operations do not load.
func TestWhatLimitsAModelOnTheCPU(t *testing.T) {
	for _, test := range []struct {
		cores  int
		asleep bool
		want   float64
	}{{2, false, 1.5}, {8, false, 3}, {2, true, 2.9}} {
		run := onCPU(t, test.cores, test.asleep)
		v := judge.Judge(run)
		if v.Class != diagnose.ComputeOnCPU {
			t.Fatalf("class %s; scores %v", v.Class, v.Scores)
		}
		if !slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == "input-wait" && f.Share > 0.66 && f.Share < 0.67 }) {
			t.Errorf("no finding says that two thirds of a step wait for input: %v", v.Findings)
		}
		fix := fixOf(t, run, stoker.NumWorkers)
		if s := fix.Forecast.Speedup; !s.Contains(test.want) || s.High/s.Low > 1.6 {
			t.Errorf("%+v: %+v of %v does not contain the gain or is wider than 1.6", test, s, fix.Changes)
		}
	}
}

// A Python program that was attached to, with no GPU in sight: full cores are no sign
// of a device that waits, and nothing is advised.
func TestFullCoresAloneAreNoVerdict(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders, run.Facts.GPUs, run.Facts.Model = nil, nil, nil, nil
	run.Facts.Processes[0].Hooked, run.Facts.Processes[0].Device = false, -1
	run.Facts.Machine.CPUs, run.Facts.Machine.Allowed = 1, 1
	run.Facts.Absent = []recording.Absence{{What: "hook", Why: "the process was running already"}, {What: "gpu", Why: "none"}}
	run.Series = slices.DeleteFunc(run.Series, func(s recording.Series) bool { return strings.HasPrefix(string(s.Signal), "gpu.") })
	v := judge.Judge(run)
	if v.Class != diagnose.Unknown || v.RunnerUp == diagnose.GPUBound || len(v.Evidence) == 0 || len(Rank(run, v).Fixes) > 0 {
		t.Errorf("class %s, then %s, evidence %v; want unknown with a reason and no advice; scores %v", v.Class, v.RunnerUp, v.Evidence, v.Scores)
	}
}
