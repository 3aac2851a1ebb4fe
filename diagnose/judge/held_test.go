package judge

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
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

// A call of the program's that waits for other ranks is named, where there are some.
func TestRanksHoldEachOther(t *testing.T) {
	for _, several := range []bool{true, false} {
		of := diagnose.NewCase()
		of.Idle, of.SeveralRanks = 0.4, several
		line := diagnose.LoopLine{Seconds: 12, Locked: 12, Asleep: 12}
		line.Kind, line.Own = diagnose.Collective, recording.Place{File: "/train.py", Line: 44}
		line.Share = stoker.Interval{Low: 0.35, Point: 0.4, High: 0.45}
		of.LoopLines = diagnose.LoopLines{Looks: 200, Seconds: 30, Lines: []diagnose.LoopLine{line}}
		held := findHeld(of)
		if found := held != nil; found != several || found && held[0].Signal != diagnose.SignalRanks {
			t.Errorf("several ranks %v: %v", several, held)
		}
	}
}

// Waits that take longer in all than the device works are short ones. The line on which the thread wakes most is named.
func TestShortWaitsAreHeld(t *testing.T) {
	wait := func(line int, seconds, asleep float64) diagnose.LoopLine {
		l := diagnose.LoopLine{Seconds: seconds, Asleep: asleep}
		l.Kind, l.Own, l.Share = diagnose.DeviceWait, recording.Place{File: "/train.py", Line: line}, stoker.Interval{Low: 0.3, Point: 0.4, High: 0.5}
		return l
	}
	for idle, want := range map[float64]bool{0.45: true, 0.1: false, 0.25: false} {
		of := diagnose.NewCase()
		of.Idle = idle
		of.LoopLines = diagnose.LoopLines{Looks: 200, Seconds: 30, Lines: []diagnose.LoopLine{wait(66, 14, 14), wait(34, 10, 7)}}
		held := findHeld(of)
		if found := held != nil; found != want || found && !strings.Contains(held[0].Text, "/train.py:34") {
			t.Errorf("idle %v: %v", idle, held)
		}
	}
}
