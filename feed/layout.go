package feed

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/feed/transform"
)

// Layout says how a slot holds a batch: first the images, then the labels, then the indices
// of the samples, each an int64. A batch that is smaller than Spec.Batch fills each field from
// its beginning.
//
// The images have no gaps between them, for any size. So a batch is one contiguous
// tensor, and takes one copy to the device. The transforms bypass the caches if a sample begins
// at a multiple of 32 bytes, which 224 x 224 x 3 of any dtype does.
type Layout struct {
	Images    int64 // offset, a multiple of 4096
	Sample    int64 // bytes of one image
	Labels    int64 // offset
	Indices   int64 // offset
	SlotBytes int64 // a multiple of 4096, so that all slots of a ring are aligned as the first
}

const (
	page = 4096 // page-locking and O_DIRECT want whole pages
	line = 64   // fields do not share cache lines
)

// layoutOf computes the layout of a batch of the spec, and fails if a batch exceeds an int64.
func layoutOf(program *transform.Program, spec Spec) (Layout, error) {
	sample, batch := int64(program.Bytes()), int64(spec.Batch)
	if sample > math.MaxInt64/4/batch {
		return Layout{},
			fmt.Errorf("a batch of %d samples of %s does not fit into any memory", batch, mebibytes(sample))
	}
	labels := alignTo(sample*batch, line)
	indices := alignTo(labels+8*batch, line)
	return Layout{Sample: sample, Labels: labels, Indices: indices, SlotBytes: alignTo(indices+8*batch, page)}, nil
}

// alignTo rounds n up to a multiple of to.
func alignTo(n, to int64) int64 { return (n + to - 1) / to * to }

// imageOf returns the part of a slot's memory that holds sample k of the batch.
func (l Layout) imageOf(memory []byte, k int) []byte {
	from := l.Images + int64(k)*l.Sample
	return memory[from : from+l.Sample : from+l.Sample]
}
