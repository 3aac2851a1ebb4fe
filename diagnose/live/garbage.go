package live

import (
	"fmt"
	"math"
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
	l.Garbage = l.findCollections().Rate(l.From, l.To)
	share, _ := l.shareOfGarbage()
	seconds := share * l.LoopLines.Seconds
	for i := range l.LoopLines.Lines {
		line := &l.LoopLines.Lines[i]
		native := slices.Contains(diagnose.OfCode, line.Kind) || line.Kind == diagnose.PerRequest ||
			slices.Contains(anywhere, line.Kind)
		if native && line.Call.File == "" {
			if seconds >= mostlyGarbage*line.Seconds && share >= diagnose.HeldTrigger {
				line.Kind = diagnose.Garbage
			}
			return
		}
	}
}

func (l filler) findCollections() *recording.Series {
	return l.run.Find(recording.Garbage, fmt.Sprintf("process/%d", l.Costs.Window.PID))
}

// shareOfGarbage is the share of the time in which Python collected garbage, and a word behind it if it is the least.
func (l filler) shareOfGarbage() (share float64, least string) {
	if math.IsNaN(l.Garbage) {
		return l.leastGarbage(), " at least"
	}
	return l.Garbage, ""
}

// seenLate is how long a process may have run before it is first seen: the recorder looks for new ones each second.
const seenLate = 1.0

// leastGarbage is the least share of a loop's time in which Python collected garbage, by a sum that a process tells
// once, as one without steps does when it ends: all time before the device first works counts as collections.
func (l filler) leastGarbage() float64 {
	sums, process := l.findCollections(), l.run.FindProcess(l.Costs.Window.PID)
	if sums == nil || len(sums.T) == 0 || process == nil {
		return 0
	}
	_, subject := l.findGPU()
	begin, last := l.From, len(sums.T)-1
	if kernels := l.run.KernelSeries(subject); kernels != nil {
		if at := slices.IndexFunc(kernels.V, func(v float64) bool { return v > 0 }); at >= 0 {
			begin = min(begin, kernels.T[at])
		}
	}
	before := begin - process.Start + seenLate
	return max(0, sums.V[last]-before) / max(sums.T[last]-begin, seenLate)
}

// findGarbage tells of collections that take a good part of the time.
func (l filler) findGarbage() []diagnose.Finding {
	share, least := l.shareOfGarbage()
	if !(share >= diagnose.HeldTrigger) {
		return nil
	}
	f := diagnose.NewFinding(diagnose.FindingGarbageCollection)
	f.Share, f.Seconds = share, share*(l.To-l.From)
	f.Text = fmt.Sprintf("Python collects garbage %s of the time%s, and no line of the program runs meanwhile",
		quantity.Percent(share), least)
	f.Advice = diagnose.Garbage.Advice()
	return []diagnose.Finding{f}
}
