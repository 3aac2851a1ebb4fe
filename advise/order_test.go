package advise

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// One order comes out, whatever goes in: three fixes, and some that are
// bounded only.
func TestOrderOfFixes(t *testing.T) {
	fix := func(name string, gain float64, e Effort) Fix {
		f := predict.NoForecast()
		f.Speedup = stoker.Interval{Low: gain - 0.05, Point: gain, High: gain + 0.05}
		return Fix{Name: name, Effort: e, Forecast: f}
	}
	atMost := func(name string, gain float64) Fix {
		f := fix(name, gain, Flag)
		f.Forecast.Speedup.Point = math.NaN()
		return f
	}
	all := []Fix{
		fix("machine", 1.20, Machine), fix("code", 1.15, Code), fix("flag", 1.10, Flag), atMost("bounded", 3), atMost("bounded less", 2),
	}
	want := []string{"code", "machine", "flag", "bounded", "bounded less"}
	permute(all, func(in []Fix) {
		got := append([]Fix(nil), in...)
		order(got)
		for i, name := range want {
			if got[i].Name != name {
				t.Fatalf("in: %v, out: %v; want %v", names(in), names(got), want)
			}
		}
	})
}

func permute(all []Fix, visit func([]Fix)) {
	var rec func(int)
	rec = func(i int) {
		if i == len(all) {
			visit(all)
			return
		}
		for j := i; j < len(all); j++ {
			all[i], all[j] = all[j], all[i]
			rec(i + 1)
			all[i], all[j] = all[j], all[i]
		}
	}
	rec(0)
}

func names(fixes []Fix) (all []string) {
	for _, f := range fixes {
		all = append(all, f.Name)
	}
	return all
}

// What the verdict is about comes first in a replay's plan, and what changes what the optimizer
// learns from last, however much either is worth.
func TestOrderAfterTheVerdict(t *testing.T) {
	fix := func(setting stoker.Setting, risk Risk, worth float64) Fix {
		f := Fix{Name: string(setting), Risk: risk, Changes: []stoker.Change{{Setting: setting, To: 2}}}
		f.Forecast.Speedup = stoker.Interval{Low: worth, Point: worth, High: worth}
		return f
	}
	plan := Plan{Fixes: []Fix{
		fix(stoker.BatchSize, LearningRisk, 1.9), fix(stoker.SyncEvery, NoRisk, 1.5), fix(stoker.NumWorkers, MemoryRisk, 1.2),
	}}
	for class, want := range map[diagnose.Class][]string{
		diagnose.MainThread:  {"num_workers", "sync_every", "batch_size"},
		diagnose.LaunchBound: {"sync_every", "num_workers", "batch_size"},
	} {
		plan.orderFixes(class)
		var got []string
		for _, f := range plan.Fixes {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", class, got, want)
		}
	}
}

// What reads values less often is said once, and brings no more than the host's other work allows.
func TestReadsBesideTheLead(t *testing.T) {
	at := func(line int) diagnose.Line {
		own := recording.Place{File: "/train.py", Line: line, Function: "train"}
		return diagnose.Line{Own: own, Kind: diagnose.Syncing}
	}
	reads := Fix{Name: "sync_every", At: "train.py:9", Changes: []stoker.Change{{Setting: stoker.SyncEvery, From: 1, To: 50}}}
	reads.Forecast = predict.NoForecast()
	reads.Forecast.Speedup.High = 2.7
	row := diagnose.Row{Name: diagnose.RowBetween, Seconds: 10, Line: at(9)}
	a := adviser{verdict: diagnose.Verdict{
		Lead:   &diagnose.Lead{Row: row, Most: 2},
		Ledger: diagnose.Ledger{Rows: []diagnose.Row{row, {Name: diagnose.RowTraining, Seconds: 5}}},
	}}
	if plan := a.leadWith(Plan{Fixes: []Fix{reads}}); len(plan.Fixes) != 1 {
		t.Errorf("the line that waits for the device is said twice: %v", names(plan.Fixes))
	}
	a.verdict.Lead.Line.Kind, a.verdict.Lead.Line.Own.Line = diagnose.Nearest, 7
	plan := a.leadWith(Plan{Fixes: []Fix{reads}})
	if len(plan.Fixes) != 1 || len(plan.Doubtful) != 1 || plan.Doubtful[0].Forecast.Speedup.High != 1.5 {
		t.Errorf("5 of 15 s are not the host's other work, which may need the values: %+v, %+v", plan.Fixes, plan.Doubtful)
	}
}

// Two lines of known work that prepare most of a batch come before another machine, as a single one does.
func TestTwoWorksBeforeAMachine(t *testing.T) {
	for second, first := range map[diagnose.Kind]string{diagnose.Spectra: diagnose.SlowTransform, diagnose.Code: "cores"} {
		line := func(n int, function string, kind diagnose.Kind) diagnose.Line {
			own := recording.Place{File: "/data.py", Line: n, Function: function}
			return diagnose.Line{Own: own, Kind: kind, Share: stoker.Exactly(0.3)}
		}
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{
			Class: diagnose.CPUExhausted,
			Lines: []diagnose.Line{line(3, "resample", diagnose.Filtering), line(9, "features", second)},
		}}
		fixes := []Fix{{Name: "cores", Title: anotherMachine}, {Name: diagnose.SlowTransform}}
		if a.leadWithLine(fixes); fixes[0].Name != first {
			t.Errorf("%s: %v, want %s first", second, names(fixes), first)
		}
	}
}
