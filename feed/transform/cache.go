package transform

import (
	"slices"
	"sync/atomic"
)

// weightCache keeps the weights of resizes for reuse. A data set's images have few sizes, and
// crops of them at most a few hundred lengths, while computing the weights of one image takes a
// tenth of the time of its resize. All threads of a Program share the cache. An entry is never
// changed, only replaced.
type weightCache struct {
	slots [1 << 11]atomic.Pointer[cachedWeights]
}

// mostCached is how many weights an entry may have; 224 outputs of 5 inputs have 1120. All
// slots together then take less than 40 MB, in practice less than 12.
const mostCached = 4 << 10

type cachedWeights struct {
	key weightKey
	weights
}

// weightKey is all that weights depend on.
type weightKey struct {
	filter   *filter
	length   int
	box      [2]float32
	size     int
	from, to int
}

// slotHash spreads keys over slots. Resizes of one length may differ in their box by a fraction
// of a pixel.
func (k *weightKey) slotHash() uint64 {
	h := uint64(8*k.length) + uint64(8*k.box[0]) + 2*uint64(8*k.box[1])
	return (h + uint64(k.size)<<24 + uint64(k.from)<<44) * 0x9e3779b97f4a7c15 >> 40
}

func (c *weightCache) compute(w *weights, k weightKey) {
	slot := &c.slots[k.slotHash()%uint64(len(c.slots))]
	if entry := slot.Load(); entry != nil && entry.key == k {
		w.copyFrom(&entry.weights)
		return
	}
	w.compute(k.filter, k.length, k.box, k.size, k.from, k.to)
	if len(w.values) <= mostCached {
		slot.Store(&cachedWeights{k, weights{
			first: slices.Clone(w.first), count: slices.Clone(w.count), size: w.size,
			values: slices.Clone(w.values), negative: w.negative,
		}})
	}
}

func (w *weights) copyFrom(from *weights) {
	w.first = append(w.first[:0], from.first...)
	w.count = append(w.count[:0], from.count...)
	w.values = append(w.values[:0], from.values...)
	w.size, w.negative = from.size, from.negative
}
