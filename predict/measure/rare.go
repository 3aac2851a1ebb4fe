package measure

import (
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Rare is the work of the loop in some steps only: logging, saving or uploading every so many
// steps, a recompilation, garbage collection.
type Rare struct {
	Count   int     // steps that do it
	Seconds float64 // by which they are longer than the one in the middle, all together
	Every   float64 // steps from one to the next, where that is regular; NaN if it is not
	Spans   [][2]float64
}

// Thresholds of Rare.
const (
	// rareLoops is how many times the loop in the middle one is from which it does something else.
	// [J] Batches of text differ in length by up to that.
	rareLoops = 3.0
	// rareLeast is by how many seconds it is longer at least. [J] Below that the scheduler of a busy
	// machine makes it so (bench/labelled).
	rareLeast = 0.02
	// regularly is the coefficient of variation of the distances up to which they are one. [J]
	regularly = 0.2
)

// findRare examines loops on the device's clock, where that is known: all that is queued there covers
// a loop of the host's that is long.
func findRare(w recording.Window) Rare {
	loops := make([]float64, len(w.Steps))
	var usual []float64
	for i, s := range w.Steps {
		loops[i] = loopOnDevice(s)
		if !s.First {
			usual = append(usual, loops[i])
		}
	}
	middle := stat.Median(usual)
	r, last := Rare{Every: math.NaN()}, -1
	var apart []float64
	for i, s := range w.Steps {
		over := loops[i] - middle
		if s.First || !(over >= rareLeast) || loops[i] < rareLoops*middle {
			continue
		}
		r.Count++
		r.Seconds += over
		end := s.Start + s.Period
		r.Spans = append(r.Spans, [2]float64{max(s.Start, end-over), end})
		if last >= 0 && s.N > last {
			apart = append(apart, float64(s.N-last))
		}
		last = s.N
	}
	if len(apart) >= 2 && !(stat.CV(apart) > regularly) {
		r.Every = stat.Median(apart)
	}
	return r
}

// RareShare returns the share of the steps' time that goes to this rare work.
func (c Costs) RareShare() float64 {
	all := c.Step * float64(len(c.Window.Steps))
	if !(all > 0) {
		return 0
	}
	return min(1, c.Rare.Seconds/all)
}

// loopOnDevice returns how long a step takes without its wait for input.
func loopOnDevice(s recording.Step) float64 {
	if !math.IsNaN(s.DevicePeriod) && !math.IsNaN(s.Idle) {
		return s.DevicePeriod - s.Idle
	}
	return s.Period - stat.Or(s.Wait, 0)
}
