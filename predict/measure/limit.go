package measure

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// nearlyAll is the share of a step from which kernels take all of it: the residuals of loops
// that compute are up to 5 % (lawError of predict), and their windows drift by as much. [J]
const nearlyAll = 0.9

// LimitOf names what limits the steps of a forecast by what was seen of the run. The law takes
// all waiting of a fetch for storage, and the whole loop for the device. It is storage only
// where fetches were seen to wait for that more than for anything else, and the device only
// where its kernels alone take as long as such a step.
func (c Costs) LimitOf(f predict.Forecast) stoker.Resource {
	switch {
	case f.Bound == stoker.Storage && (c.Split == nil || c.Split.Storage+c.Split.Network < c.Split.Asleep):
		return stoker.Waiting
	case f.Bound == stoker.GPU && !(c.Busy*c.Step >= nearlyAll*f.Step.Point):
		return stoker.Loop
	}
	return f.Bound
}
