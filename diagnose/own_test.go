package diagnose_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A loop that no loader feeds has a step time and phases of its own; nothing is said of a loader.
func TestLoopThatNoLoaderFeeds(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: 8, Allowed: 8},
		GPUs:      []recording.GPU{{Name: "GPU"}},
		Processes: []recording.Process{{PID: 7, Role: recording.RoleTrainer, Hooked: true}},
		Model:     &recording.ModelFacts{Device: "cuda:0", Steps: 400},
	}}
	step := recording.Step{
		PID: 7, Loader: recording.OwnLoop, Period: 0.1, Phase: recording.Train, Wait: math.NaN(), Samples: math.NaN(), Optimized: 1,
		Idle: math.NaN(), DevicePeriod: math.NaN(),
	}
	at := 0.0
	for i := range 400 {
		step.N, step.Start, step.Period = i, at, 0.1
		phase, holds := map[int]recording.Phase{200: recording.Evaluate, 300: recording.Checkpoint}[i]
		if holds {
			step.Period = 1
		}
		run.Steps = append(run.Steps, step)
		if at += step.Period; holds {
			other := step
			other.N, other.Start, other.Period, other.Phase = 1000+i, step.Start+0.01, 0.9, phase
			run.Steps = append(run.Steps, other)
		}
	}
	util := recording.Series{Signal: recording.GPUUtilisation, Subject: "gpu/0"}
	state := recording.Series{Signal: recording.ThreadState, Subject: "thread/7"}
	for i := range 40 {
		util.T, util.V = append(util.T, float64(i)), append(util.V, 0.3)
		state.T, state.V = append(state.T, float64(i)), append(state.V, float64(recording.Running))
	}
	run.Series = []recording.Series{util, state}
	v := judge.Judge(run)
	if !v.HasSteps || v.Class != diagnose.CPUBound || math.Abs(v.Costs.Step-0.1) > 1e-9 || v.State != diagnose.Final {
		t.Errorf("%s, steps %v of %v s, %s", v.Class, v.HasSteps, v.Costs.Step, v.State)
	}
	said := ""
	for _, f := range v.Findings {
		said += f.Name + " "
		if strings.Contains(f.Text, "NaN") || strings.Contains(f.Text, "unknown") {
			t.Error(f.Text)
		}
	}
	if said != "evaluation checkpoint " {
		t.Errorf("beside it: %s", said)
	}
	for _, fix := range advise.Rank(run, v).Fixes {
		if len(fix.Changes) > 0 {
			t.Errorf("a setting of what nobody saw: %+v", fix.Changes)
		}
	}
}

// A wait for the device belongs to the work of its function, as that of a callback. A loop's own function does many things.
func TestWorkThatReadsWhatItWorksOn(t *testing.T) {
	at := func(line int, function string, kind diagnose.Kind) diagnose.LoopLine {
		own := recording.Place{File: "/t.py", Line: line, Function: function}
		return diagnose.LoopLine{Line: diagnose.Line{Own: own, Kind: kind}}
	}
	l := diagnose.LoopLines{Lines: []diagnose.LoopLine{
		at(22, "Show.on_batch_end", diagnose.DeviceWait), at(27, "Show.on_batch_end", diagnose.Callback),
		at(40, "main", diagnose.DeviceWait), at(41, "main", diagnose.Awaiting), at(42, "main", diagnose.Looping),
	}}
	for waits, want := range map[string]bool{"t.py:22": true, "t.py:40": false, "": false} {
		for _, line := range []int{1, 4} {
			if got := l.WorksWithWait(l.Lines[line].Own, waits); got != (want && line == 1) {
				t.Errorf("line %d, a wait at %q: %v", l.Lines[line].Own.Line, waits, got)
			}
		}
	}
}
