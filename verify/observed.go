package verify

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// observed is one run with all its steady steps and the costs of its judged window.
type observed struct {
	name   string // "before", "after (2 of 3)"
	run    *recording.Run
	window recording.Window
	costs  measure.Costs
}

// observe returns a run as observed.
func observe(run *recording.Run, name string) observed {
	costs, _ := measure.Slowest(run) // without a window there are no steps, and tooFew refuses the run
	return observed{name: name, run: run, window: run.Whole(costs.Window), costs: costs}
}

// samples returns the mean number of samples per step: the recorded number, or else the batch
// size; 0 if neither is known.
func (s observed) samples() float64 {
	if n := s.window.Samples(); n > 0 || len(s.window.Steps) == 0 {
		return n
	}
	n, _ := s.judgedLoader().Settings.Float(stoker.BatchSize)
	return n
}

// judgedLoader returns the judged loader; the zero Loader if unknown.
func (s observed) judgedLoader() recording.Loader {
	if l := s.run.FindLoader(s.window.PID, s.window.Loader); l != nil {
		return *l
	}
	return recording.Loader{}
}

// group holds the runs of one side.
type group []observed

// observeAll returns the runs of a side, each with a name.
func observeAll(side string, runs []*recording.Run) group {
	g := make(group, len(runs))
	for i, run := range runs {
		name := side
		if len(runs) > 1 {
			name = fmt.Sprintf("%s (%d of %d)", side, i+1, len(runs))
		}
		g[i] = observe(run, name)
	}
	return g
}
