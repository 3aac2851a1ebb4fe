package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Cheaper forecasts the job if preparing a sample costs that share of its present core time.
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

// Faster bounds the worth of a device that computes this many times as fast. Computing gets
// shorter, but launching, copying and waiting do not.
func (b Baseline) Faster(times float64) Forecast {
	after := b.Setup
	computes := max(0, b.Step.Point-bounds.Given(b.Launch).Low)
	after.Step = stoker.Exactly(max(bounds.Least, b.Step.Point-computes*(1-1/times)))
	f := b.forecast(after, true, nil)
	f.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: max(1, f.Speedup.High)}
	f.Step, f.Throughput, f.Stall = stoker.Unknown(), stoker.Unknown(), stoker.Unknown()
	return f
}

// Without forecasts the job without these shares of the core time and of the waiting that
// preparing a batch takes.
func (b Baseline) Without(core, waiting stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU, after.Wait = reduceCost(b.PrepareCPU, core), reduceCost(b.Wait, waiting)
	return b.forecast(after, core.High > 0 || waiting.High > 0, nil)
}

// reduceCost subtracts a share from a cost. The largest saving gives the least cost.
func reduceCost(cost, share stoker.Interval) stoker.Interval {
	return stoker.Interval{
		Low: max(bounds.Least, cost.Low*(1-share.High)), Point: max(bounds.Least, cost.Point*(1-share.Point)),
		High: max(bounds.Least, cost.High*(1-share.Low)),
	}
}
