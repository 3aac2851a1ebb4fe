package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Workers that follow each other start again and again; those that run at the same time are ranks, or stand beside
// each other.
func TestProcessesThatStartOneAfterAnother(t *testing.T) {
	for name, c := range map[string]struct {
		every, lives float64
		count        int
		trains       bool // the parent
		found        bool
	}{
		"a worker ends every three seconds": {3, 2.5, 6, false, true},
		"ranks":                             {0, 18, 6, false, false},
		"two in turn":                       {3, 4, 6, false, false},
		"started twice":                     {9, 8, 2, false, false},
		"no import is known":                {3, 2.5, -6, false, false},
		"a loader's workers":                {3, 2.5, 6, true, false},
	} {
		run := &recording.Run{}
		imports := "/srv/plates.py:14"
		if c.count < 0 {
			c.count, imports = -c.count, ""
		}
		for n := range c.count {
			start := 1 + c.every*float64(n)
			run.Facts.Processes = append(run.Facts.Processes, recording.Process{
				PID: 10 + n, Parent: 7, Role: recording.RoleTrainer, Hooked: true, Start: start, End: start + c.lives,
				Imports: imports,
			})
			run.Steps = append(run.Steps, recording.Step{PID: 10 + n, Start: start + 2, Period: 0.1})
		}
		if c.trains {
			run.Steps = append(run.Steps, recording.Step{PID: 7, Start: 1, Period: 0.1})
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		r := l.findRestarts()
		if found := r.Share > 0.5; found != c.found || found && (r.Count != c.count || r.At.Line != 14) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
