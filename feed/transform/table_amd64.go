package transform

import (
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// rowWeight is the weights of two rows in the form of the vertical kernel: from the lowest
// bits, the low parts as two words, then the high parts as two bytes, twice. A high part fits
// into a byte as every weight is below 128.
type rowWeight uint64

func appendRowWeights(pairs []rowWeight, values []int32) []rowWeight {
	for j := 0; j < len(values); j += 2 {
		var second int32
		if j+1 < len(values) {
			second = values[j+1]
		}
		la, ha := splitWeight(values[j])
		lb, hb := splitWeight(second)
		low := uint64(uint16(la)) | uint64(uint16(lb))<<16
		high := uint64(uint8(ha)) | uint64(uint8(hb))<<8
		pairs = append(pairs, rowWeight(low|high<<32|high<<48))
	}
	return pairs
}

// A step is two pixels. A sum of 2, 4 or 6 pixels takes 1 to 3 steps, each with 96 bytes of
// cells:
//
//	32 bytes   which of the 16 pixels, as a byte shuffle to 8 x 2 words
//	32 bytes   low parts of 8 x 2 weights
//	32 bytes   high parts
const (
	stepPixels = 2
	mostSteps  = 3
	cellBytes  = 96
)

func (t *kernelTable) setCells(cells []byte, from byte, values []int32) {
	for p := range t.steps {
		c := cells[p*cellBytes:][:68]
		c[0], c[1], c[2], c[3] = from, 0x80, from+1, 0x80
		from += 2
		la, ha := splitWeight(values[2*p])
		lb, hb := int16(0), int16(0)
		if 2*p+1 < len(values) {
			lb, hb = splitWeight(values[2*p+1])
		}
		putWords(c[32:36], la, lb)
		putWords(c[64:68], ha, hb)
	}
}

func putWords(b []byte, x, y int16) {
	b[0], b[1], b[2], b[3] = byte(x), byte(x>>8), byte(y), byte(y>>8)
}

// Long sums are computed in chunks of 16 pixels for each half of a group: for 4 adjacent
// outputs, or for 2 or 1 if outputs are farther apart. A group has 32 bytes that say which
// pixels these are, counted from the chunk's first pixel. Then each chunk has 96 bytes of
// cells:
//
//	32 bytes   low parts of the weights of the first 8 pixels of each half
//	32 bytes   low parts of the last 8
//	32 bytes   high parts
//
// The first 8 pixels are the first half of each output's pixels, the last 8 the second half.
const (
	orderBytes = 32
	chunkBytes = 96
)

// buildChunks returns how many pixels from its origin on half a group reads.
func (t *kernelTable) buildChunks(w *weights) (width int) {
	t.beside = 4
	for t.beside > 1 && !besideFits(w.first, t.beside) {
		t.beside /= 2
	}
	pixels := lane / t.beside
	t.chunks = (w.size + pixels - 1) / pixels
	groups := (t.outputs + 2*t.beside - 1) / (2 * t.beside)
	bytes := orderBytes + t.chunks*chunkBytes
	t.origins = planes.MakeRoom(t.origins, 2*groups)
	t.cells = planes.MakeRoom(t.cells, groups*bytes)
	for half := range t.origins {
		from := min(half*t.beside, t.outputs)
		first := w.first[from:min(from+t.beside, t.outputs)]
		if len(first) == 0 { // after the last output
			t.origins[half] = t.origins[half-1]
			continue
		}
		t.origins[half] = min(first[0], first[len(first)-1])
		for i, f := range first {
			cells := t.cells[half/2*bytes+half%2*lane:]
			t.setChunks(cells, i, byte(f-t.origins[half]), w.values[(from+i)*w.size:][:w.size])
		}
	}
	return (t.chunks-1)*pixels + lane
}

// besideFits reports whether the first chunks of beside outputs are within 16 pixels.
func besideFits(first []int32, beside int) bool {
	for some := range slices.Chunk(first, beside) {
		if way := some[len(some)-1] - some[0]; int(max(way, -way))+lane/beside > lane {
			return false
		}
	}
	return true
}

// setChunks sets the cells of the i-th output of half a group.
func (t *kernelTable) setChunks(cells []byte, i int, from byte, values []int32) {
	some := 8 / t.beside
	for part := range 2 {
		for j := range some {
			cells[8*part+i*some+j] = from
			from++
		}
	}
	for chunk := range t.chunks {
		c := cells[orderBytes+chunk*chunkBytes:][:80]
		for part := range 2 {
			for j := i * some; j < (i+1)*some; j++ {
				var low, high int16
				if len(values) > 0 {
					low, high = splitWeight(values[0])
					values = values[1:]
				}
				word := c[32*part+2*j:][:2]
				word[0], word[1] = byte(low), byte(low>>8)
				c[64+8*part+j] = byte(high)
			}
		}
	}
}
