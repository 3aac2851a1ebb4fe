package feed

import (
	"fmt"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed/order"
)

// Pass is one rank's way through an epoch: from the offset at which the epoch was
// begun or resumed to its end. It is safe for use by several threads.
type Pass struct {
	loader   *Loader
	plan     order.Plan
	order    *order.Permutation
	epoch    uint64
	rank     int
	consumed int
	account  *account

	mu       sync.Mutex
	digest   order.BagDigest // of what was released
	released int             // samples
	bad      int
	inexact  int
	first    []Inexact
}

// BeginPass begins an epoch for a rank at an offset: the number of samples that all
// ranks together have consumed of it. Batch is Spec.Batch where it is 0, and no
// more than that: slots are made for Spec.Batch.
func (l *Loader) BeginPass(epoch uint64, rank, consumed, batch int) (*Pass, error) {
	if batch == 0 {
		batch = l.spec.Batch
	}
	plan := l.spec.PlanOrder(l.samples, batch)
	switch {
	case epoch >= 1<<32:
		return nil, fmt.Errorf("epoch %d: numbers below 2^32 are possible", epoch)
	case rank < 0 || rank >= l.spec.World:
		return nil, fmt.Errorf("rank %d: a world of %d has the ranks 0 to %d", rank, l.spec.World, l.spec.World-1)
	case consumed < 0 || consumed > l.samples:
		return nil, fmt.Errorf("%d samples consumed: an epoch has %d", consumed, l.samples)
	case batch < 1 || batch > l.spec.Batch:
		return nil, fmt.Errorf("a batch of %d: the slots have room for 1 to %d samples", batch, l.spec.Batch)
	}
	p := &Pass{loader: l, plan: plan, order: l.orders.orderOf(l, epoch), epoch: epoch, rank: rank, consumed: consumed}
	p.account = l.accounts.joinAccount(p)
	return p, nil
}

// Resume says how many samples of an epoch were bad in front of an offset, before
// a pass begins there: they count against Spec.MaxBad as well.
func (l *Loader) Resume(epoch uint64, consumed, bad int) { l.bad.resume(epoch, consumed, bad) }

// Steps is the number of batches from the offset to the end of the epoch, the
// same on all ranks.
func (p *Pass) Steps() int { return p.plan.Steps(p.consumed) }

// consumedSamples is the offset when a step is done on all ranks.
func (p *Pass) consumedSamples(step int) int { return p.plan.After(p.consumed, step) }

// Fill has the pool fill memory, a slot of Layout.SlotBytes, with the batch of a
// step. done is called once, by a thread of the pool and without any lock held,
// unless the job is cancelled before; it should return soon. Until then, or until
// Cancel has returned, the memory is the pool's.
//
// wanted is when the trainer will probably ask for the batch. Of all jobs the
// earliest wanted is worked on first, by all threads: so a rank that is about to
// wait goes before one with batches in stock, and no job waits for ever.
func (p *Pass) Fill(step int, memory []byte, wanted time.Time, done func(Filled)) (*Job, error) {
	if step < 0 || step >= p.Steps() {
		return nil, fmt.Errorf("step %d: there are %d from here to the end of epoch %d", step, p.Steps(), p.epoch)
	}
	if int64(len(memory)) < p.loader.layout.SlotBytes {
		return nil, fmt.Errorf("a slot of %d bytes: a batch needs %d", len(memory), p.loader.layout.SlotBytes)
	}
	b := newBatch(p, step, memory)
	job := &Job{
		pool: p.loader.pool, wanted: wanted, count: b.filled.Count, fill: b.fillPlace, file: b.fileOf,
		finish: func() { done(b.result()) },
	}
	b.job = job
	p.loader.announce(b)
	p.loader.pool.submit(job)
	return job, nil
}

// Release says that the trainer is done with a batch: its samples are consumed.
func (p *Pass) Release(f Filled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sample := range f.samples {
		p.digest.Add(sample)
	}
	p.released += len(f.samples)
	p.bad += len(f.Bad)
	p.inexact += len(f.Inexact)
	room := max(0, namedInexact-len(p.first))
	p.first = append(p.first, f.Inexact[:min(room, len(f.Inexact))]...)
}

// namedInexact are the inexact samples that a report names; the rest is counted.
const namedInexact = 20

// Inherit takes over what an earlier daemon, which has died, handed out of this pass.
func (p *Pass) Inherit(digest order.BagDigest, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.digest.Merge(digest)
	p.released += samples
}

// Report is what a rank's way through an epoch came to.
type Report struct {
	Samples  int             // released by this rank; padding does not count
	Digest   order.BagDigest // of those
	Expected order.BagDigest // of what this rank was to get
	// ExactlyOnce says whether all ranks together released every sample exactly
	// once. nil: other ranks are elsewhere or not yet at their end, so that it is
	// not known here; what this rank did was right then.
	ExactlyOnce *bool
	Bad         int
	Inexact     int // samples whose bytes may differ from Pillow's
	First       []Inexact
}

// Inexact is a sample whose bytes may differ from Pillow's.
type Inexact struct {
	Index  int    `json:"index"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Account is the account of the epoch, after its last batch was released. It costs
// some 40 ms for a million samples.
func (p *Pass) Account() Report {
	expected := p.expected()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{
		Samples: p.released, Digest: p.digest, Expected: expected,
		ExactlyOnce: p.account.noteVerdict(p, p.digest == expected),
		Bad:         p.bad, Inexact: p.inexact, First: p.first,
	}
}

// expected is the digest of the samples that are this rank's, by the plan.
func (p *Pass) expected() (d order.BagDigest) {
	for step := range p.Steps() {
		slice := p.plan.SliceOf(p.consumed, step, p.rank)
		for i := range slice.Count {
			d.Add(p.order.At(slice.First + i))
		}
	}
	return d
}

// permutations keeps the orders of the latest epochs: ranks share them.
type permutations struct {
	mu     sync.Mutex
	epochs []uint64
	orders []*order.Permutation
}

func (s *permutations) orderOf(l *Loader, epoch uint64) *order.Permutation {
	if !l.spec.Shuffle {
		return order.InOrder(l.samples)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.epochs {
		if e == epoch {
			return s.orders[i]
		}
	}
	if len(s.epochs) == 2 { // this epoch and the next, that is prefetched
		s.epochs, s.orders = s.epochs[1:], s.orders[1:]
	}
	p := order.NewPermutation(l.spec.Seed, epoch, l.samples)
	s.epochs, s.orders = append(s.epochs, epoch), append(s.orders, p)
	return p
}
