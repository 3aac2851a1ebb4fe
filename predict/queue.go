package predict

import (
	"math"
	"math/rand/v2"
)

// queue is a DataLoader with worker processes as PyTorch runs it, in arithmetic on
// the clock. The trainer's process keeps prefetch batches per worker on their way:
// it hands each worker its next batch in turn, and one more whenever it has
// received one. In order, batch n is waited for although n+1 may be there.
//
//	worker w    ──batch w──►──batch w+W──►──batch w+2W──►         one after the other
//	trainer        take 0 │ loop │ take 1 │ loop │ …             blocks on the next one
//
// An epoch begins with an empty queue, and with new workers where they do not
// persist. Seconds.
type queue struct {
	workers, prefetch int
	anyOrder          bool
	persistent        bool
	start             float64 // until a worker that was started again runs
	batch             service // of one batch in one worker
	take              float64 // of the trainer's process for a batch that is there
	loop              float64 // of a step whose batch is there
	epoch             int     // steps, 0: without end
}

// service is how long a batch takes, from batch to batch: log-normal, so that it is
// never below 0 and a few take much longer, as decoding does.
type service struct {
	mean, cv float64
}

// simulated steps give the mean of a queue with a CV of 1 to 1 %; before and after a
// change draw alike, so that most of that cancels.
const simulated = 2000

// meanStep returns the mean step: of whole epochs, or of a long run without its beginning.
func (q queue) meanStep() float64 {
	p := queueRun{
		queue: q, free: make([]float64, q.workers), load: make([]int, q.workers), times: q.batch.dealTimes(),
		turns: turns[:],
	}
	if q.epoch == 0 {
		under := q.workers * q.prefetch
		p.beginEpoch(math.MaxInt)
		p.runSteps(max(simulated/10, 4*under)) // until the queue has settled
		begun, n := p.now, max(simulated, 10*under)
		p.runSteps(n)
		return (p.now - begun) / float64(n)
	}
	epochs := (simulated + q.epoch - 1) / q.epoch
	for range epochs {
		p.beginEpoch(q.epoch)
		p.runSteps(q.epoch)
	}
	return p.now / float64(epochs*q.epoch)
}

// queueRun is a queue in use.
type queueRun struct {
	queue
	times   *deck
	turns   []uint8
	dealt   int
	now     float64
	free    []float64 // when each worker has done its work
	load    []int     // batches that each worker was given and that were not taken
	pending []arrival // in the order in which they were given
	left    int       // batches of this epoch that are to be given
	turn    int
}

// arrival is a batch on its way.
type arrival struct {
	worker int
	at     float64
}

// beginEpoch begins an epoch.
func (p *queueRun) beginEpoch(steps int) {
	p.left, p.turn, p.pending = steps, 0, p.pending[:0]
	for w := range p.free {
		if p.load[w], p.free[w] = 0, max(p.free[w], p.now); !p.persistent {
			p.free[w] = p.now + p.start
		}
	}
	for range p.workers * p.prefetch {
		p.giveBatch()
	}
}

// giveBatch hands the next batch to a worker: they take turns, and where order does not
// matter a worker that has its full share is passed over.
func (p *queueRun) giveBatch() {
	if p.left == 0 {
		return
	}
	for p.anyOrder && p.load[p.turn] >= p.prefetch {
		p.turn = (p.turn + 1) % p.workers
	}
	w := p.turn
	p.left--
	p.turn = (w + 1) % p.workers
	p.load[w]++
	p.free[w] = max(p.free[w], p.now) + p.times[p.turns[p.dealt%len(p.turns)]]
	p.dealt++
	p.pending = append(p.pending, arrival{w, p.free[w]})
}

func (p *queueRun) runSteps(n int) {
	for range n {
		next := 0
		if p.anyOrder {
			for i := range p.pending {
				if p.pending[i].at < p.pending[next].at {
					next = i
				}
			}
		}
		got := p.pending[next]
		copy(p.pending[1:next+1], p.pending[:next]) // one place for those before it: in order there is none
		p.pending = p.pending[1:]
		p.load[got.worker]--
		p.now = max(p.now, got.at) + p.take
		p.giveBatch()
		p.now += p.loop
	}
}

// deck holds as many times as cards, from all over their distribution: their mean is exact.
type deck [256]float64

func (s service) dealTimes() *deck {
	d := &deck{}
	sigma := math.Sqrt(math.Log1p(s.cv * s.cv))
	sum := 0.0
	for i, z := range normal {
		d[i] = math.Exp(sigma * z)
		sum += d[i]
	}
	for i := range d {
		d[i] *= s.mean * float64(len(d)) / sum
	}
	return d
}

// normal is the deck of a normal distribution.
var normal = func() (d deck) {
	for i := range d {
		d[i] = math.Sqrt2 * math.Erfinv((2*float64(i)+1)/float64(len(d))-1)
	}
	return d
}()

// turns says which card of a deck is dealt when: all of them in random order, again and
// again, for more than most queues are dealt. It is the same for each deck, so that a
// forecast is a function of its inputs.
var turns = func() (all [64 * len(deck{})]uint8) {
	var cards [len(deck{})]uint8
	for i := range cards {
		cards[i] = uint8(i)
	}
	from := rand.New(rand.NewPCG(1, 2))
	for n := range all {
		at := n % len(cards)
		other := at + from.IntN(len(cards)-at)
		cards[at], cards[other] = cards[other], cards[at]
		all[n] = cards[at]
	}
	return all
}()
