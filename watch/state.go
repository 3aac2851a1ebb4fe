package watch

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// State is the state of a run at some moment, with the conclusions from it.
type State struct {
	Name    string // of the recording or process
	Run     *recording.Run
	Verdict diagnose.Verdict // of this moment of the run, or of an earlier one
	Plan    advise.Plan
	// Attached says that the process was running before it was observed.
	Attached bool
	Machine  bool   // the whole machine, which is not judged, instead of a run
	Gone     bool   // it is no longer displayed
	Note     string // its source, or a problem with it

	parts []part // of its pipeline
	held  held
}

// held is the displayed conclusion and the one that may replace it.
type held struct {
	key       string  // displayed class and best fix; "" for none yet
	confirmed float64 // when a refresh last confirmed it, seconds of the run
	other     string  // what all refreshes since other was set concluded
	since     float64 // when that began
}

// part is a part of a pipeline with the rate it would reach alone.
type part struct {
	by      stoker.Resource
	rate    float64
	samples bool // the rate is in samples, else in steps
}

// label returns a run's machine and ranks if known, else its name.
func (s State) label() string {
	if s.Run == nil || s.Run.Facts.Host == "" {
		return s.Name
	}
	least, most := math.MaxInt, -1
	for _, p := range s.Run.Facts.Processes {
		if p.Role == recording.RoleTrainer {
			least, most = min(least, p.Rank), max(most, p.Rank)
		}
	}
	switch {
	case most < 0:
		return s.Run.Facts.Host
	case least == most:
		return fmt.Sprintf("%s rank %d", s.Run.Facts.Host, most)
	}
	return fmt.Sprintf("%s ranks %d-%d", s.Run.Facts.Host, least, most)
}
