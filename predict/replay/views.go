package replay

import "github.com/stoker-dev/stoker"

// view is an end of every interval: a trace is played once for the best case, once
// for the likely one, once for the worst.
type view int

const (
	optimist view = iota
	likely
	pessimist
)

// of picks from an interval whose low end is the better one.
func (v view) of(i stoker.Interval) float64 { return [...]float64{i.Low, i.Point, i.High}[v] }

// What edits do not take from the trace itself. Of every interval the low end is
// the better one. Where no measurement is named, it is an assumption of ours.
var (
	// takeBatch is what it takes the loop to take a finished batch from the workers'
	// queue, seconds. The point is the start value of the published procedure. The
	// worst is what full queues took on 2 cores AMD EPYC under load 5 to 9, where the
	// worker that is woken takes the loop's core: medians 1.7 to 1.8 ms (2026-11-21,
	// pair loader-sync-kept of bench/replay/pairs.py, n = 3 recordings). The best is
	// an assumption.
	takeBatch = stoker.Interval{Low: 0.1e-3, Point: 0.3e-3, High: 2e-3}

	// sharedRate is by which factor a pageable copy takes longer when the batch
	// arrives in shared memory, whose pages the trainer maps anew. Two public pairs of
	// traces (pytorch/kineto, ResNet-50, num_workers 0 and 4): from 8.3 to 11.1 GB/s
	// to 5.3 to 6.1 GB/s, that is 1.4 to 2.1 (n = 2; the point is the ratio of the
	// means). Beside that, the launching thread slows down by predict.Crowding.
	sharedRate = stoker.Interval{Low: 1.4, Point: 1.7, High: 2.1}

	// linkRate is how fast a pinned copy is against the table's rate for the link.
	// Assumption: the table's rate is a good one.
	linkRate = stoker.Interval{Low: 1, Point: 1, High: 1.5}

	// asyncCall is what a copy that does not block takes the launching thread,
	// seconds: 5 to 10 us (published procedure).
	asyncCall = stoker.Interval{Low: 5e-6, Point: 8e-6, High: 15e-6}

	// mergedThink is how much of the thread's time between two tiny copies, outside
	// of operators, remains when they are one: the tensors are still made. Of the
	// operators that copied them nothing remains. Assumption.
	mergedThink = stoker.Interval{Low: 0, Point: 0.5, High: 1}

	// graphHost is how much of the host's time in and between launches remains when a
	// graph is launched instead. The published procedure puts the gain at 0.5 to 0.9
	// of the ceiling; here the factor stands at the cause.
	graphHost = stoker.Interval{Low: 0.05, Point: 0.25, High: 0.5}

	// fusedShare is how much of the bytes' saving a compiler reaches: 0.3 to 0.8 of it
	// in the published procedure. Low is best, so these are the parts not reached.
	fusedMissed = stoker.Interval{Low: 0.2, Point: 0.5, High: 0.7}

	// matrixGain bounds what matrix kernels gain on Tensor Cores: at most 3, whatever
	// the peaks' ratio (published procedure); the other values are assumptions.
	matrixGain = stoker.Interval{Low: 3, Point: 2, High: 1.3}

	// halfBytes is what remains of a kernel that memory bandwidth limits, with 16-bit
	// values: 0.5 at best; casts and weights in float32 take some of it.
	halfBytes = stoker.Interval{Low: 0.5, Point: 0.65, High: 0.9}

	// deviceReach is how much of the ratio of two devices' peaks kernels see, as its
	// exponent. Assumption.
	deviceReach = stoker.Interval{Low: 1, Point: 0.8, High: 0.5}

	// fixedKernel is the part of a kernel's time that does not grow with the batch,
	// seconds: a launch's own time on the device. Assumption.
	fixedKernel = stoker.Interval{Low: 4e-6, Point: 2e-6, High: 0}

	// replayError is by which factor a step differs from its replay though every cost
	// is known. Assumption of the closed law's size (predict, lawError: 0.98 to 1.05).
	replayError = stoker.Interval{Low: 0.98, Point: 1.01, High: 1.05}
)
