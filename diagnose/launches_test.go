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
