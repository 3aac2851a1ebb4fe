package predict

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Without is the worth if such shares of the core time and of the waiting
// of preparing a batch were not there.
func (b Baseline) Without(core, waiting stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU, after.Wait = reduceCost(b.PrepareCPU, core), reduceCost(b.Wait, waiting)
	return b.forecast(after, core.High > 0 || waiting.High > 0, nil)
}

// reduceCost takes a share off a cost. What saves most is the least cost.
func reduceCost(cost, share stoker.Interval) stoker.Interval {
	return stoker.Interval{
		Low: max(bounds.Least, cost.Low*(1-share.High)), Point: max(bounds.Least, cost.Point*(1-share.Point)),
		High: max(bounds.Least, cost.High*(1-share.Low)),
	}
}
