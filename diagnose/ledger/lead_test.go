package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
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

// A program that takes its inputs from a queue has no fault if none comes. One whose requests are not seen may have.
func TestWhoAsksForInput(t *testing.T) {
	own, get := recording.Place{File: "/app.py", Line: 9}, recording.Place{File: "multiprocessing/queues.py", Function: "Queue.get"}
	for name, c := range map[string]struct {
		line diagnose.Line
		want bool
	}{
		"a queue of processes": {diagnose.Line{Own: own, Call: get, Kind: diagnose.Pickling}, true},
		"a queue of threads":   {diagnose.Line{Own: own, Call: recording.Place{File: "queue.py"}, Kind: diagnose.Locking}, true},
		"a pool's thread":      {diagnose.Line{Call: recording.Place{File: "concurrent/futures/thread.py"}, Kind: diagnose.Locking}, false},
		"an event loop":        {diagnose.Line{Own: own, Call: recording.Place{File: "selectors.py"}, Kind: diagnose.Locking}, false},
		"its own work":         {diagnose.Line{Own: own, Kind: diagnose.Looping}, false},
	} {
		if got := asksForInput(c.line); got != c.want {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}

// The copies of the state that a function makes before it saves go with the checkpoint. The share that is said counts them as the gain does.
func TestSavingWithItsCopies(t *testing.T) {
	saves := recording.Place{File: "/train.py", Line: 70, Function: "Manager.save"}
	copies := recording.Place{File: "/train.py", Line: 69, Function: "Manager.save.<locals>.<dictcomp>"}
	logs := recording.Place{File: "/train.py", Line: 12, Function: "log"}
	saving := diagnose.Row{Name: diagnose.RowCheckpoint, Seconds: 7, Saves: 7, Line: diagnose.Line{Own: saves}}
	for own, want := range map[recording.Place]float64{copies: 12, logs: 7} {
		l := diagnose.Ledger{Rows: []diagnose.Row{saving, {Name: diagnose.RowBetween, Seconds: 5, Saves: 5, Line: diagnose.Line{Own: own}}}}
		if got := withSaving(l, &saving); got.Saves != want || got.Seconds != want {
			t.Errorf("%v: saves %v of %v s, want %v", own, got.Saves, got.Seconds, want)
		}
	}
}

// Of gradients that ranks exchange in each backward those of the optimizer's step stay.
func TestAnExchangeThatStays(t *testing.T) {
	c := &diagnose.Case{}
	for n := range 8 {
		c.Costs.Window.Steps = append(c.Costs.Window.Steps, recording.Step{N: n, Optimized: float64(n / 7)})
	}
	l := diagnose.Ledger{Rows: []diagnose.Row{{Name: diagnose.RowRanks, Saves: 8}}}
	for kind, want := range map[diagnose.Kind]float64{diagnose.Exchanging: 21, diagnose.Looping: 16} {
		row := diagnose.Row{Name: diagnose.RowBetween, Saves: 16, Line: diagnose.Line{Kind: kind}}
		if got := withoutStaying(l, &row, c).Saves; got != want {
			t.Errorf("%s: saves %v, want %v", kind, got, want)
		}
	}
}

// Steps that lose nothing by themselves are not said to be short of the host because of the first batches of epochs.
func TestWhatStepsLose(t *testing.T) {
	l := diagnose.Ledger{Wall: 40, Rows: []diagnose.Row{
		{Name: diagnose.RowTraining, Seconds: 9, Saves: 1.2},
		{Name: diagnose.RowBetween, Seconds: 1, Saves: 1},
		{Name: diagnose.RowEdge, Seconds: 25, Saves: 25},
	}}
	for _, class := range []diagnose.Class{diagnose.CPUBound, diagnose.TooFewWorkers, diagnose.GPUBound} {
		if !loseBy(l, diagnose.RowEdge, class) {
			t.Errorf("%s is not said", class)
		}
	}
	l.Rows[1] = diagnose.Row{Name: diagnose.RowCheckpoint, Seconds: 1, Saves: 1}
	if loseBy(l, diagnose.RowEdge, diagnose.CPUBound) {
		t.Error("steps without a row of the host's work are said to wait for it")
	}
	l.Rows[1].Name = diagnose.RowBetween
	if loseBy(l, diagnose.RowBetween, diagnose.CPUBound) {
		t.Error("the row that leads is counted again")
	}
}

// A thread of one rank of several that is blocked in backward waits for the others, if it launches little meanwhile.
func TestWaitForOtherRanksInBackward(t *testing.T) {
	for name, c := range map[string]struct {
		ranks        bool
		host, locked float64
		want         bool
	}{
		"ranks of unequal work": {true, 0, 11, true},
		"a single rank":         {false, 0, 11, false},
		"launches of backward":  {true, 0.6, 11, false},
		"a short wait":          {true, 0, 2, false},
	} {
		of := diagnose.NewCase()
		of.SeveralRanks, of.Parts.Host, of.Parts.Long = c.ranks, c.host, 0.3
		line := diagnose.LoopLine{Seconds: c.locked, Asleep: c.locked, Locked: c.locked}
		line.Own = recording.Place{File: "/train.py", Line: 102, Function: "train"}
		line.Call = recording.Place{File: "torch/_tensor.py", Function: "Tensor.backward"}
		of.LoopLines = diagnose.LoopLines{Looks: 400, Seconds: 33, Lines: []diagnose.LoopLine{line}}
		f := filler{Case: of, run: &recording.Run{}}
		if got, found := f.lineOfRanks(11.4); found != c.want || found && got.Kind != diagnose.OtherRanks {
			t.Errorf("%s: %v, %v", name, got, found)
		}
	}
}

// One of torch's own samplers draws all indices by one call: that is not advised to it, and weights have their own remedy.
func TestAdviceForSamplersOfTorch(t *testing.T) {
	for function, want := range map[string]string{
		"WeightedRandomSampler.__iter__": "alias table", "RandomSampler.__iter__": "in a thread", "": "by one call of NumPy",
	} {
		line := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1}, Kind: diagnose.Sampling}
		if function != "" {
			line.Call = recording.Place{File: recording.SamplerFile, Function: function}
		}
		lead := diagnose.Lead{Row: diagnose.Row{Name: diagnose.RowEdge, Line: line}}
		if advice := lead.Advice(); !strings.Contains(advice, want) || function != "" && strings.Contains(advice, "by one call") {
			t.Errorf("%q: %q, want %q", function, advice, want)
		}
	}
}

// What is skipped before training makes no step shorter.
func TestBoundOfSkipping(t *testing.T) {
	skips := diagnose.Row{Name: diagnose.RowSkipping, Seconds: 7.5, Saves: 7.5}
	l := diagnose.Ledger{Wall: 30, Rows: []diagnose.Row{skips, {Name: diagnose.RowTraining, Seconds: 15, Saves: 5}}}
	if most := mostOf(l, &skips, 5); most != 1.5 {
		t.Errorf("at most %.2fx, expected 1.5x", most)
	}
}

// A line is worth no more than the time in which samples find the launching thread at its class's work, however much the
// row loses that names it. A wait that lets the host launch ahead may be worth more.
func TestBoundOfTheLineOfARow(t *testing.T) {
	at := func(line int, function string) recording.Place {
		return recording.Place{File: "/train.py", Line: line, Function: function}
	}
	lines := diagnose.LoopLines{Looks: 400, Seconds: 20}
	for _, line := range []struct {
		own     recording.Place
		kind    diagnose.Kind
		seconds float64
	}{
		{at(9, "Step.run"), diagnose.DeviceWait, 10},
		{at(30, "Matcher.cost"), diagnose.Assigning, 3},
		{at(31, "Matcher.cost"), diagnose.DeviceWait, 2},
		{at(40, "Matcher.__call__"), diagnose.Assigning, 1},
		{at(50, "log"), diagnose.Logging, 4},
	} {
		lines.Lines = append(lines.Lines, diagnose.LoopLine{Line: diagnose.Line{Own: line.own, Kind: line.kind}, Seconds: line.seconds})
	}
	for name, c := range map[string]struct {
		line  diagnose.Line
		reads string
		most  float64
	}{
		"a class":               {diagnose.Line{Own: at(30, "Matcher.cost"), Kind: diagnose.Assigning}, "train.py:9", 1.25},
		"a log":                 {diagnose.Line{Own: at(50, "log"), Kind: diagnose.Logging}, "", 1.25},
		"a log of what is read": {diagnose.Line{Own: at(50, "log"), Kind: diagnose.Logging}, "train.py:9", 5},
		"a wait":                {diagnose.Line{Own: at(9, "Step.run"), Kind: diagnose.Syncing}, "", math.Inf(1)},
		"no line":               {diagnose.Line{}, "", math.Inf(1)},
	} {
		if got := mostOfLine(lines, c.line, c.reads); math.Abs(got-c.most) > 1e-9 && got != c.most {
			t.Errorf("%s: at most %.2fx, want %.2fx", name, got, c.most)
		}
	}
	lines.Looks = diagnose.FewLooks - 1
	if got := mostOfLine(lines, diagnose.Line{Own: at(30, "Matcher.cost"), Kind: diagnose.Assigning}, ""); !math.IsInf(got, 1) {
		t.Errorf("few looks bound it to %.2fx", got)
	}
}

// What is saved or read beside the steps leaves them as they are. What the loop does between them may hide a wait in them.
func TestStepsBesideOtherRows(t *testing.T) {
	for name, want := range map[diagnose.RowName]float64{diagnose.RowCheckpoint: 1.25, diagnose.RowEdge: 1.25, diagnose.RowBetween: 1.6} {
		row := diagnose.Row{Name: name, Seconds: 8, Saves: 8}
		l := diagnose.Ledger{Wall: 40, Rows: []diagnose.Row{row, {Name: diagnose.RowTraining, Seconds: 32, Saves: 7}}}
		if most := mostOf(l, &row, 7); math.Abs(most-want) > 1e-9 {
			t.Errorf("%s: at most %.2fx, want %.2fx", name, most, want)
		}
	}
}

// Steps beside evaluation are not said to wait for the program's own work where samples of its thread find none.
func TestStepsWithoutALineBesideEvaluation(t *testing.T) {
	for line, lacks := range map[string]bool{"": true, "/train.py": false} {
		l := diagnose.Ledger{Rows: []diagnose.Row{{Name: diagnose.RowBetween, Seconds: 3, Saves: 3}}}
		l.Rows[0].Line.Own.File = line
		c := &diagnose.Case{}
		if lacksLine(l, diagnose.RowEvaluation, c, diagnose.CPUBound) {
			t.Errorf("%q: nothing was looked at", line)
		}
		c.LoopLines.Looks = diagnose.FewLooks
		if got := lacksLine(l, diagnose.RowEvaluation, c, diagnose.CPUBound); got != lacks {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// If another thread of the program asks for the batches, the verdict names its line.
func TestWhoIsWaitedFor(t *testing.T) {
	l := diagnose.Ledger{Wall: 40, Rows: []diagnose.Row{{Name: diagnose.RowBetween, Seconds: 20, Saves: 20, Idle: 20, Share: 0.5}, {Name: diagnose.RowTraining, Seconds: 20, Share: 0.5}}}
	for kind, want := range map[diagnose.Kind]string{diagnose.Locking: "at train.py:10", diagnose.Saving: ""} {
		l.Rows[0].Line = diagnose.Line{Own: recording.Place{File: "train.py", Line: 70, Function: "main"}, Kind: kind}
		c := &diagnose.Case{HasSteps: true, Asker: "at train.py:10"}
		c.Requests.None = math.NaN()
		if lead := FindLead(l, c, diagnose.Unknown); lead == nil || lead.Beside != want {
			t.Errorf("%s: %+v", kind, lead)
		}
	}
}
