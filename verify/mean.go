package verify

import "github.com/stoker-dev/stoker"

// Mean returns the mean of the step times of one run with its 95 % interval. It needs at least
// twenty.
func Mean(times []float64) stoker.Interval { return takeSample(times).meanInterval() }
