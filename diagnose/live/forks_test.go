package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// A parent that starts one child after the other, each for a job, is recognized. Workers that stay, those of a loader and
// children that run at the same time are not.
func TestAProcessForEachJob(t *testing.T) {
	for name, c := range map[string]struct {
		children int
		lives    float64
		loader   bool
		want     diagnose.Kind
	}{
		"one after the other":    {8, 2.5, false, diagnose.Forking},
		"a loader's":             {8, 2.5, true, diagnose.Pausing},
		"short beside the wait":  {8, 0.5, false, diagnose.Pausing},
		"two that stay":          {2, 12, false, diagnose.Pausing},
		"many at the same time":  {8, 9, false, diagnose.Pausing},
		"none, a timer is there": {0, 0, false, diagnose.Pausing},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.From, l.To, l.Costs.Window.PID = 5, 35, 7
		for n := range c.children {
			start := 6 + 3*float64(n)
			l.run.Facts.Processes = append(l.run.Facts.Processes, recording.Process{PID: 100 + n, Parent: 7, Start: start, End: min(35, start+c.lives)})
		}
		if c.loader {
			l.run.Facts.Loaders = []recording.Loader{{PID: 7}}
		}
		l.LoopLines.Lines = []diagnose.LoopLine{{Line: diagnose.Line{Own: recording.Place{File: "/worker.py", Line: 77}, Kind: diagnose.Pausing}}}
		if l.nameForks(); l.LoopLines.Lines[0].Kind != c.want {
			t.Errorf("%s: %v, expected %v", name, l.LoopLines.Lines[0].Kind, c.want)
		}
	}
}
