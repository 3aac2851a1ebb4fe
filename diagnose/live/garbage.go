package live

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// mostlyGarbage is the part of a line's time that collections take from which the line collects garbage. [J]
const mostlyGarbage = 0.5

// nameGarbage takes what Python spent on collecting garbage, and finds the line that asks for it: a collection is
// native code, and no stack shows it.
func (l filler) nameGarbage() {
	l.Garbage = l.run.Find(recording.Garbage, fmt.Sprintf("process/%d", l.Costs.Window.PID)).Rate(l.From, l.To)
	seconds := l.Garbage * l.LoopLines.Seconds
	for i := range l.LoopLines.Lines {
		line := &l.LoopLines.Lines[i]
		native := slices.Contains(diagnose.OfCode, line.Kind) || line.Kind == diagnose.PerRequest ||
			slices.Contains(anywhere, line.Kind)
		if native && line.Call.File == "" {
			if seconds >= mostlyGarbage*line.Seconds && l.Garbage >= diagnose.HeldTrigger {
				line.Kind = diagnose.Garbage
			}
			return
		}
	}
}

// findGarbage tells of collections that take a good part of the time.
func (l filler) findGarbage() []diagnose.Finding {
	if !(l.Garbage >= diagnose.HeldTrigger) {
		return nil
	}
	f := diagnose.NewFinding(diagnose.FindingGarbageCollection)
	f.Share, f.Seconds = l.Garbage, l.Garbage*(l.To-l.From)
	f.Text = fmt.Sprintf("Python collects garbage %s of the time, and no line of the program runs meanwhile",
		quantity.Percent(l.Garbage))
	f.Advice = diagnose.Garbage.Advice()
	return []diagnose.Finding{f}
}
