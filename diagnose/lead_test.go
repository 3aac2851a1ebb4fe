package diagnose

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A run that never trains owes somebody the result of each pass: it can read none of them later.
func TestPassesReadEachResult(t *testing.T) {
	for _, kind := range []Kind{Syncing, Locking} {
		l := Lead{Row: Row{Name: RowBetween, Line: Line{Kind: kind}}}
		trains := l.Advice()
		l.Passes = true
		if got := l.Advice(); got == trains || strings.Contains(got, "loss") || strings.Contains(got, "every 50 steps") {
			t.Errorf("%v: %q", kind, got)
		}
	}
}

// An exchange of the same bytes takes about as long in each step. One that takes long now and then waits for another rank.
func TestRanksWithUnequalWork(t *testing.T) {
	for name, long := range map[string]int{"each is as long": 1, "every third is long": 3} {
		v := Verdict{Class: NetworkBound, Device: -1}
		for i := range 30 {
			inside := recording.Inside{Exchange: 0.3, Span: 0.5}
			if i%long != 0 {
				inside.Exchange = 0.006
			}
			v.Costs.Window.Steps = append(v.Costs.Window.Steps, recording.Step{Inside: &inside})
		}
		if got := strings.Contains(v.Do(), "as many tokens"); got != (long > 1) {
			t.Errorf("%s: %q", name, v.Do())
		}
	}
}

// Work that comes every so many steps, as a preview or a report, is done less often; work of each step is not.
func TestWorkEverySoManySteps(t *testing.T) {
	for every, want := range map[float64]bool{1: false, 12: true} {
		l := Lead{Row: Row{Name: RowBetween, Line: Line{Kind: Preparing}}, Every: every}
		if got := strings.HasPrefix(l.Advice(), "do it less often"); got != want {
			t.Errorf("every %v steps: %q", every, l.Advice())
		}
	}
}

// What is done at the end of each epoch is done once an epoch.
func TestAlreadyOnceAnEpoch(t *testing.T) {
	for _, row := range []RowName{RowEdge, RowEvaluation} {
		for _, kind := range []Kind{Metrics, Plotting, Callback} {
			l := Lead{Row: Row{Name: row, Idle: 1, Line: Line{Kind: kind, Own: recording.Place{File: "/t.py", Line: 3}}}, Every: math.NaN()}
			if got := l.Advice(); strings.Contains(got, "once an epoch") || !strings.Contains(got, "once in several") {
				t.Errorf("%s, %s: %s", row, kind, got)
			}
		}
	}
}

// What a constructor reads at each epoch's edge is made once and kept. Other work there may need what the epoch trained.
func TestMadeAnewForEachEpoch(t *testing.T) {
	for function, want := range map[string]bool{"Clips.__init__": true, "Clips.__init__.<locals>.<listcomp>": true, "report": false} {
		for _, kind := range []Kind{Pausing, LoopReads, Preparing, Disk} {
			l := Lead{Row: Row{Name: RowEdge, Line: Line{Kind: kind, Own: recording.Place{File: "/t.py", Line: 3, Function: function}}}}
			if got := strings.Contains(l.Advice(), "load it once before the epochs and keep it"); got != want {
				t.Errorf("%s, %s: %s", function, kind, l.Advice())
			}
		}
	}
}

// One rank that evaluates while the others wait shares the samples out.
func TestEvaluationOfOneRankIsShared(t *testing.T) {
	for _, alone := range []bool{true, false} {
		l := Lead{Row: Row{Name: RowEvaluation, Idle: math.NaN(), Line: Line{Kind: DeviceWait}}, Alone: alone}
		if got := l.Advice() == EvaluateOnAllAdvice; got != alone {
			t.Errorf("alone %t: %s", alone, l.Advice())
		}
	}
}

// A start that fetches samples, as a sampler does that sorts them by length, reads all of them.
func TestStartThatFetchesSamples(t *testing.T) {
	for function, want := range map[string]string{"Speech.__getitem__": SlowScanAdvice, "read_index": SlowStartAdvice} {
		if got := AdviseStart(Line{Own: recording.Place{File: "/t.py", Line: 3, Function: function}}); got != want {
			t.Errorf("%s: %s", function, got)
		}
	}
}

// A line with next to none of a row's samples says nothing of it.
func TestLittleOfARowIsNotSaid(t *testing.T) {
	l := Lead{Row: Row{Name: RowCheckpoint, Seconds: 13, Share: 0.6, LineShare: 0.01, Line: Line{Own: recording.Place{File: "/t.py", Line: 3}}}, Every: math.NaN()}
	if got := l.Why(); strings.Contains(got, "stack samples") || !strings.Contains(got, "t.py:3") {
		t.Error(got)
	}
}

// Copies of far more than the loader's batch are not told of pin_memory: what to do is said of the line that copies.
func TestCopiesBeyondTheBatchHaveTheirOwnAdvice(t *testing.T) {
	for _, c := range []struct {
		advice, want string
		loads        bool
	}{
		{BeyondBatchAdvice, "vae.py:35: keep on the device", true},
		{"pin_memory=True", "pin_memory=True", true},
		{"pin_memory=True", "vae.py:35: what the host makes of results", false},
	} {
		v := Verdict{Class: TransferBound, Device: -1, Grounds: Grounds{Loads: c.loads}}
		v.Findings = []Finding{{Name: FindingPageableCopies, Advice: c.advice}}
		moves := Line{Own: recording.Place{File: "/me/vae.py", Line: 35, Function: "Stage.to"}, Kind: Copying}
		v.Measured.LoopLines.Lines = []LoopLine{{Line: moves, Seconds: 5}}
		if do := v.Do(); !strings.HasPrefix(do, c.want) {
			t.Errorf("%+v: %q", c, do)
		}
	}
}
