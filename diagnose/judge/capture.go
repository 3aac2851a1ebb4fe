package judge

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Slowdown is what a capture cost the run, by the run's own steps. Seconds; NaN is
// unknown.
type Slowdown struct {
	Before float64 // mean step in the seconds before
	During float64 // mean step from the request to the finished file
	Worst  float64 // the longest step meanwhile
	Extra  float64 // what all steps meanwhile took longer, together
	Base   int     // steps before
	Steps  int     // steps meanwhile
}

// Bounds of what a capture is compared with.
const (
	baseTime  = 30.0 // seconds before
	baseSteps = 5    // fewer tell nothing
)

// CaptureCost compares the steps while a trace was captured with those before.
func CaptureCost(run *recording.Run, c recording.Capture) Slowdown {
	var before, during []float64
	for _, s := range run.Steps {
		if s.PID != c.PID || s.First || s.Phase == recording.Evaluate || s.Phase == recording.Checkpoint ||
			!(s.Period > 0) {
			continue
		}
		switch end := s.Start + s.Period; {
		case end < c.From && s.Start >= c.From-baseTime:
			before = append(before, s.Period)
		case end >= c.From && s.Start <= c.To:
			during = append(during, s.Period)
		}
	}
	d := Slowdown{
		Before: math.NaN(), During: math.NaN(), Worst: math.NaN(), Extra: math.NaN(), Base: len(before),
		Steps: len(during),
	}
	if len(before) < baseSteps || len(during) == 0 {
		return d
	}
	d.Before, d.During, d.Worst = stat.Mean(before), stat.Mean(during), slices.Max(during)
	d.Extra = float64(len(during)) * (d.During - d.Before)
	return d
}
