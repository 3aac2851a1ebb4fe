package text

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// A busy share of the steps alone says so where other work leaves the device idle, and the run's stands beside it.
func TestBusyInStepsAlone(t *testing.T) {
	train := diagnose.Row{Name: diagnose.RowTraining, Seconds: 10, Busy: 9, Idle: 1}
	for seconds, want := range map[float64]bool{0: false, 30: true} {
		v := diagnose.Verdict{HasSteps: true, Shares: diagnose.Shares{Kernel: 0.9}}
		v.Ledger.Rows = []diagnose.Row{train, {Name: diagnose.RowEvaluation, Seconds: seconds, Idle: seconds}}
		if got := ofSteps(v) != ""; got != want {
			t.Errorf("beside %v s of evaluation: labelled %t", seconds, got)
		}
		if title := (&page{}).ledger(v).title; strings.Contains(title, "busy 22.5 %") != want {
			t.Errorf("beside %v s of evaluation: %q", seconds, title)
		}
	}
}
