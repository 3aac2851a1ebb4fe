package feed

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed/order"
)

// maxSubstitutes is how many substitutes are tried for one sample. If so many in a row are bad,
// the set is bad, and the budget of bad samples would soon be spent.
const maxSubstitutes = 64

// batch is a Filled that is being made.
type batch struct {
	pass   *Pass
	job    *Job
	step   int
	memory []byte
	slice  order.Slice
	probe  bool // its files were not announced: their time tells whether announcing pays

	mu     sync.Mutex
	filled Filled
}

// newBatch plans the batch of a step.
func newBatch(p *Pass, step int, memory []byte) *batch {
	slice := p.plan.SliceOf(p.consumed, step, p.rank)
	b := &batch{pass: p, step: step, memory: memory, slice: slice}
	b.filled = Filled{
		Epoch: p.epoch, Step: step, Count: slice.Count + slice.Padded, Consumed: p.consumedSamples(step),
		Formats: map[string]int{}, samples: make([]int, slice.Count),
	}
	return b
}

// result returns the complete batch. No thread may still work on it.
func (b *batch) result() Filled {
	f := b.filled
	slices.Sort(f.Mask)
	slices.SortFunc(f.Bad, func(x, y Bad) int { return cmp.Compare(x.place, y.place) })
	slices.SortFunc(f.Inexact, func(x, y Inexact) int { return cmp.Compare(x.Index, y.Index) })
	f.Finished = time.Now()
	b.pass.loader.statistics.countBatch(f)
	b.pass.loader.reading.learnTime(b, f)
	return f
}

// fileOf returns the path of the sample at a place.
func (b *batch) fileOf(place int) string {
	position, _ := b.pass.plan.Position(b.pass.consumed, b.step, b.pass.rank, place)
	return b.pass.loader.pathOf(b.pass.order.At(position))
}

// fillPlace makes the sample at one place of the batch, or applies the policy if it is bad.
func (b *batch) fillPlace(w *worker, place int) {
	position, padding := b.pass.plan.Position(b.pass.consumed, b.step, b.pass.rank, place)
	own := b.pass.order.At(position)
	if !padding {
		b.filled.samples[place] = own
	} else {
		b.mask(place)
	}
	trouble := b.try(w, place, own)
	if trouble == nil {
		return
	}
	if why := trouble.asUnmade(b.pass.loader, own); why != nil {
		b.fail(why)
		return
	}
	if !padding && b.pass.loader.spec.OnError != Fail {
		if err := b.pass.loader.bad.charge(b.pass.loader, b.pass.epoch, own, position, trouble); err != nil {
			b.fail(err)
			return
		}
	}
	switch b.pass.loader.spec.OnError {
	case substitute:
		b.substitute(w, place, position, padding, own, trouble)
	case Mask:
		b.leaveBlank(place, own)
		if !padding {
			b.mask(place)
			b.noteBad(trouble.badSample(own, place, nil))
		}
	default:
		b.fail(fmt.Errorf("bad sample %d: %w", own, trouble))
	}
}

// substitute puts the first good substitute of a bad sample into its place.
func (b *batch) substitute(w *worker, place, position int, padding bool, own int, trouble *trouble) {
	samples := b.pass.loader.samples
	for k := 1; k <= min(maxSubstitutes, samples-1); k++ {
		other := b.pass.order.At(order.Substitute(position, k, samples))
		next := b.try(w, place, other)
		if next == nil {
			if !padding {
				b.noteBad(trouble.badSample(own, place, &other))
			}
			return
		}
		// substituting another would change the batch: without the outage this one might be used
		if why := next.asUnmade(b.pass.loader, other); why != nil {
			b.fail(why)
			return
		}
	}
	b.fail(fmt.Errorf("bad sample %d, and so are all %d that could stand in for it: %w", own,
		min(maxSubstitutes, samples-1), trouble))
}

// try makes a sample in a place. It returns nil if the job was cancelled meanwhile, as the
// batch is discarded then.
func (b *batch) try(w *worker, place, sample int) *trouble {
	l := b.pass.loader
	if known := l.bad.knownTrouble(sample); known != nil {
		return known
	}
	made, trouble := w.makeSample(l, errand{epoch: b.pass.epoch, sample: sample}, target{b, place})
	b.mu.Lock()
	b.filled.Stages.Read += made.stages.Read
	b.filled.Stages.Decode += made.stages.Decode
	b.filled.Stages.Transform += made.stages.Transform
	own := place < b.slice.Count // padding was counted in its own turn
	if own && made.format != "" {
		b.filled.Formats[made.format]++
	}
	if own && trouble == nil && made.inexact != "" {
		b.filled.Inexact = append(b.filled.Inexact,
			Inexact{Index: sample, Path: l.pathOf(sample), Reason: made.inexact})
	}
	b.mu.Unlock()
	if trouble != nil && trouble.asUnmade(l, sample) == nil {
		l.bad.remember(l, sample, trouble)
	}
	return trouble
}

// leaveBlank zeroes a place, and writes label and index of the sample that belongs there.
func (b *batch) leaveBlank(place, own int) {
	at := target{b, place}
	image, ok := at.enterSlot()
	if !ok {
		return
	}
	defer at.leaveSlot()
	clear(image)
	at.nameSample(own)
}

// mask flags a place that must not count in the loss.
func (b *batch) mask(place int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filled.Mask = append(b.filled.Mask, place)
}

// noteBad adds a bad sample to the batch.
func (b *batch) noteBad(bad Bad) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filled.Bad = append(b.filled.Bad, bad)
}

// fail ends the batch with an error. The first error is kept.
func (b *batch) fail(err error) {
	b.mu.Lock()
	if b.filled.Err == nil {
		b.filled.Err = err
	}
	b.mu.Unlock()
	b.job.stopJob()
}

// target is the place in a slot that a sample is written to.
type target struct {
	batch *batch
	place int
}

// enterSlot returns the memory of the place, or false if the job was cancelled.
func (t target) enterSlot() (image []byte, ok bool) {
	if !t.batch.job.enterSlot() {
		return nil, false
	}
	return t.batch.pass.loader.layout.imageOf(t.batch.memory, t.place), true
}

// leaveSlot ends the access that enterSlot began.
func (t target) leaveSlot() { t.batch.job.leaveSlot() }

// nameSample writes label and index of the sample whose image is in this place.
func (t target) nameSample(sample int) {
	l := t.batch.pass.loader
	at := int64(8 * t.place)
	binary.LittleEndian.PutUint64(t.batch.memory[l.layout.Labels+at:], uint64(l.labelOf(sample)))
	binary.LittleEndian.PutUint64(t.batch.memory[l.layout.Indices+at:], uint64(sample))
}

// learnTime decides from the time of an unannounced batch whether the storage is slow.
func (r *reading) learnTime(b *batch, f Filled) {
	if b.probe && f.Count > 0 {
		r.slow.Store(f.Stages.Read/float64(f.Count) > slowRead)
	}
}
