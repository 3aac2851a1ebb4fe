package feed

import (
	"fmt"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed/order"
)

// Pass is one rank's way through an epoch, from the offset at which the epoch was begun or
// resumed to its end. It is safe for concurrent use.
type Pass struct {
	loader   *Loader
	plan     order.Plan
	order    *order.Permutation
	epoch    uint64
	rank     int
	consumed int
	account  *account

	mu       sync.Mutex
	digest   order.BagDigest // of the released samples
	released int             // samples
	bad      int
	inexact  int
	first    []Inexact
}

// BeginPass begins an epoch for a rank at an offset: the number of samples of the epoch that
// all ranks together have consumed. A batch of 0 means Spec.Batch. A larger batch than that is
// an error, as the slots have no room for it.
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

// Resume sets how many samples of an epoch before an offset were bad. They count against
// Spec.MaxBad. Call it before BeginPass.
func (l *Loader) Resume(epoch uint64, consumed, bad int) { l.bad.resume(epoch, consumed, bad) }

// Steps returns the number of batches from the offset to the end of the epoch. It is the same
// on all ranks.
func (p *Pass) Steps() int { return p.plan.Steps(p.consumed) }

// consumedSamples returns the offset after a step is done on all ranks.
func (p *Pass) consumedSamples(step int) int { return p.plan.After(p.consumed, step) }

// Fill has the pool fill memory, a slot of Layout.SlotBytes, with the batch of a step. A thread
// of the pool calls done once, without holding a lock, unless the job is cancelled before; done
// should return soon. Until then, or until Cancel has returned, the memory belongs to the pool.
//
// wanted is when the trainer will probably ask for the batch. All threads work on the job that
// is wanted earliest. So a rank that is about to run out comes before one with batches in
// stock, and every job gets its turn.
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

// Release records that the trainer is done with a batch: its samples are consumed.
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

// namedInexact is how many inexact samples a report names; it counts the others.
const namedInexact = 20

// Inherit adds what an earlier daemon, which has died, handed out of this pass.
func (p *Pass) Inherit(digest order.BagDigest, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.digest.Merge(digest)
	p.released += samples
}

// Report is the result of a rank's way through an epoch.
type Report struct {
	Samples  int             // released by this rank; padding does not count
	Digest   order.BagDigest // of the released samples
	Expected order.BagDigest // of the samples that this rank should get
	// ExactlyOnce says whether all ranks together released every sample exactly once. nil means
	// that this rank did, but others are on another node or not yet done.
	ExactlyOnce *bool
	Bad         int
	Inexact     int // samples whose bytes may differ from Pillow's
	First       []Inexact
}

// Account returns the report of the epoch. Call it after the last batch was released. It takes
// about 40 ms for a million samples.
func (p *Pass) Account() Report {
	expected := p.expectedDigest()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{
		Samples: p.released, Digest: p.digest, Expected: expected,
		ExactlyOnce: p.account.noteVerdict(p, p.digest == expected),
		Bad:         p.bad, Inexact: p.inexact, First: p.first,
	}
}

// expectedDigest returns the digest of the samples that the plan gives to this rank.
func (p *Pass) expectedDigest() (d order.BagDigest) {
	for step := range p.Steps() {
		slice := p.plan.SliceOf(p.consumed, step, p.rank)
		for i := range slice.Count {
			d.Add(p.order.At(slice.First + i))
		}
	}
	return d
}

// permutations caches the orders of the latest epochs, which all ranks share.
type permutations struct {
	mu     sync.Mutex
	epochs []uint64
	orders []*order.Permutation
}

// orderOf returns the order of an epoch.
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
	if len(s.epochs) == 2 { // this epoch, and the next one, which is being prefetched
		s.epochs, s.orders = s.epochs[1:], s.orders[1:]
	}
	p := order.NewPermutation(l.spec.Seed, epoch, l.samples)
	s.epochs, s.orders = append(s.epochs, epoch), append(s.orders, p)
	return p
}
