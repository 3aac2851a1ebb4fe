package verify

import "github.com/stoker-dev/stoker"

// Mean is the mean of the times of one run's steps with its 95 % interval. There are
// twenty at least.
func Mean(times []float64) stoker.Interval { return takeSample(times).meanInterval() }
