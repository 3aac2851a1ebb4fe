package ledger

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// On a machine whose cores others have, a long step in which the thread wanted a core is no work
// beside the steps, unless samples find it on such a line. A thread that sleeps is not held up.
func TestLongStepsThatWereHeldUp(t *testing.T) {
	at := func(line int, kind diagnose.Kind, seconds, asleep float64) diagnose.LoopLine {
		l := diagnose.LoopLine{Seconds: seconds, Asleep: asleep}
		l.Own, l.Kind = recording.Place{File: "train.py", Line: line}, kind
		return l
	}
	steps := at(7, diagnose.DeviceWait, 5, 0)
	for name, c := range map[string]struct {
		state  recording.State
		others float64
		lines  []diagnose.LoopLine
		held   float64
	}{
		"held up":                   {recording.Running, 1, []diagnose.LoopLine{steps, at(7, diagnose.HostCode, 3, 0)}, 2},
		"on a free machine":         {recording.Running, 0, []diagnose.LoopLine{steps}, 0},
		"asleep":                    {recording.Asleep, 1, []diagnose.LoopLine{steps}, 0},
		"at work beside the steps":  {recording.Running, 1, []diagnose.LoopLine{steps, at(9, diagnose.HostCode, 1.5, 0)}, 0.5},
		"all of it beside them":     {recording.Running, 1, []diagnose.LoopLine{steps, at(9, diagnose.HostCode, 4, 0)}, 0},
		"asleep beside other steps": {recording.Running, 1, []diagnose.LoopLine{steps, at(9, diagnose.Pausing, 4, 4)}, 2},
	} {
		f := filler{Case: &diagnose.Case{}, run: &recording.Run{Series: []recording.Series{{
			Signal: recording.ThreadState, Subject: "thread/7", T: []float64{1.2, 1.6, 3}, V: []float64{float64(c.state), float64(c.state), float64(recording.Parked)},
		}}}}
		f.Costs.Window.PID, f.Costs.Rare = 7, measure.Rare{Spans: [][2]float64{{1, 2}}}
		f.OthersTakeCores.Score, f.LoopLines.Lines = c.others, c.lines
		if got := f.heldInRare(2); math.Abs(got-c.held) > 1e-9 {
			t.Errorf("%s: %v s of 2 were held up, want %v", name, got, c.held)
		}
	}
}
