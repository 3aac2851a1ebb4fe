package diagnose

import (
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
)

// Parts are what the window went into, as shares of it. They overlap with nothing
// and, with the missing rest, add up to 1. In Queued the launching thread is waiting for
// a core; Unnamed is idle time without a known cause.
type Parts struct {
	Input, Host, Long, Copies, Exchange, Queued, Unnamed float64

	// Rare is idle time of steps that do something now and then which the others do not.
	Rare float64

	Once float64 // of Long, what happens once

	// Of a server, 0 of others: idle time without any request, and with some while no core works for them.
	Unasked, Awaited float64
	Unlinked         float64 // idle time before work whose launch is not in the file
	Opening          float64 // of one rank's file, its first collective alone: it may wait for another rank's start
}

// unknownParts are those of a window whose gaps were not seen.
func unknownParts() Parts {
	nan := math.NaN()
	return Parts{Input: nan, Host: nan, Long: nan, Copies: nan, Exchange: nan, Queued: nan, Unnamed: nan, Rare: nan}
}

// KernelShares are shares of the time in which kernels of computation ran.
type KernelShares struct {
	Plain  float64 // matrix work without Tensor Cores
	Tensor float64 // matrix work on them
	Moving float64 // kernels that move data, with those of products with a vector
	Vector float64 // products with a vector
	Major  float64 // compute capability of the device; NaN if it is not NVIDIA's, too
}

// BesideInput is how much of what input leaves uncovered counts. Where input takes a fifth of the
// window, work between launches and copies that nothing covers are mostly what its lack left
// uncovered. [J] Three tenths are left, so that the runner-up is named.
func BesideInput(input float64) float64 { return 1 - 0.7*InputLost.Score(input) }

// LoseTimeBeside reports whether a good part of the window has no work of the device in it, apart from a part that is
// judged separately.
func (p Parts) LoseTimeBeside(part float64) bool {
	return !(p.Input+p.Host+p.Long+p.Copies+p.Queued+stat.Or(p.Rare, 0)-part < leastLost)
}

// AskDeviceLead is what ScoreDeviceLead answers.
const AskDeviceLead = "Would a device twice as fast bring more than whatever fills its gaps?"

// The device is the limit if a faster one brings more than removing the largest cause of its gaps. One of the next
// generation, or half the bits, is about twice as fast. [J]
const fasterDevice = 2

// ScoreDeviceLead scores whether a faster device brings more than filling its gaps: of a trace, and of a server. own is
// the device's own work, a share of the window.
func (p Parts) ScoreDeviceLead(own float64) float64 {
	gained := own * (1 - 1.0/fasterDevice)
	return DeviceLeads.Score(own) *
		DeviceLeadsBy.Score(gained-max(p.Input, p.Host, p.Long, p.Copies, p.Exchange, p.Awaited))
}
