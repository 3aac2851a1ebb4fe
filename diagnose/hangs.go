package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Start values of hangs in a run. [J] Half a second is what people notice in a log.
const (
	hangTime  = 0.5 // seconds above the median
	fewHangs  = 3
	hangShare = 0.01 // of the window
)

// hangs tells of steps that take half a second and more longer than the others.
func (l live) hangs() (Finding, bool) {
	w := l.Costs.Window
	var times []float64
	for _, s := range w.Steps {
		times = append(times, s.Period)
	}
	median := stat.Median(known(times))
	if !(median < hangTime) {
		return Finding{}, false // steps that are as long by themselves tell nothing
	}
	n, lost, waited, starts := 0, 0.0, 0.0, []float64(nil)
	for _, s := range w.Steps {
		if over := s.Period - median; over >= hangTime && !s.First {
			n, lost, starts = n+1, lost+over, append(starts, s.Start)
			waited += max(0, min(over, s.Wait-l.Costs.Wait))
		}
	}
	share := lost / (w.End - w.Start)
	if n < fewHangs || share < hangShare {
		return Finding{}, false
	}
	f := said("hangs", fmt.Sprintf("%d of %d steps take half a second or more longer than the median of %s: %s of the time in all", n, len(w.Steps), stoker.AboutSeconds(median), stoker.Percent(share)))
	switch part := waited / lost; {
	case part > 0.7:
		f.Text += ": they wait for a batch"
	case part < 0.3:
		f.Text += ": not for a batch, but between the batches (a checkpoint, logging, an allocation, garbage collection, another rank)"
	}
	if every := beat(starts); every > 0 {
		f.Text += fmt.Sprintf("; one comes every %s", stoker.AboutSeconds(every))
	}
	f.Seconds, f.Share, f.Saves = lost, share, share
	return f, true
}

// beat is the time between events that come regularly; 0 where they do not.
func beat(at []float64) float64 {
	var apart []float64
	for i := 1; i < len(at); i++ {
		apart = append(apart, at[i]-at[i-1])
	}
	if cv := stat.CV(apart); len(apart) < fewHangs || math.IsNaN(cv) || cv > 0.2 {
		return 0
	}
	return stat.Mean(apart)
}
