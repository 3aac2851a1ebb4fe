package order

import (
	"fmt"
	"math/bits"
	"slices"
)

// Tail says what happens to the samples at the end of an epoch that do not fill a batch on
// every rank. All ranks take the same number of steps in any case, because ranks that differ
// would wait for each other for ever.
type Tail string

// The tails.
const (
	Drop Tail = "drop" // leave them out: all batches are full
	Pad  Tail = "pad"  // fill up with the epoch's first positions, flagged: all batches are full
	// spread them over the ranks as evenly as possible: the last batch is smaller, on some ranks
	// perhaps empty
	Short Tail = "short"

	// The last batch is smaller, by the same number on every rank, as with torch's
	// DistributedSampler. If fewer positions than ranks remain, Even fills them up and Trim
	// leaves them out.
	Even Tail = "even"
	Trim Tail = "trim"
	// EvenDrop is Even without the smaller batch: a DistributedSampler in a DataLoader with
	// drop_last.
	EvenDrop Tail = "even-drop"
)

var tails = []Tail{Drop, Pad, Short, Even, Trim, EvenDrop}

// Plan says which rank takes which positions of an epoch, and when. A global batch is World x
// Batch consecutive positions; rank r takes the r-th Batch of it. So the content of a global
// batch depends on its size alone, not on how many ranks share it.
//
// Steps are counted from an offset, consumed: the number of positions, 0..Samples, that were
// done when the epoch was begun or resumed. It need not be a multiple of a batch, so a resumed
// epoch may have another World and Batch. All functions are O(1) and pure.
type Plan struct {
	Samples int  // in an epoch, 0..MaxSamples
	World   int  // ranks, at least 1
	Batch   int  // samples per rank and step, at least 1
	Tail    Tail // default: Short
}

// Validate returns an error if a plan is invalid. The other functions need a valid plan.
func (p Plan) Validate() error {
	switch {
	case p.Samples < 0 || p.Samples > maxSamples:
		return fmt.Errorf("an epoch of %d samples: between 0 and 2^40 are possible", p.Samples)
	case p.World < 1 || p.World > maxWorld:
		return fmt.Errorf("a world of %d ranks: between 1 and %d are possible", p.World, maxWorld)
	case p.Batch < 1 || p.Batch > maxBatch:
		return fmt.Errorf("a batch of %d samples per rank: between 1 and %d are possible", p.Batch, maxBatch)
	case !slices.Contains(tails, p.Tail):
		return fmt.Errorf(
			"tail %q: %q leaves the last samples out, %q repeats some, %q makes the last batch smaller, %q by the "+
				"same number on each rank",
			p.Tail, Drop, Pad, Short, Even)
	}
	return nil
}

// Bounds that keep a global batch, at most 2^40, and every position far from overflow.
const (
	maxWorld = 1 << 20
	maxBatch = 1 << 20
)

// global returns the number of positions in a full global batch.
func (p Plan) global() int { return p.World * p.Batch }

// placesFrom returns how many places a rank has from an offset to the end of the epoch.
func (p Plan) placesFrom(consumed int) int {
	left := max(p.Samples-consumed, 0)
	full, up := left/p.global()*p.Batch, (left+p.World-1)/p.World
	switch p.Tail {
	case Drop:
		return full
	case Trim:
		return left / p.World
	case EvenDrop:
		return up / p.Batch * p.Batch
	case Pad:
		return (left + p.global() - 1) / p.global() * p.Batch
	default: // Short, Even
		return up
	}
}

// Steps returns the number of steps from an offset to the end of the epoch. It is the same on
// all ranks.
func (p Plan) Steps(consumed int) int { return (p.placesFrom(consumed) + p.Batch - 1) / p.Batch }

// batchSize returns how many places a rank's batch has in a step. For a short batch it is the
// number on the rank with the most.
func (p Plan) batchSize(consumed, step int) int {
	return min(p.Batch, p.placesFrom(consumed)-step*p.Batch)
}

// After returns the offset when step (counted from consumed) is done on all ranks. A state
// saved then contains it.
func (p Plan) After(consumed, step int) int {
	return min(consumed+step*p.global()+p.World*p.batchSize(consumed, step), p.Samples)
}

// Slice is what one rank takes in one step: the positions First..First+Count-1, followed by
// Padded places that must not count in the loss. Count + Padded is Batch, except in a smaller
// last step.
type Slice struct {
	First  int
	Count  int
	Padded int
}

// SliceOf returns the positions of a rank in a step, 0 <= step < Steps(consumed).
func (p Plan) SliceOf(consumed, step, rank int) Slice {
	begin := consumed + step*p.global()
	if left := p.Samples - begin; p.Tail == Short && left < p.global() {
		each, more := left/p.World, left%p.World
		s := Slice{First: begin + rank*each + min(rank, more), Count: each}
		if rank < more {
			s.Count++
		}
		return s
	}
	size := p.batchSize(consumed, step)
	first := min(begin+rank*size, p.Samples)
	count := min(p.Samples-first, size)
	return Slice{First: first, Count: count, Padded: size - count}
}

// Position returns the i-th position of a rank in a step and whether it is padding, for 0 <= i
// < Count + Padded of the slice. Padding takes the epoch's positions from the first on,
// repeatedly, as torch's DistributedSampler does.
func (p Plan) Position(consumed, step, rank, i int) (position int, padding bool) {
	s := p.SliceOf(consumed, step, rank)
	if i < s.Count {
		return s.First + i, false
	}
	return (consumed + step*p.global() + rank*p.batchSize(consumed, step) + i) % p.Samples, true
}

// Substitute returns the position whose sample replaces a bad one, at the k-th attempt, from 1.
// The stride is a prime above maxSamples, so it has no factor in common with any number of
// samples: k = 1..samples-1 reaches every other position.
func Substitute(position, k, samples int) int {
	high, low := bits.Mul64(uint64(k), stride%uint64(samples))
	low, carry := bits.Add64(low, uint64(position), 0)
	return int(bits.Rem64(high+carry, low, uint64(samples)))
}

const stride = 1<<40 + 15
