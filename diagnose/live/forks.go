package live

import (
	"github.com/stoker-dev/stoker/diagnose"
)

// Start values of processes that live for a job. [J]
const (
	fewForks  = 4   // one after the other
	forksLast = 0.5 // share of the window in which one of them lives
)

// nameForks says of a line on which the launching thread sleeps that it waits for processes, one for each job: one
// after the other they live most of the time, and no loader starts them.
func (l filler) nameForks() {
	if len(l.run.Facts.Loaders) > 0 {
		return
	}
	n, lived := 0, 0.0
	for _, p := range l.run.Facts.Processes {
		if p.Parent != l.Costs.Window.PID || !(p.Start >= l.From) || !(p.End > 0 && p.End <= l.To) {
			continue
		}
		n, lived = n+1, lived+p.End-p.Start
	}
	if share := lived / (l.To - l.From); n < fewForks || !(share >= forksLast && share <= 1) {
		return
	}
	for i := range l.LoopLines.Lines {
		if line := &l.LoopLines.Lines[i]; line.Kind == diagnose.Pausing && line.Call.File == "" {
			line.Kind = diagnose.Forking
			return
		}
	}
}
