package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Cheaper forecasts the job where preparing a sample costs that share of the core time
// that it costs now.
func (b Baseline) Cheaper(cost stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU = bounds.Multiply(after.PrepareCPU, bounds.OneOfSeveral(cost))
	return b.forecast(after, true, nil)
}

// MovedToDevice forecasts the job with a part of its preparation moved to the device. A sample
// then costs the share cost of its core time, and each step takes added seconds longer.
func (b Baseline) MovedToDevice(cost, added stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU = bounds.Multiply(after.PrepareCPU, bounds.OneOfSeveral(cost))
	after.Step = bounds.Add(after.Step, added)
	return b.forecast(after, true, nil)
}

// Faster bounds the worth of a device that computes so many times as fast: its computing
// would take as much less, and launching, copying and waiting would not.
func (b Baseline) Faster(times float64) Forecast {
	after := b.Setup
	computes := max(0, b.Step.Point-bounds.Given(b.Launch).Low)
	after.Step = stoker.Exactly(max(bounds.Least, b.Step.Point-computes*(1-1/times)))
	f := b.forecast(after, true, nil)
	f.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: max(1, f.Speedup.High)}
	f.Step, f.Throughput, f.Stall = stoker.Unknown(), stoker.Unknown(), stoker.Unknown()
	return f
}
