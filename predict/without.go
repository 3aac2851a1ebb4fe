package predict

import "github.com/stoker-dev/stoker"

// Without is what it would be worth if such shares of the core time and of the waiting
// of preparing a batch were not there.
func (b Baseline) Without(core, waiting stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU, after.Wait = less(b.PrepareCPU, core), less(b.Wait, waiting)
	return b.forecast(after, core.High > 0 || waiting.High > 0, nil)
}

// less takes a share off a cost. What saves most is the least cost.
func less(cost, share stoker.Interval) stoker.Interval {
	return stoker.Interval{
		Low: max(least, cost.Low*(1-share.High)), Point: max(least, cost.Point*(1-share.Point)), High: max(least, cost.High*(1-share.Low)),
	}
}
