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
	}{{0.6, 0.2, true}, {0.2, 0.2, false}, {0.6, 0.05, false}, {0.6, 0.09, false}, {0.6, 0.11, true}} {
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
	for idle, found := range map[float64]bool{0.4: true, 0.25: false} { // 0.2 of it for input
		of := diagnose.NewCase()
		of.Idle, of.Stall = idle, 0.2
		of.Findings = []diagnose.Finding{{Name: diagnose.FindingManyReads, Share: 0.5}}
		if (findHeld(of) != nil) != found {
			t.Errorf("many reads, and %v idle: %v", idle, findHeld(of))
		}
	}
	of := diagnose.NewCase()
	of.Findings = []diagnose.Finding{{Name: diagnose.FindingInterpreterLock, Share: 0.4}}
	if held := findHeld(of); len(held) != 1 || held[0].Signal != diagnose.SignalInterpreter {
		t.Errorf("the interpreter lock is %v", held)
	}
}

// A call of the program's that waits for other ranks is named, where there are some, if it has a good part of the looks,
// or most of the time in which the device idles.
func TestRanksHoldEachOther(t *testing.T) {
	for _, c := range []struct {
		several     bool
		share, idle float64
		want        bool
	}{{true, 0.4, 0.4, true}, {false, 0.4, 0.4, false}, {true, 0.28, 0.5, true}, {true, 0.28, 0.7, false}} {
		of := diagnose.NewCase()
		of.Idle, of.SeveralRanks = c.idle, c.several
		line := diagnose.LoopLine{Seconds: 30 * c.share, Locked: 30 * c.share, Asleep: 30 * c.share}
		line.Kind, line.Own = diagnose.Collective, recording.Place{File: "/train.py", Line: 44}
		line.Share = stoker.Interval{Low: c.share - 0.05, Point: c.share, High: c.share + 0.05}
		of.LoopLines = diagnose.LoopLines{Looks: 200, Seconds: 30, Lines: []diagnose.LoopLine{line}}
		held := findHeld(of)
		if found := held != nil; found != c.want || found && held[0].Signal != diagnose.SignalRanks {
			t.Errorf("%+v: %v", c, held)
		}
	}
}

// A thread that sleeps for a server's answer while its device idles is held by that. One on a core is not.
func TestAnswersHold(t *testing.T) {
	for name, c := range map[string]struct {
		kind   diagnose.Kind
		asleep float64
		want   bool
	}{
		"a server": {diagnose.Uploading, 14, true}, "a database": {diagnose.Queries, 14, true},
		"on a core": {diagnose.Uploading, 1, false}, "a figure": {diagnose.Plotting, 14, false},
	} {
		of := diagnose.NewCase()
		of.Idle = 0.5
		line := diagnose.LoopLine{Seconds: 15, Asleep: c.asleep}
		line.Kind, line.Own, line.Share = c.kind, recording.Place{File: "/train.py", Line: 9}, stoker.Interval{Low: 0.4, Point: 0.5, High: 0.6}
		of.LoopLines = diagnose.LoopLines{Looks: 200, Seconds: 30, Lines: []diagnose.LoopLine{line}}
		if held := findHeld(of); (held != nil) != c.want {
			t.Errorf("%s: %v", name, held)
		}
	}
}

// A thread that waits for what another thread makes is held by that, unless the device works meanwhile.
func TestAnotherThreadHolds(t *testing.T) {
	for name, c := range map[string]struct {
		device float64 // share of the looks that wait for it
		want   string
	}{"the device works while it is waited for": {0.59, "serve.py:41"}, "it works while the queue is empty": {0.02, ""}} {
		line := func(number int, kind diagnose.Kind, share float64) diagnose.LoopLine {
			l := diagnose.LoopLine{Seconds: 30 * share, Asleep: 30 * share}
			l.Kind, l.Own = kind, recording.Place{File: "/app/serve.py", Line: number}
			l.Share = stoker.Interval{Low: share - 0.05, Point: share, High: share + 0.05}
			return l
		}
		of := diagnose.NewCase()
		of.Idle = 0.56
		of.LoopLines = diagnose.LoopLines{Looks: 400, Seconds: 30, Lines: []diagnose.LoopLine{
			line(31, diagnose.DeviceWait, c.device), line(41, diagnose.Locking, 0.4),
		}}
		held := findHeld(of)
		if (held != nil) != (c.want != "") || held != nil && !strings.Contains(held[0].Text, c.want) {
			t.Errorf("%s: %v, expected %q", name, held, c.want)
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

// Reads at two lines of each pass, whose looks are too few for one of them to decide, hold the thread together.
func TestReadsAtTwoLinesHold(t *testing.T) {
	for second, want := range map[float64]bool{0.16: true, 0.05: false} {
		wait := func(number int, share float64) diagnose.LoopLine {
			l := diagnose.LoopLine{Seconds: 15 * share, Asleep: 15 * share}
			l.Kind, l.Own = diagnose.DeviceWait, recording.Place{File: "/generate.py", Line: number}
			l.Share = stoker.Interval{Low: share * 0.7, Point: share, High: share * 1.4}
			return l
		}
		of := diagnose.NewCase()
		of.Idle = 0.4
		of.LoopLines = diagnose.LoopLines{Looks: 64, Seconds: 15, Lines: []diagnose.LoopLine{wait(39, 0.43), wait(46, second)}}
		held := findHeld(of)
		if (held != nil) != want || want && !strings.Contains(held[0].Text, "/generate.py:46") {
			t.Errorf("%v at the second line: %v", second, held)
		}
	}
}

// Ranks that wait for each other are named before a longer wait that the device's own work fills.
func TestRanksHoldBesideTheDevicesWork(t *testing.T) {
	for busy, want := range map[float64]string{0.72: diagnose.SignalRanks, 0.4: diagnose.SignalHeld} {
		line := func(number int, kind diagnose.Kind, share float64) diagnose.LoopLine {
			l := diagnose.LoopLine{Seconds: 16 * share, Asleep: 16 * share}
			l.Kind, l.Own = kind, recording.Place{File: "/train.py", Line: number}
			l.Share = stoker.Interval{Low: share - 0.08, Point: share, High: share + 0.08}
			return l
		}
		of := diagnose.NewCase()
		of.Idle, of.SeveralRanks = 1-busy, true
		of.LoopLines = diagnose.LoopLines{Looks: 66, Seconds: 16, Lines: []diagnose.LoopLine{
			line(49, diagnose.DeviceWait, 0.75), line(41, diagnose.Collective, 0.19),
		}}
		if held := findHeld(of); len(held) != 1 || held[0].Signal != want {
			t.Errorf("busy %v: %+v, expected %s", busy, held, want)
		}
	}
}

// Copies of tensors that a step makes on the CPU are named where they take more than a device idles, and a tenth.
func TestCopiesStandOut(t *testing.T) {
	for _, c := range []struct {
		share, idle float64
		want        diagnose.Class
	}{{0.14, 0.002, diagnose.TransferBound}, {0.14, 0.3, diagnose.Unknown}, {0.06, 0.002, diagnose.Unknown}} {
		f := diagnose.NewFinding(diagnose.FindingHostTensors)
		f.Share = c.share
		of := diagnose.NewCase()
		of.Findings, of.Idle = []diagnose.Finding{f}, c.idle
		if class, _ := standsOut(of); class != c.want {
			t.Errorf("%+v: %s", c, class)
		}
	}
}

// A thread that waits for the device, and works a little at many lines meanwhile, is held by the device. A function
// that has half of the idle time is named instead.
func TestHeldInsteadOfSpreadWork(t *testing.T) {
	line := func(function string, kind diagnose.Kind, share float64) diagnose.LoopLine {
		l := diagnose.LoopLine{Seconds: 30 * share}
		l.Kind, l.Own = kind, recording.Place{File: "/train.py", Line: 41, Function: function}
		l.Share = stoker.Interval{Low: share * 0.8, Point: share, High: share * 1.2}
		return l
	}
	of := diagnose.NewCase()
	of.Idle = 0.3
	for work, want := range map[float64]bool{0.1: true, 0.2: false} {
		of.LoopLines = diagnose.LoopLines{Looks: 150, Seconds: 30, Lines: []diagnose.LoopLine{
			line("index", diagnose.DeviceWait, 0.7), line("prepare", diagnose.HostCode, work), line("step", diagnose.HostCode, 0.05),
		}}
		if held := heldInstead(of); (held != nil) != want {
			t.Errorf("a function works %v of the time: %v", work, held)
		}
	}
	of.LoopLines.Lines[1].Seconds, of.SeveralRanks = 3, true
	if held := heldInstead(of); held != nil {
		t.Errorf("ranks may wait for each other: %v", held)
	}
	of.Findings = []diagnose.Finding{{Name: diagnose.FindingInterpreterLock, Share: 0.3}}
	if held := heldInstead(of); len(held) != 1 || held[0].Signal != diagnose.SignalInterpreter {
		t.Errorf("the interpreter lock: %v", held)
	}
}
