package diagnose_test

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Launches are named where the model is called, not where backward is, if that is another function.
func TestLinesThatLaunch(t *testing.T) {
	at := func(kind diagnose.Kind, line int, function, call string, seconds float64) diagnose.LoopLine {
		l := diagnose.LoopLine{Seconds: seconds}
		l.Kind, l.Own = kind, recording.Place{File: "/train.py", Line: line, Function: function}
		l.Call = recording.Place{File: "torch/x.py", Function: call}
		return l
	}
	backward := at(diagnose.Launching, 9, "main", "Tensor.backward", 5)
	for name, c := range map[string]struct {
		lines   []diagnose.LoopLine
		line    int
		seconds float64
	}{
		"a cell for each time step": {[]diagnose.LoopLine{backward, at(diagnose.Launching, 3, "Net.forward", "_call_impl", 2)}, 3, 7},
		"calls without a frame": {[]diagnose.LoopLine{
			backward, at(diagnose.Launching, 3, "Net.forward", "_call_impl", 2), at(diagnose.HostCode, 4, "Net.forward", "", 1.5),
		}, 3, 8.5},
		"work that mostly is no launch": {[]diagnose.LoopLine{
			backward, at(diagnose.HostCode, 4, "Net.forward", "", 3), at(diagnose.Launching, 3, "Net.forward", "_call_impl", 2),
		}, 3, 7},
		"little but backward":      {[]diagnose.LoopLine{backward, at(diagnose.Launching, 3, "Net.forward", "_call_impl", 0.5)}, 9, 5.5},
		"in the function it is in": {[]diagnose.LoopLine{backward, at(diagnose.Launching, 3, "main", "_call_impl", 2)}, 9, 7},
		"none":                     {[]diagnose.LoopLine{at(diagnose.HostCode, 3, "main", "", 2)}, 0, 0},
	} {
		first, seconds := diagnose.LoopLines{Lines: c.lines}.Launches()
		if first.Own.Line != c.line || seconds != c.seconds {
			t.Errorf("%s: line %d, %v s, want %d, %v", name, first.Own.Line, seconds, c.line, c.seconds)
		}
	}
}

// One long stretch of the program's own work is not spread over the launches of a step, where looks find the thread at it.
func TestOwnWorkBesideLaunches(t *testing.T) {
	const (
		own      = "core;/home/me/train.py:46 get_tokens_per_batch"
		launches = "core;/home/me/train.py:80 train;torch/nn/modules/module.py:1 Module.__call__"
		waits    = "asleep;/home/me/train.py:82 train;torch/cuda/streams.py:1 Event.synchronize"
	)
	for name, c := range map[string]struct {
		shares map[string]float64
		count  float64 // launches a step
		want   diagnose.Class
		slower float64 // times as long is a step
	}{
		"own work":        {map[string]float64{own: 0.25, launches: 0.05, waits: 0.7}, 40, diagnose.CPUBound, 1},
		"launches":        {map[string]float64{own: 0.05, launches: 0.25, waits: 0.7}, 40, diagnose.LaunchBound, 1},
		"far apart":       {map[string]float64{own: 0.05, launches: 0.25, waits: 0.7}, 10, diagnose.CPUBound, 2},
		"as quick as any": {map[string]float64{own: 0.25, launches: 0.05, waits: 0.7}, 1000, diagnose.LaunchBound, 1},
	} {
		syncs, waited := 1.0, 0.013
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.014*c.slower, 0.01*c.slower, i == 0)
			d.run.Steps[i].Inside = &recording.Inside{Clock: "cuda", Span: 0.024 * c.slower, Launches: &c.count, Syncs: &syncs, SyncTime: &waited}
		}
		if v := d.judgeSeen(c.shares); v.Class != c.want {
			t.Errorf("%s: %s, want %s", name, v.Class, c.want)
		}
	}
}
