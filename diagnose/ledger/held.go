package ledger

import (
	"slices"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// heldInRare is how much of the time that some steps take longer than the others the launching thread
// was only held up, on a machine whose cores others have. That is no work between steps. A thread that
// sleeps is not held up: it waits for a timer or another process. One that works is seen on lines between the steps.
func (f *filler) heldInRare(rare float64) float64 {
	if f.OthersTakeCores.Score <= 0 && f.QuotaTakesCores.Score <= 0 {
		return 0
	}
	series := f.run.Find(recording.ThreadState, measure.LaunchThread(f.run, f.Costs.Window.PID))
	wanted, looks := 0.0, 0.0
	for _, s := range f.Costs.Rare.Spans {
		for _, state := range series.Between(s[0], s[1]).V {
			looks++
			if recording.State(state) == recording.Running {
				wanted++
			}
		}
	}
	if !(looks > 0) {
		return 0
	}
	return max(0, rare*wanted/looks-f.workBeside())
}

// workBeside is for how long samples find the launching thread awake on lines of the program that are neither steps nor
// the loader's, or in a function that evaluates. A line that waits for the device, launches or takes batches over does
// so in all of its samples.
func (f *filler) workBeside() (seconds float64) {
	steps := map[recording.Place]bool{}
	for _, line := range f.LoopLines.Lines {
		if slices.Contains(beside, line.Kind) {
			steps[line.Own] = true
		}
	}
	for _, line := range f.LoopLines.Lines {
		if !steps[line.Own] && line.Own.File != "" && !f.isSaved(line) {
			seconds += line.Seconds - line.Asleep
		}
	}
	return max(seconds, f.LoopLines.Evaluating)
}
