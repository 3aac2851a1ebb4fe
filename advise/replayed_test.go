package advise_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

func readCase(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := trace.Read(context.Background(), []string{filepath.Join("../testdata/cases", name)}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The loops of these traces have one fault each (bench/trace/record.py): the plan
// must hold its cure, worth something, or say that it is worth nothing.
func TestPlanOfATrace(t *testing.T) {
	for name, want := range map[string]string{
		"trace-loader": "num_workers", "trace-workers": "num_workers", "trace-pageable": "pin_memory", "trace-sync": "sync_every",
		"trace-launches": "compile", "trace-precision": "tf32", "trace-chains": "compile", "trace-tiny-copies": "merge_copies",
		"trace-gc": "manual_gc", "trace-allocator": "alloc_conf",
	} {
		run := readCase(t, name)
		plan := advise.Rank(run, judge.Judge(run))
		if plan.Replay == nil || plan.Replay.Bounds() {
			t.Errorf("%s: not replayed: %+v", name, plan.Replay)
			continue
		}
		if !mentions(plan, want) {
			t.Errorf("%s: no %s in %+v", name, want, plan)
		}
		checkPlan(t, name, plan)
	}
}

// Page-locked memory that no loader fills takes the program time that the file does not tell.
func TestWhoFillsPageLockedMemory(t *testing.T) {
	for loader, bounded := range map[bool]bool{true: false, false: true} {
		run := readCase(t, "trace-pageable")
		if !loader {
			run.Facts.Loaders = nil
		}
		plan := advise.Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f advise.Fix) bool { return f.Name == string(stoker.PinMemory) })
		if at < 0 {
			t.Fatalf("loader %v: no pin_memory in %+v", loader, plan)
		}
		if f := plan.Fixes[at]; math.IsNaN(f.Forecast.Speedup.Point) != bounded || (f.Mind != "") != bounded {
			t.Errorf("loader %v: %+v, %q", loader, f.Forecast.Speedup, f.Mind)
		}
	}
}

func mentions(plan advise.Plan, name string) bool {
	for _, f := range plan.Fixes {
		if f.Name == name && f.Forecast.Speedup.Point >= 1.05 {
			return true
		}
	}
	return false
}

// checkPlan holds a plan against its own promises: in order of worth, nothing that
// is not told from noise, intervals in order.
func checkPlan(t *testing.T, name string, plan advise.Plan) {
	t.Helper()
	last := math.Inf(1)
	for _, f := range plan.Fixes {
		s := f.Forecast.Speedup
		if math.IsNaN(s.Point) {
			continue // bounded, not replayed
		}
		if s.Point < 1.05 || s.Low <= 1 || s.Low > s.Point || s.Point > s.High {
			t.Errorf("%s: %s is worth %v", name, f.Name, s)
		}
		if f.Name != advise.Together {
			if s.Point > 1.06*last {
				t.Errorf("%s: %s (%v) comes after %v", name, f.Name, s, last)
			}
			last = s.Point
		}
		if !f.Forecast.Step.Known() {
			t.Errorf("%s: %s does not say how long a step takes: %+v", name, f.Name, f.Forecast)
		}
	}
}

func TestWhatIf(t *testing.T) {
	run := readCase(t, "trace-loader")
	changes, err := replay.Changes("num_workers=4,sync_every=0")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := advise.WhatIf(run, judge.Judge(run), changes)
	if err != nil || len(plan.Fixes) != 1 || plan.Replay == nil {
		t.Fatalf("%+v %v", plan, err)
	}
	if c := plan.Fixes[0].Changes[0]; c.From != 0 || c.To != 4 {
		t.Errorf("change %v", c)
	}
	// 9 ms of device work and a copy remain of 25 ms and more.
	if s := plan.Fixes[0].Forecast.Speedup; s.Point < 2 {
		t.Errorf("speedup %v", s)
	}
	volta := diagnose.Grounds{Chip: diagnose.Chip{Major: 7}}
	for _, c := range []struct {
		asked, refused string
		risk           advise.Risk
		says           string
	}{
		{"num_workers=32", "", advise.MemoryRisk, "workers do as much as 32"},
		{"num_workers=2", "", advise.MemoryRisk, ""},
		{"num_workers=2,batch_size=2x", "", advise.LearningRisk, ""},
		{"tf32=true", "7.0", "", ""},
		{"tf32=true,gpu=h100-sxm", "", advise.NumericsRisk, ""},
		{"precision=fp16", "", advise.NumericsRisk, ""},
	} {
		changes, err := replay.Changes(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := advise.WhatIf(run, diagnose.Verdict{Grounds: volta}, changes)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want a refusal with %q", c.asked, err, c.refused)
			}
			continue
		}
		if err != nil || plan.Fixes[0].Risk != c.risk {
			t.Errorf("%s: %+v %v, want the risk %q", c.asked, plan.Fixes, err, c.risk)
			continue
		}
		mind := plan.Fixes[0].Mind
		if !strings.Contains(mind, c.says) || c.says == "" && strings.Contains(mind, "as much") {
			t.Errorf("%s: first %q, want %q", c.asked, mind, c.says)
		}
		if want := map[bool]advise.Effort{true: advise.Flag, false: advise.Code}[strings.HasPrefix(c.asked, "num_workers")]; !strings.Contains(c.asked, "gpu=") &&
			plan.Fixes[0].Effort != want {
			t.Errorf("%s: effort %q, want %q", c.asked, plan.Fixes[0].Effort, want)
		}
	}
	if _, err := advise.WhatIf(&recording.Run{}, diagnose.Verdict{}, []stoker.Change{{Setting: stoker.NumWorkers, To: 2}}); err == nil {
		t.Error("a run without a timeline was replayed")
	}
}
