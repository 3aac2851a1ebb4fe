package ledger

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// A row that loses little may lead a run whose steps have no known limit, and no other.
func TestSmallRowsLeadWhereNothingElseIsKnown(t *testing.T) {
	saving := diagnose.Row{Name: diagnose.RowCheckpoint, Seconds: 8, Idle: 7, Saves: 7}
	l := diagnose.Ledger{Wall: 100, Rows: []diagnose.Row{saving, {Name: diagnose.RowTraining, Seconds: 92}}}
	for class, want := range map[diagnose.Class]bool{diagnose.Unknown: true, diagnose.GPUBound: false} {
		if got := canLead(l, &saving, class); got != want {
			t.Errorf("7 %% beside %s may lead: %v, want %v", class, got, want)
		}
	}
	saving.Saves = 4
	if canLead(l, &saving, diagnose.Unknown) {
		t.Error("4 % lead")
	}
}
