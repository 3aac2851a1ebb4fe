package replay

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
	lead    int64 // what a step takes next to loading: for so long the workers were ahead when the trace began

	finished, returned []int64
	origin             int64
	next               int
	opened             bool // the loader was made when its first batch was asked for
}

// defaultAhead is PyTorch's prefetch_factor.
const defaultAhead = 2

func (l *loader) startEpoch() {
	l.finished, l.returned, l.next, l.opened = l.finished[:0], l.returned[:0], 0, false
}

// open makes the loader at an instant: all workers begin then, and nothing hides the first batch.
func (l *loader) open(at int64) {
	l.startEpoch()
	l.origin, l.opened = at, true
}

// takeBatch returns when the next batch is ready, for a loop that asks at an instant. The
// workers begin evenly spread, as they run after a while, and as far ahead as one
// step lets them be: queues that are full would hide for a short trace that the
// workers are too slow.
func (l *loader) takeBatch(load int32, asked int64) int64 {
	i := l.next
	l.next++
	cost := nanos(l.seconds(load))
	if i == 0 && !l.opened {
		l.origin = asked - l.lead - cost
	}
	begin := l.origin
	switch {
	case i >= l.workers:
		begin = l.finished[i-l.workers]
	case !l.opened:
		begin += cost * int64(i+1) / int64(l.workers)
	}
	if before := i - l.workers*l.ahead; before >= 0 && before < len(l.returned) {
		begin = max(begin, l.returned[before])
	}
	l.finished = append(l.finished, begin+cost)
	return begin + cost
}
