package judge

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// Waiting for the device is named where no rule decides, if it holds much of a step and leaves the device idle.
func TestFindHeld(t *testing.T) {
	for _, c := range []struct {
		share, saves float64
		found        bool
	}{{0.6, 0.2, true}, {0.2, 0.2, false}, {0.6, 0.05, false}} {
		f := diagnose.NewFinding(diagnose.FindingHiddenSync)
		f.Share, f.Saves = c.share, c.saves
		of := diagnose.NewCase()
		of.Findings = []diagnose.Finding{f}
		if found := findHeld(of) != nil; found != c.found {
			t.Errorf("%+v is found: %v", c, found)
		}
		if of.Requests.None = 0; findHeld(of) != nil {
			t.Errorf("%+v is found of a server", c)
		}
	}
	of := diagnose.NewCase()
	of.Findings = []diagnose.Finding{{Name: diagnose.FindingInterpreterLock, Share: 0.4}}
	if held := findHeld(of); len(held) != 1 || held[0].Signal != diagnose.SignalInterpreter {
		t.Errorf("the interpreter lock is %v", held)
	}
}
