package device

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// betweenChips returns by how much the ratio of a program's steps on two chips may be off, as a
// logarithm: 85 % of the published pairs are inside (otherChips has the standard deviations).
func betweenChips(t training) float64 { return spreads * otherChips[t].device }

// Swap returns the ratio between a step's computing time on another device and on the load's
// own. If the network is unknown, it is between the ratios of the sheets' peaks and of their
// memory bandwidths.
func (l Load) Swap(to hardware.GPU, batch float64) stoker.Interval {
	other := l
	other.GPU = to
	if l.Workload.Name != "" && batch >= 1 {
		was, err := l.StepCurve()
		is, failed := other.StepCurve()
		if err == nil && failed == nil {
			ratio, off := is.At(batch).Point/was.At(batch).Point, math.Exp(betweenChips(training(l.Training)))
			return stoker.Interval{Low: ratio / off, Point: ratio, High: ratio * off}
		}
	}
	precision := l.Precision
	if precision == AnyPrecision {
		precision = hardware.FP16
	}
	peak := l.GPU.Peak(precision).Value / to.Peak(precision).Value
	memory := l.GPU.MemoryRate.Value / to.MemoryRate.Value
	if !positive(peak) || !positive(memory) {
		return stoker.Unknown()
	}
	return stoker.Interval{Low: math.Min(peak, memory), Point: math.Sqrt(peak * memory), High: math.Max(peak, memory)}
}
