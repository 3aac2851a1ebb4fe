package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values for steps that get longer. [J] Of 70 recordings of bench/reports they find the one whose steps do.
const (
	stretches     = 6    // parts of a run, of as many steps each, that are compared
	perStretch    = 10   // the fewest steps in one
	startSteps    = 20   // one in so many steps is left out at the start
	longerEach    = 1.02 // how much longer the median step of each part is than that of the part before, at least
	longerAtEnd   = 1.5  // and that of the last part than that of the first
	growsOn       = 0.3  // the share of the growth that comes in the second half, at least: else it ends
	mostlyOneLine = 0.5  // the share of the growth of the function that is named, at least
)

// findLongerSteps tells of steps that get longer from part to part of the run, and of the function whose time grows
// with them.
func (l filler) findLongerSteps() []diagnose.Finding {
	steps, medians := l.measureStretches()
	if !getLonger(medians) {
		return nil
	}
	first, last := medians[0], medians[len(medians)-1]
	f := diagnose.NewFinding(diagnose.FindingLongerSteps)
	begins := first - (last-first)/(2*(stretches-1)) // the first part's own growth is taken off
	f.Saves = 1 - begins/l.Costs.Step
	f.From, f.To = steps[0].Start, steps[len(steps)-1].Start
	f.Text = fmt.Sprintf("steps get longer all the time: the median one took %s at the beginning and takes %s now, %d steps later",
		quantity.AboutSeconds(first), quantity.AboutSeconds(last), len(steps))
	f.Advice = diagnose.LongerStepsAdvice
	if line, grows := l.findGrowingLine(steps); grows >= mostlyOneLine*(last-first) {
		f.Source = line.Short()
		f.Text += fmt.Sprintf(". What grows is mostly %s", line.String())
	}
	return []diagnose.Finding{f}
}

// measureStretches returns the steps of the judged loop after its start, and the median step of each part of them,
// seconds; nil if they are too few.
func (l filler) measureStretches() (steps []recording.Step, medians []float64) {
	w := l.Costs.Window
	for _, s := range l.run.Steps {
		if s.PID == w.PID && s.Loader == w.Loader && s.Period > 0 && len(w.Steps) > 0 && s.Phase == w.Steps[0].Phase {
			steps = append(steps, s)
		}
	}
	if steps = steps[len(steps)/startSteps:]; len(steps) < stretches*perStretch {
		return nil, nil
	}
	for i := range stretches {
		var periods []float64
		for _, s := range steps[i*len(steps)/stretches : (i+1)*len(steps)/stretches] {
			periods = append(periods, s.Period)
		}
		medians = append(medians, stat.Median(periods))
	}
	return steps, medians
}

// getLonger reports whether medians grow from each to the next, and on to the end.
func getLonger(medians []float64) bool {
	if len(medians) == 0 {
		return false
	}
	for i, m := range medians[1:] {
		if m < longerEach*medians[i] {
			return false
		}
	}
	first, middle, last := medians[0], medians[len(medians)/2-1], medians[len(medians)-1]
	return last >= longerAtEnd*first && last-middle >= growsOn*(last-first)
}

// findGrowingLine is the function on which the launching thread works longer in the last part of steps than in the
// first, and by how many seconds a step.
func (l filler) findGrowingLine(steps []recording.Step) (diagnose.LoopLine, float64) {
	each := len(steps) / stretches
	before, now := l.workPerStep(steps[:each]), l.workPerStep(steps[len(steps)-each:])
	for i := range before {
		before[i].Seconds = -before[i].Seconds
	}
	return diagnose.BusiestFunction(append(before, now...), func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && !line.Kind.IsWait()
	})
}

// workPerStep is where the launching thread was awake during some steps, seconds a step.
func (l filler) workPerStep(steps []recording.Step) []diagnose.LoopLine {
	from, to := steps[0].Start, steps[len(steps)-1].Start
	all := FindLoopLines(l.run, l.Costs.Window.PID, from, to)
	for i := range all.Lines {
		line := &all.Lines[i]
		line.Seconds = (line.Seconds - line.Asleep) / all.Seconds * (to - from) / float64(len(steps)-1)
	}
	return all.Lines
}
