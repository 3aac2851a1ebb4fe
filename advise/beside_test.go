package advise

import (
	"math"
	"testing"

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
