package transform

import (
	"encoding/binary"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// rowWeight is the weight of a row in the form of the vertical kernel: the low part, then the
// high part.
type rowWeight uint32

func appendRowWeights(weights []rowWeight, values []int32) []rowWeight {
	for _, v := range values {
		low, high := splitWeight(v)
		weights = append(weights, rowWeight(uint16(low))|rowWeight(uint16(high))<<16)
	}
	return weights
}

// A step is one pixel; a sum has up to 16. Each step has 64 bytes of cells:
//
//	32 bytes   which of the 16 pixels, as a byte shuffle to 8 numbers of 32 bits
//	32 bytes   8 weights
const (
	stepPixels = 1
	mostSteps  = lane
	cellBytes  = 64
)

func (t *kernelTable) setCells(cells []byte, from byte, values []int32) {
	for p, v := range values {
		c := cells[p*cellBytes:][:36]
		c[0], c[1], c[2], c[3] = from+byte(p), 0xff, 0xff, 0xff
		binary.LittleEndian.PutUint32(c[32:], uint32(v))
	}
}

// Long sums are computed one by one in chunks of 16 pixels, with 32 bytes of low and 32 of high
// parts.
const (
	longChunk  = 16
	chunkBytes = 64
)

// buildChunks returns how many pixels from its origin on a sum reads.
func (t *kernelTable) buildChunks(w *weights) (width int) {
	t.chunks = (w.size + longChunk - 1) / longChunk
	t.origins = append(t.origins[:0], w.first...)
	t.cells = planes.MakeRoom(t.cells, t.outputs*t.chunks*chunkBytes)
	clear(t.cells)
	for i := range w.first {
		cells := t.cells[i*t.chunks*chunkBytes:]
		for j, v := range w.values[i*w.size:][:w.size] {
			at := j/longChunk*chunkBytes + j%longChunk*2
			low, high := splitWeight(v)
			cells[at], cells[at+1] = byte(low), byte(low>>8)
			cells[at+32], cells[at+33] = byte(high), byte(high>>8)
		}
	}
	return t.chunks * longChunk
}
