package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// Start values of spikes. [J]
const (
	spikeTimes = 10.0 // medians that a wait lasts
	spikeShare = 0.05 // of the window
)

// findStorageSpikes tells of a file system behind a network that now and then takes much
// longer than usual for a batch.
func (l filler) findStorageSpikes() (diagnose.Finding, bool) {
	m, w := l.findMount(), l.Costs.Window
	if m == nil || !m.Remote || len(w.Steps) < fewSteps {
		return diagnose.Finding{}, false
	}
	var waits, spikes []float64
	for _, s := range w.Steps {
		if !s.First {
			waits = append(waits, s.Wait)
		}
	}
	usual := max(stat.Median(waits), diagnose.UsualWait*l.Costs.HostStep)
	for _, v := range waits {
		if v > spikeTimes*usual {
			spikes = append(spikes, v)
		}
	}
	lost := stat.Mean(spikes) * float64(len(spikes))
	share := lost / (w.End - w.Start)
	if len(spikes) < fewHangs || share < spikeShare {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingStorageSpikes,
		fmt.Sprintf("%d of %d waits for a batch last more than %.0f times the usual %s, and with it %s of the "+
			"time: %s (%s) answers late now and then. A deeper queue (prefetch_factor) bridges what is shorter "+
			"than the batches in it, and a copy on a local disk has none of it",
			len(spikes), len(waits), spikeTimes, quantity.AboutSeconds(usual), quantity.Percent(share), m.Point,
			m.Kind))
	f.Seconds, f.Share, f.Saves = lost, share, share
	return f, true
}
