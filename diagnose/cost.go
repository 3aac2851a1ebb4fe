package diagnose

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// Cost is what the idle share of the judged device costs in an hour of running
// on like this. NaN is unknown.
type Cost struct {
	Share float64         // idle share of the device, 0 to 1; at least the stall where idle is unknown
	Hour  predict.Waste   // per hour of one GPU
	Watts stoker.Interval // drawn while the device is idle
	// where Watts comes from: "measured", "emulated", "row" (the device's row) or "" if unknown
	Source  string
	Prices  predict.Prices
	Assumed bool // an emulated device: what the real one would cost
}
