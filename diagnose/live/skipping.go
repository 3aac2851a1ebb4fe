package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of skipping. [J] Gradients are accumulated over fewer batches.
const (
	fewSkipped   = 50
	skippedTimes = 8 // as many times as the batches of an optimizer step later on
)

// findSkipping tells of a loop that fetches batches and does nothing with them until it comes
// to where it left off: what frameworks do to resume in the middle of an epoch.
func (l filler) findSkipping() (diagnose.Finding, bool) {
	if l.Costs.Window.Loader == recording.OwnLoop { // nothing is fetched
		return diagnose.Finding{}, false
	}
	n, from, to, gap, most := 0, 0.0, 0.0, 0, 1
	trains := false
	for _, s := range l.run.Steps {
		if s.PID != l.Costs.Window.PID || s.Loader != l.Costs.Window.Loader || !(s.Optimized >= 0) {
			continue
		}
		switch {
		case trains && s.Optimized == 0:
			gap++
		case trains:
			most, gap = max(most, gap+1), 0
		case s.Optimized > 0:
			trains = true
		default:
			if n == 0 {
				from = s.Start
			}
			n, to = n+1, s.Start+s.Period
		}
	}
	if !trains || n < max(fewSkipped, skippedTimes*most) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingSkippingBatches,
		fmt.Sprintf("%d batches were fetched and thrown away in %s before the first was trained with, as when a "+
			"run is resumed in the middle of an epoch: a sampler that begins there skips them without preparing them",
			n, quantity.AboutSeconds(to-from)))
	f.From, f.To, f.Seconds = from, to, to-from
	return f, true
}
