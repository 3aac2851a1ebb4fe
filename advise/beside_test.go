package advise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Where other programs have the cores, the program's own work beside its steps is named as well, if it has a twentieth
// of the run.
func TestOwnWorkBesideOthers(t *testing.T) {
	line := diagnose.Line{Own: recording.Place{File: "/train.py", Line: 9, Function: "keep"}, Kind: diagnose.DeepCopies}
	for name, c := range map[string]struct {
		class diagnose.Class
		saves float64
		kind  diagnose.Kind
		fixes int
		at    string
	}{
		"much":           {diagnose.Neighbour, 12, diagnose.DeepCopies, 1, "train.py:9"},
		"little":         {diagnose.Neighbour, 3, diagnose.DeepCopies, 0, ""},
		"the next batch": {diagnose.Neighbour, 12, diagnose.Awaiting, 0, ""},
		"a free machine": {diagnose.TooFewWorkers, 12, diagnose.DeepCopies, 0, ""},
	} {
		between := diagnose.Row{Name: diagnose.RowBetween, Seconds: c.saves, Saves: c.saves, Line: line}
		between.Line.Kind = c.kind
		var a adviser
		a.verdict.Class = c.class
		a.verdict.Ledger = diagnose.Ledger{Wall: 100, Rows: []diagnose.Row{{Name: diagnose.RowTraining, Seconds: 100 - c.saves, Saves: 30}, between}}
		plan := a.leadWith(Plan{})
		if len(plan.Fixes) != c.fixes {
			t.Errorf("%s: %+v", name, plan.Fixes)
			continue
		}
		for _, f := range plan.Fixes {
			if f.At != c.at || math.Abs(f.Run.High-1/0.88) > 1e-6 {
				t.Errorf("%s: at %s, at most %v", name, f.At, f.Run.High)
			}
		}
	}
}

// Fewer checkpoints lose more work, and the first line of a fix that saves less often says so.
func TestFewerCheckpointsLoseMore(t *testing.T) {
	row := diagnose.Row{Name: diagnose.RowCheckpoint, Seconds: 20, Saves: 20}
	var a adviser
	a.verdict.Lead = &diagnose.Lead{Row: row, Class: diagnose.InCheckpoints, Most: 1.25, Every: math.NaN()}
	a.verdict.Ledger = diagnose.Ledger{Wall: 100, Rows: []diagnose.Row{{Name: diagnose.RowTraining, Seconds: 80}, row}}
	if plan := a.leadWith(Plan{}); len(plan.Fixes) != 1 || !strings.Contains(plan.Fixes[0].Mind, "last checkpoint") {
		t.Errorf("%+v", plan.Fixes)
	}
}

// Workers of an evaluation loader that start again for each evaluation are late with its first batch.
func TestEvaluationsWorkersStay(t *testing.T) {
	const where = "/train.py:16"
	for name, c := range map[string]struct {
		first, other float64
		stays        bool
		want         bool
	}{
		"each first batch is late": {1.2, 0.01, false, true},
		"all batches are":          {0.2, 0.2, false, false},
		"workers stay":             {1.2, 0.01, true, false},
	} {
		run := &recording.Run{}
		run.Facts.Loaders = []recording.Loader{{PID: 7, ID: 1, Where: where, Settings: stoker.Settings{
			stoker.NumWorkers: 1, stoker.PersistentWorkers: c.stays,
		}}}
		for i := range 20 {
			s := recording.Step{PID: 7, Loader: 1, Phase: recording.Evaluate, Period: 0.1 + c.other, Wait: c.other, Idle: math.NaN()}
			if s.First = i%10 == 0; s.First {
				s.Period, s.Wait = 0.1+c.first, c.first
			}
			run.Steps = append(run.Steps, s)
		}
		a := adviser{run: run}
		a.costs.Window.PID, a.costs.Workers = 7, 1
		row := diagnose.Row{
			Name: diagnose.RowEvaluation, Seconds: 4, Saves: 3, Idle: 3, Waits: []diagnose.Wait{{For: diagnose.WaitInput, Seconds: 3}},
			Line: diagnose.Line{Kind: diagnose.Awaiting, Own: recording.Place{File: "/train.py", Line: 16, Function: "validate"}},
		}
		a.verdict.Ledger = diagnose.Ledger{Wall: 24, Rows: []diagnose.Row{{Name: diagnose.RowTraining, Seconds: 20}, row}}
		a.verdict.Lead = &diagnose.Lead{Row: row, Class: diagnose.InEvaluation, Most: 1.14, Every: math.NaN()}
		plan := a.leadWith(Plan{})
		if got := len(plan.Fixes) > 0 && slices.ContainsFunc(plan.Fixes[0].Changes, func(c stoker.Change) bool {
			return c.Setting == stoker.PersistentWorkers
		}); got != c.want {
			t.Errorf("%s: %+v", name, plan.Fixes)
		}
	}
}
