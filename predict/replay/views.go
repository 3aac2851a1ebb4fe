package replay

import "github.com/stoker-dev/stoker"

// What edits do not take from the trace itself. Of costs the low end is the better
// one (View.PickCost), of what saves time the high end (View.Gain). Where no measurement
// is named, it is our assumption.
var (
	// takeBatch is the time that the loop needs to take a finished batch from the workers'
	// queue, in seconds. Best and point are assumptions. [J] The worst was measured on full
	// queues on 2 cores AMD EPYC under load 5 to 9, where the worker that wakes up takes the
	// loop's core: medians 1.7 to 1.8 ms (2026-11-21, pair loader-sync-kept of
	// bench/replay/pairs.py, n = 3 recordings).
	takeBatch = stoker.Interval{Low: 0.1e-3, Point: 0.3e-3, High: 2e-3}

	// sharedRate is by which factor a pageable copy takes longer when the batch
	// arrives in shared memory, whose pages the trainer maps again. Two public pairs of
	// traces (pytorch/kineto, ResNet-50, num_workers 0 and 4): from 8.3 to 11.1 GB/s
	// to 5.3 to 6.1 GB/s, that is 1.4 to 2.1 (n = 2; the point is the ratio of the
	// means). Besides, the launching thread slows down by predict.Crowding.
	sharedRate = stoker.Interval{Low: 1.4, Point: 1.7, High: 2.1}

	// linkLoss is by which factor a pinned copy takes longer than at the table's rate
	// for the link. Assumption: the table's rate is a good one.
	linkLoss = stoker.Interval{Low: 1, Point: 1, High: 1.5}

	// asyncCall is the launching thread's time for a copy that does not block, in seconds: 5 to
	// 10 us. [J]
	asyncCall = stoker.Interval{Low: 5e-6, Point: 8e-6, High: 15e-6}

	// mergedThink is how much of the thread's time between two tiny copies, outside
	// of operators, remains when they are one: the tensors are still made. Of the
	// operators that copied them nothing remains. Assumption.
	mergedThink = stoker.Interval{Low: 0, Point: 0.5, High: 1}

	// graphHost is how much of the host's time in and between launches remains when a
	// graph is launched instead. [J]
	graphHost = stoker.Interval{Low: 0.05, Point: 0.25, High: 0.5}

	// fusedMissed is how much of the bytes' saving a compiler does not reach: it reaches
	// 0.3 to 0.8 of it. [J]
	fusedMissed = stoker.Interval{Low: 0.2, Point: 0.5, High: 0.7}

	// matrixGain bounds what matrix kernels gain on Tensor Cores: at most 3, regardless of
	// the peaks' ratio. [J]
	matrixGain = stoker.Interval{Low: 1.3, Point: 2, High: 3}

	// halfBytes is what remains of a kernel that memory bandwidth limits, with 16-bit
	// values: 0.5 at best; casts and weights in float32 take some of it.
	halfBytes = stoker.Interval{Low: 0.5, Point: 0.65, High: 0.9}

	// deviceReach is how much of the ratio of two devices' peaks kernels see, as its
	// exponent. Assumption.
	deviceReach = stoker.Interval{Low: 0.5, Point: 0.8, High: 1}

	// fixedKernel is the part of a kernel's time that does not grow with the batch,
	// seconds: a launch's own time on the device. Assumption.
	fixedKernel = stoker.Interval{Low: 0, Point: 2e-6, High: 4e-6}

	// replayError is by which factor a step differs from its replay though every cost
	// is known. Assumption of the closed law's size (predict, lawError: 0.98 to 1.05).
	replayError = stoker.Interval{Low: 0.98, Point: 1.01, High: 1.05}
)
