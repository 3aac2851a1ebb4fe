package live

import (
	"fmt"
	"sort"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Marks of the curve of GPU-Util over time. [J] SageMaker's debugger calls a device
// under-used below 70 % (95th percentile), and fluctuating above that with a 5th below 10 %.
const (
	leastPattern = 0.20 // idle share from which its shape is worth a word
	fewSamples   = 30
	highUtil     = 0.70
	lowUtil      = 0.30
	often        = 0.15 // share of the samples that are high, and low, in a sawtooth
	leastSwings  = 4
	copiesShow   = 0.05 // share of the time from which copies shape the curve
)

// findPattern describes the curve of GPU-Util over time. No verdict rests on it: whether a
// sawtooth shows depends on how a step's length compares with the driver's window.
func (l filler) findPattern() []diagnose.Finding {
	device := 0
	if p := l.run.FindProcess(l.Costs.Window.PID); p != nil && p.Device >= 0 {
		device = p.Device
	}
	s := l.run.Find(recording.GPUUtilisation, fmt.Sprintf("gpu/%d", device))
	if s == nil || !(l.Idle >= leastPattern) || !l.HasSteps {
		return nil
	}
	part := s.Between(l.From, l.To)
	n := len(part.V)
	if n < fewSamples {
		return nil
	}
	sorted := append([]float64(nil), part.V...)
	sort.Float64s(sorted)
	low, high := stat.Quantile(sorted, 0.05), stat.Quantile(sorted, 0.95)
	swings, above, below := countSwings(part.V)
	name, text := "", ""
	switch {
	case high < highUtil && high-low < highUtil-lowUtil:
		name, text = "steadily-low",
			"GPU-Util stays between %s and %s: every short window of the driver holds both work and waiting, so "+
				"the curve has no sawtooth although the device waits"
	case above >= often && below >= often && swings >= leastSwings:
		name = "sawtooth"
		text = fmt.Sprintf("GPU-Util swings between %%s and %%s, every %s in the mean: the device works and waits "+
			"in turn, as if a step waits for its input", quantity.AboutSeconds((l.To-l.From)/swings))
	case above < often && high >= lowUtil:
		name, text = "spikes", "GPU-Util is low except for spikes (%s to %s): short work, and long waits between"
	case below < often && low <= lowUtil:
		name, text = "drops", "GPU-Util is high except for drops (%s to %s): now and then something holds the "+
			"device up: an evaluation, a checkpoint, an epoch's start, a slow batch"
	default:
		return nil
	}
	text = fmt.Sprintf(text, quantity.Percent(low), quantity.Percent(high))
	if l.Costs.Copying >= copiesShow || l.MayHoldCopies() {
		text += ". GPU-Util counts copies as well as kernels"
	}
	return []diagnose.Finding{diagnose.NewTextFinding(name, text)}
}

// countSwings counts how often a series goes from low to high, and the shares of its values
// that are high and low.
func countSwings(values []float64) (ups, high, low float64) {
	down := false
	for _, v := range values {
		switch {
		case v <= lowUtil:
			low++
			down = true
		case v >= highUtil:
			high++
			if down {
				ups++
			}
			down = false
		}
	}
	n := float64(len(values))
	return ups, high / n, low / n
}
