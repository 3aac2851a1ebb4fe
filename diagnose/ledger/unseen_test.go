package ledger

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Where no step was seen, names of functions tell evaluation from the rest, which leads if it takes much.
func TestEvaluationBetweenUnseenSteps(t *testing.T) {
	for name, c := range map[string]struct {
		evaluating, seconds float64
		leads               bool
	}{
		"half of the time":      {50, 50, true},
		"little of it":          {10, 10, false},
		"a run that is all one": {90, 90, false},
		"none":                  {0, 0, false},
	} {
		f := filler{Case: &diagnose.Case{}, rows: map[diagnose.RowName]*diagnose.Row{}}
		*f.row(diagnose.RowUnknown) = diagnose.Row{Name: diagnose.RowUnknown, Seconds: 100, Share: 0.5, Busy: 80, Idle: 20}
		f.LoopLines = diagnose.LoopLines{Seconds: 100, Looks: 100, Evaluating: c.evaluating}
		f.LoopLines.Evaluation = recording.Place{File: "/train.py", Line: 7, Function: "evaluate"}
		f.splitUnseen()
		l := diagnose.Ledger{Rows: f.inOrder()}
		r, rest := l.Find(diagnose.RowEvaluation), l.Find(diagnose.RowUnknown)
		if r.Seconds != c.seconds || r.Seconds+rest.Seconds != 100 || c.seconds > 0 && !math.IsNaN(r.Idle) {
			t.Errorf("%s: %+v, %+v", name, r, rest)
		}
		lead := findLeadOfEvaluation(l)
		if (lead != nil) != c.leads || lead != nil && (lead.Line.Own.Line != 7 || lead.Most != 2) {
			t.Errorf("%s: %+v", name, lead)
		}
	}
}
