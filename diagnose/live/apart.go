package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// findApart tells of evaluation and checkpoints between the judged steps: separate phases.
func (l filler) findApart() []diagnose.Finding {
	w, took, waited := l.Costs.Window, map[recording.Phase]float64{}, 0.0
	places := map[string]bool{}
	for _, s := range w.Apart {
		took[s.Phase] += stat.Or(s.Period, stat.Or(s.Wait, 0))
		if s.Loader == recording.OwnLoop || s.Phase == recording.Traced {
			continue
		}
		waited += s.Wait
		if loader := l.run.FindLoader(s.PID, s.Loader); loader != nil && loader.Where != "" && s.Loader != w.Loader {
			places[loader.Where] = true
		}
	}
	over := "over the same loader"
	if names := slices.Sorted(maps.Keys(places)); len(names) > 0 {
		over = "over the loader of " + strings.Join(names, " and ")
	}
	if !l.HasSteps && len(places) == 0 {
		over = "of the loop's own"
	} else {
		over += ", which waits for input " + quantity.Percent(min(1, waited/took[recording.Evaluate])) + " of it"
	}
	return slices.Concat(l.findPhase(diagnose.FindingEvaluation, "evaluation "+over, took[recording.Evaluate]),
		l.findPhase(diagnose.FindingCheckpoint, "saving checkpoints", took[recording.Checkpoint]))
}

// findPhase is the finding that so many seconds between the judged steps go into something else.
func (l filler) findPhase(name, what string, took float64) []diagnose.Finding {
	share := took / (l.Costs.Window.End - l.Costs.Window.Start)
	if !(share >= leastApart) {
		return nil
	}
	f := diagnose.NewTextFinding(name, fmt.Sprintf("%s of the judged time, by the host's clock, goes into %s. It is not counted above",
		quantity.Percent(share), what))
	f.Seconds, f.Share = took, share
	return []diagnose.Finding{f}
}

// leastApart is the share of the window from which evaluation is worth a word. [J]
const leastApart = 0.01
