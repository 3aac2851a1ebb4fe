package live

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// A process without steps tells its collections once, when it ends. The line that they may be on is named, and no
// more is said than they took at least: those of a start that took as long are none of the loop.
func TestGarbageThatIsToldOnce(t *testing.T) {
	for seconds, want := range map[float64]bool{9: true, 3.5: false} {
		run := &recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{{}}, Processes: []recording.Process{{PID: 7, Start: 3}}}}
		run.Series = []recording.Series{
			{Signal: recording.Garbage, Subject: "process/7", T: []float64{36}, V: []float64{seconds}},
			{Signal: recording.GPUKernels, Subject: "gpu/0", T: []float64{4, 5, 6, 36}, V: []float64{0, 0, 0.6, 0.6}},
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.From, l.To = 20, 36
		l.Costs.Window = recording.Window{PID: 7}
		line := diagnose.LoopLine{Seconds: 4.5, Line: diagnose.Line{Kind: diagnose.Looping}}
		line.Own = recording.Place{File: "/train.py", Line: 38}
		l.LoopLines = diagnose.LoopLines{Looks: 74, Seconds: 16, Lines: []diagnose.LoopLine{line}}
		l.nameGarbage()
		found := l.findGarbage()
		if (l.LoopLines.Lines[0].Kind == diagnose.Garbage) != want || (len(found) > 0) != want {
			t.Errorf("%v seconds: %s, %+v", seconds, l.LoopLines.Lines[0].Kind, found)
		}
		if want && !strings.Contains(found[0].Text, "16.7 % of the time at least") {
			t.Error(found[0].Text)
		}
	}
}
