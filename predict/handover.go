package predict

import "stoker"

// HandOver is what handing a batch from a worker to its trainer costs, core
// seconds, both sides together; unknown where the batch's size is. The constants
// stand in throughput.go with their source.
func HandOver(bytes float64) stoker.Interval {
	per := handOver
	if bytes > largeBatch {
		per = handOverLarge
	}
	return stoker.Interval{Low: per.Low * bytes, Point: per.Point * bytes, High: per.High * bytes}
}

// Crowding is the factor by which a core slows down when its neighbours come into
// use. Measured, see throughput.go.
func Crowding() stoker.Interval { return crowding }
