package replay

import "math"

// loader hands out batches that worker processes prepare: PyTorch's rule, by which
// batch i goes to worker i mod W, and a worker is at most P batches ahead
// (torch/utils/data/dataloader.py).
//
//	F(i) = max(F(i-W), R(i-W*P)) + S(i)    a worker has finished batch i
//	R(i) >= F(i)                           the loop has it
type loader struct {
	workers int // 0: as recorded
	ahead   int // P
	seconds func(load int32) float64

	finished, returned []int64
	process            int32
	next               int
}

// defaultAhead is PyTorch's prefetch_factor.
const defaultAhead = 2

func (l *loader) start() {
	l.finished, l.returned, l.next = l.finished[:0], l.returned[:0], 0
}

// take is when the next batch is ready, for a loop that asks at an instant. The
// workers begin evenly spread, as they run after a while, with empty queues.
func (l *loader) take(t *Trace, load int32, asked int64) int64 {
	i := l.next
	l.next++
	cost := int64(math.Round(l.seconds(load) * 1e9))
	begin := asked + int64(float64(cost)*(float64(i+1)/float64(l.workers)-1))
	if i >= l.workers {
		begin = l.finished[i-l.workers]
	}
	if before := i - l.workers*l.ahead; before >= 0 && before < len(l.returned) {
		begin = max(begin, l.returned[before])
	}
	if i > 0 && i < l.workers {
		first := l.finished[0] - int64(math.Round(l.seconds(load)*1e9))
		begin = min(begin, first+int64(float64(cost)*float64(i)/float64(l.workers)))
	}
	l.finished = append(l.finished, begin+cost)
	return begin + cost
}

func (l *loader) taken(at int64) { l.returned = append(l.returned, at) }
