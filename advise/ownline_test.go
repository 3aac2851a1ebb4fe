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

// The first advice names the line on which the host works, not one that waits for the device. Input prepared ahead is
// not advised before a function that launches much, or a line with most of the thread's time.
func TestWhatComesFirstWithoutALoader(t *testing.T) {
	line := func(function, call string, kind diagnose.Kind, seconds, asleep float64) diagnose.LoopLine {
		l := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: function}, Kind: kind}
		if call != "" {
			l.Call = recording.Place{File: "stoker/emulated.py", Function: "Device." + call}
		}
		return diagnose.LoopLine{Line: l, Seconds: seconds, Asleep: asleep}
	}
	for name, c := range map[string]struct {
		lines []diagnose.LoopLine
		idle  float64
		want  string
	}{
		"texts are compared while nothing is on the device": {
			[]diagnose.LoopLine{line("step", "item", diagnose.DeviceWait, 5, 3), line("similarity", "", diagnose.Metrics, 4, 0)},
			0.7,
			"make this line cheaper: /a.py:1 similarity",
		},
		"one value after the other is read": {
			[]diagnose.LoopLine{line("step", "item", diagnose.DeviceWait, 7, 6), line("similarity", "", diagnose.Metrics, 1, 0)},
			0.7,
			"wait for the device less often, and for more at once: /a.py:1 step",
		},
		"a function launches": {
			[]diagnose.LoopLine{
				line("Kernels.run", "", diagnose.HostCode, 3.4, 0), line("Kernels.run", "launch", diagnose.Launching, 2, 0),
				line("draw", "", diagnose.Drawing, 2, 0),
			},
			0.5,
			"launch fewer, larger kernels: /a.py:1 Kernels.run",
		},
		"a function works, and launches little": {
			[]diagnose.LoopLine{line("prepare", "", diagnose.HostCode, 5, 0), line("prepare", "launch", diagnose.Launching, 1, 0)},
			0.7,
			"make this line cheaper: /a.py:1 prepare",
		},
		"short waits lie beside a long one": {
			[]diagnose.LoopLine{line("fit", "item", diagnose.DeviceWait, 5, 5), line("recommend", "item", diagnose.DeviceWait, 4, 3)},
			0.6,
			"wait for the device less often, and for more at once: /a.py:1 recommend",
		},
		"values are read at two lines": {
			[]diagnose.LoopLine{line("stop", "item", diagnose.DeviceWait, 5, 3), line("prepare", "item", diagnose.DeviceWait, 2, 1)},
			0.6,
			"wait for the device less often, and for more at once: /a.py:1 stop, in stoker/emulated.py Device.item, and " +
				"/a.py:1 prepare",
		},
		"a line reads what could be kept": {
			[]diagnose.LoopLine{line("load", "", diagnose.LoopReads, 3, 0), line("step", "item", diagnose.DeviceWait, 6, 6)},
			0.45,
			"make this line cheaper: /a.py:1 load",
		},
		"a copy awaits the kernels before it": {
			[]diagnose.LoopLine{
				line("policy", "copy", diagnose.Copying, 4.3, 4), line("draw", "", diagnose.Drawing, 3.3, 0),
			},
			0.59,
			"make this line cheaper: /a.py:1 draw",
		},
		"a copy takes long by itself": {
			[]diagnose.LoopLine{
				line("policy", "copy", diagnose.Copying, 5, 1), line("draw", "", diagnose.Drawing, 3.3, 0),
			},
			0.9,
			"make this line cheaper: /a.py:1 policy",
		},
		"states are copied to the host, and worked on there": {
			[]diagnose.LoopLine{
				line("observe", "copy", diagnose.Copying, 8, 7), line("reward", "", diagnose.HostCode, 0.8, 0),
				line("terms", "", diagnose.HostCode, 0.8, 0),
			},
			0.27,
			"copy less, and less often: /a.py:1 observe",
		},
		"little is the work of any function": {
			[]diagnose.LoopLine{
				line("prepare", "", diagnose.HostCode, 2.6, 0), line("read", "", diagnose.HostCode, 0.9, 0),
				line("step", "item", diagnose.DeviceWait, 6, 6),
			},
			0.4,
			"prepare the next step's input",
		},
	} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: c.idle}}
		a.verdict.Measured.LoopLines = diagnose.LoopLines{Lines: c.lines, Seconds: 10, Looks: 400}
		if plan := a.inWords(); len(plan.Fixes) == 0 || !strings.HasPrefix(plan.Fixes[0].Title, c.want) {
			t.Errorf("%s: %+v, want %q first", name, plan.Fixes, c.want)
		} else if slices.Contains(afterInput, plan.Fixes[0].Kind) && len(plan.Fixes) > 1 {
			t.Errorf("%s: %+v stands beside what no input hides", name, plan.Fixes[1])
		}
	}
}

// A loop that waits for a lock is told where the thread works that it waits for, if that was seen.
func TestTheThreadThatIsWaitedForIsNamed(t *testing.T) {
	for file, want := range map[string]string{"": "/a.py:1", "/actor.py": "actor.py:31"} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.5}}
		line := diagnose.LoopLine{Seconds: 5, Asleep: 5, Locked: 5}
		line.Own, line.Kind = recording.Place{File: "/a.py", Line: 1, Function: "learn"}, diagnose.Locking
		a.verdict.Measured.LoopLines = diagnose.LoopLines{Lines: []diagnose.LoopLine{line}, Seconds: 10, Looks: 400}
		a.verdict.Measured.Beside.Own = recording.Place{File: file, Line: 31, Function: "Actor.search"}
		if fixes := a.ownLine(); len(fixes) != 1 || !strings.HasSuffix(want, fixes[0].At) {
			t.Errorf("%q: %+v, want %s", file, fixes, want)
		}
		a.verdict.Class = diagnose.Unknown
		a.verdict.Findings = []diagnose.Finding{diagnose.NewFinding(diagnose.FindingInterpreterLock)}
		if fixes := a.blind().Fixes; len(fixes) != 1 || fixes[0].Name != diagnose.FindingInterpreterLock {
			t.Errorf("%q: what waits for the lock stands beside who has it: %+v", file, fixes)
		}
	}
}

// What a policy chooses by the last observation is followed by the next one: nothing of that is prepared ahead.
func TestNothingAheadOfAnAction(t *testing.T) {
	a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.45}}
	draw := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: "draw"}, Kind: diagnose.Drawing}
	a.verdict.Measured.LoopLines = diagnose.LoopLines{
		Lines: []diagnose.LoopLine{{Line: draw, Seconds: 3}}, Seconds: 10, Looks: 400, Acting: 5,
	}
	unseen := a
	unseen.verdict.Measured.LoopLines = diagnose.LoopLines{}
	for name, a := range map[string]adviser{"a policy": a, "no samples": unseen} {
		ahead := slices.ContainsFunc(a.inWords().Fixes, func(f Fix) bool { return strings.Contains(f.Title, "prepare the next step's input") })
		if ahead != (name == "no samples") {
			t.Errorf("%s: %+v", name, a.inWords().Fixes)
		}
	}
}

// Halves of the environments take turns only where there are several, which alters nothing. More of them than now do.
func TestTurnsOfSeveralEnvironments(t *testing.T) {
	for function, several := range map[string]bool{"Envs.step": true, "SubprocVecEnv.step_wait": true, "Breakout.step": false} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.45}}
		step := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: function}, Kind: diagnose.Simulating}
		a.verdict.Measured.LoopLines = diagnose.LoopLines{
			Lines: []diagnose.LoopLine{{Line: step, Seconds: 3}}, Seconds: 10, Looks: 400, Acting: 5,
		}
		for _, f := range a.inWords().Fixes {
			half := strings.HasPrefix(f.Title, "step one half")
			if half && !several || f.Name == "input-ahead" && (f.Risk == LearningRisk) == several {
				t.Errorf("%s: %+v", function, f)
			}
			if f.Kind == diagnose.Simulating && (f.Risk != NoRisk || f.Mind == "") {
				t.Errorf("%s: %+v", function, f)
			}
		}
	}
}

// Workers that wait for a sampler keep up: cheaper samples gain nothing. A sampler that waits is not told of tensors.
func TestWorkersThatWaitForASampler(t *testing.T) {
	for asleep, tensors := range map[float64]bool{0: true, 9: false} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Stall: 0.4, Idle: 0.4}}
		a.verdict.Evidence = []diagnose.Evidence{{Signal: diagnose.SignalSampler}}
		line := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: "read"}, Kind: diagnose.Sampling}
		a.verdict.Measured.LoopLines.Lines = []diagnose.LoopLine{{Line: line, Seconds: 10, Asleep: asleep}}
		fix, _ := a.sampler()
		if strings.Contains(fix.Notes[0], "tolist") != tensors || !strings.Contains(fix.Notes[0], "find it once") {
			t.Errorf("asleep %v s: %v", asleep, fix.Notes)
		}
		a.verdict.Findings = []diagnose.Finding{{Name: diagnose.SlowTransform}}
		a.verdict.Lines = []diagnose.Line{{Own: line.Own, Kind: diagnose.Waits, Share: stoker.Exactly(0.9)}}
		if slow, _ := a.slow(); slow.Name != "" {
			t.Errorf("cheaper samples are advised: %+v", slow)
		}
	}
}

// A stream without an end has no epochs in which each sample is seen.
func TestOrderOfAnEndlessStream(t *testing.T) {
	for epoch, want := range map[float64]bool{0: false, 50: true} {
		a := adviser{run: &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{Iterable: true}}}}}
		a.verdict.Class, a.costs.Workers, a.costs.EpochSteps = diagnose.SlowSamples, 2, epoch
		a.base.Settings = stoker.Settings{stoker.InOrder: true}
		if fix, _ := a.outOfOrder(); strings.Contains(fix.Mind, "once an epoch") != want {
			t.Errorf("epochs of %v steps: %q", epoch, fix.Mind)
		}
	}
}

// Where no step was seen, a second worker at most doubles what one does, and a line with most of the work comes first.
func TestWorkersWithoutSteps(t *testing.T) {
	a := adviser{run: &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{}}}}}
	a.verdict = diagnose.Verdict{Class: diagnose.TooFewWorkers, Idle: 0.99}
	a.verdict.Findings = []diagnose.Finding{{Name: diagnose.SlowTransform}}
	a.verdict.Lines = []diagnose.Line{{
		Own: recording.Place{File: "/a.py", Line: 1, Function: "scale"}, Kind: diagnose.Elements, Share: stoker.Exactly(0.8),
	}}
	a.costs.Workers, a.costs.Cores = 1, 2
	plan := a.blind()
	if len(plan.Fixes) != 2 || plan.Fixes[0].Name != diagnose.SlowTransform || plan.Fixes[1].Forecast.Speedup.High != 2 {
		t.Errorf("%+v", plan.Fixes)
	}
}

// A line is worth no more than the samples that find the launching thread there, however long the device idles.
func TestALineIsWorthItsOwnTime(t *testing.T) {
	at := func(function string, kind diagnose.Kind, seconds, asleep float64) diagnose.LoopLine {
		own := recording.Place{File: "/a.py", Line: 1, Function: function}
		return diagnose.LoopLine{Line: diagnose.Line{Own: own, Kind: kind}, Seconds: seconds, Asleep: asleep}
	}
	a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.45}}
	a.verdict.Measured.LoopLines = diagnose.LoopLines{Seconds: 10, Looks: 400, Lines: []diagnose.LoopLine{
		at("process", diagnose.HostCode, 1.2, 0), at("stop", diagnose.DeviceWait, 8.8, 8.8),
	}}
	fixes := a.ownLine()
	if len(fixes) != 1 || !(fixes[0].Forecast.Speedup.High <= 1.2) {
		t.Errorf("%+v", fixes)
	}
}

// Input that is prepared ahead gains no more than the work that may be on the input: collections of garbage are none. Beside
// a line of unknown purpose nothing says that it is input.
func TestNothingAheadOfCollections(t *testing.T) {
	for kind, ahead := range map[diagnose.Kind]bool{diagnose.Garbage: false, diagnose.HostCode: false, diagnose.Augmenting: true} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.4}}
		work := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: "record"}, Kind: kind}
		wait := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 2, Function: "step"}, Kind: diagnose.DeviceWait}
		a.verdict.Measured.LoopLines = diagnose.LoopLines{Seconds: 10, Looks: 400, Lines: []diagnose.LoopLine{
			{Line: work, Seconds: 2.8}, {Line: wait, Seconds: 7, Asleep: 7},
		}}
		fixes := a.inWords().Fixes
		got := slices.ContainsFunc(fixes, func(f Fix) bool { return f.Name == "input-ahead" && f.Forecast.Speedup.High < 1.5 })
		if got != ahead || len(fixes) == 0 {
			t.Errorf("%s: %+v", kind, fixes)
		}
	}
}

// What is logged is read of the device: logging less often saves the wait for it as well, and no other idle time.
func TestLogsAreWorthTheirReads(t *testing.T) {
	for _, c := range []struct {
		kind        diagnose.Kind
		waits, want float64
	}{
		{diagnose.Logging, 6.4, 1.6}, {diagnose.Logging, 0.3, 1.5}, {diagnose.HostCode, 6.4, 1.45},
	} {
		kind, want := c.kind, c.want
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Idle: 0.37}}
		logs := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 1, Function: "add_histogram"}, Kind: kind}
		wait := diagnose.Line{Own: recording.Place{File: "/a.py", Line: 2, Function: "step"}, Kind: diagnose.DeviceWait}
		a.verdict.Measured.LoopLines = diagnose.LoopLines{Seconds: 10, Looks: 400, Lines: []diagnose.LoopLine{
			{Line: wait, Seconds: c.waits, Asleep: c.waits}, {Line: logs, Seconds: 3.1},
		}}
		if fixes := a.ownLine(); len(fixes) != 1 || math.Abs(fixes[0].Forecast.Speedup.High-want) > 0.05 {
			t.Errorf("%s: %+v", kind, fixes)
		}
	}
}

// A function that averages weights, and has most of the launching thread's work, is advised before a graph of the model.
func TestWeightsAreAveragedAtOnce(t *testing.T) {
	for function, want := range map[string]int{"update_momentum": 1, "forward": 0} {
		place := func(function string) recording.Place {
			return recording.Place{File: "/a.py", Line: 1, Function: function}
		}
		launch := diagnose.Line{Own: place(function), Call: recording.Place{File: "torch/a.py", Function: "launch"}, Kind: diagnose.Launching}
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Class: diagnose.LaunchBound, Idle: 0.5}}
		a.verdict.Measured.LoopLines = diagnose.LoopLines{Seconds: 10, Looks: 400, Lines: []diagnose.LoopLine{
			{Line: launch, Seconds: 6}, {Line: diagnose.Line{Own: place("update_momentum"), Kind: diagnose.Averaging}, Seconds: 2},
		}}
		if fixes := a.averageAtOnce(); len(fixes) != want {
			t.Errorf("most launches come from %s: %+v", function, fixes)
		}
	}
}
