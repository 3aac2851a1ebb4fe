package measure

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// nearlyAll is the share of a step from which kernels take all of it: the residuals of loops
// that compute are up to 5 % (lawError of predict), and their windows drift by as much. [J]
const nearlyAll = 0.9

// LimitOf names the limit of the steps of a forecast, using what the recording shows. The law
// attributes all waiting of a fetch to storage, and the whole loop to the device. LimitOf names
// storage only if fetches were mostly seen to wait for it, and the device only if its kernels
// alone take as long as such a step.
func (c Costs) LimitOf(f predict.Forecast) stoker.Resource {
	switch {
	case f.Bound == stoker.Storage && (c.Split == nil || c.Split.Storage+c.Split.Network < c.Split.Asleep):
		return stoker.Waiting
	case f.Bound == stoker.GPU && !(c.Busy*c.Step >= nearlyAll*f.Step.Point):
		return stoker.Loop
	}
	return f.Bound
}
