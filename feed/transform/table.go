package transform

import "slices"

// Weights have 22 bits and more, the processor multiplies 16 by 16: a weight is
// high * 65536 + low with low in [-32768, 32767]. Both parts' sums are exact, so
// that the result is that of plain arithmetic.
func splitWeight(v int32) (low, high int16) {
	low = int16(v)
	return low, int16((v - int32(low)) >> 16)
}

// pairs are the weights of two rows each, as the vertical kernel wants them: from
// the lowest bits the low parts as two words, then the high parts as two bytes,
// twice. A high part fits a byte as no weight is 128 or more.
func appendPairs(pairs []uint64, values []int32) []uint64 {
	for j := 0; j < len(values); j += 2 {
		var second int32
		if j+1 < len(values) {
			second = values[j+1]
		}
		la, ha := splitWeight(values[j])
		lb, hb := splitWeight(second)
		low := uint64(uint16(la)) | uint64(uint16(lb))<<16
		high := uint64(uint8(ha)) | uint64(uint8(hb))<<8
		pairs = append(pairs, low|high<<32|high<<48)
	}
	return pairs
}

// group is how many outputs the horizontal kernel makes at once: 4 in each half of
// a register, from 16 pixels that begin at the half's origin. A sum of 2, 4 or 6
// pixels is made of pairs; per pair of pixels a group has 96 bytes of cells:
//
//	32 bytes   which of the 16 pixels, as a byte shuffle to 8 x 2 words
//	32 bytes   low parts of 8 x 2 weights
//	32 bytes   high parts
//
// Where that does not fit, because the image shrinks to less than a third, sums are
// made one by one in chunks of 16 pixels: 32 bytes of low and 32 of high parts.
const (
	group      = 8
	lane       = 16
	mostPairs  = 3
	longChunk  = 16
	cellBytes  = 96
	chunkBytes = 64
)

// kernelTable is weights as the horizontal kernels want them.
type kernelTable struct {
	outputs int
	pairs   int // per sum; 0: chunks
	chunks  int
	origins []int32
	cells   []byte
	reach   int // bytes of a row that are read
}

func (t *kernelTable) buildTable(w *weights) {
	t.outputs = len(w.first)
	t.pairs = (w.size + 1) / 2
	width := lane
	if t.pairs > mostPairs || !t.buildGroups(w) {
		t.pairs = 0
		t.buildChunks(w)
		width = t.chunks * longChunk
	}
	t.reach = int(slices.Max(t.origins)) + width
}

// buildGroups says false where the pixels of a half do not lie within 16.
func (t *kernelTable) buildGroups(w *weights) bool {
	groups := (t.outputs + group - 1) / group
	t.origins = grown(t.origins, 2*groups)
	t.cells = grown(t.cells, groups*t.pairs*cellBytes)
	for half := range 2 * groups {
		from := min(half*4, t.outputs)
		first := w.first[from:min(from+4, t.outputs)]
		if len(first) == 0 { // behind the last output
			t.origins[half] = t.origins[half-1]
			continue
		}
		origin := min(first[0], first[len(first)-1])
		t.origins[half] = origin
		for i, f := range first {
			if int(f-origin)+2*t.pairs > lane {
				return false
			}
			values := w.values[(from+i)*w.size:][:w.size]
			at := half/2*t.pairs*cellBytes + half%2*16 + i*4
			t.setCells(t.cells[at:], byte(f-origin), values)
		}
	}
	return true
}

func (t *kernelTable) setCells(cells []byte, from byte, values []int32) {
	for p := range t.pairs {
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

func (t *kernelTable) buildChunks(w *weights) {
	t.chunks = (w.size + longChunk - 1) / longChunk
	t.origins = append(t.origins[:0], w.first...)
	t.cells = grown(t.cells, t.outputs*t.chunks*chunkBytes)
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
}

func putWords(b []byte, x, y int16) {
	b[0], b[1], b[2], b[3] = byte(x), byte(x>>8), byte(y), byte(y>>8)
}

// sumStrip is the horizontal pass over stripRows rows. It writes whole groups.
func (t *kernelTable) sumStrip(dst []byte, dstStride int, src []byte, srcStride int) {
	if t.pairs > 0 {
		sumGroupsAVX2(dst, dstStride, src, srcStride, t)
		return
	}
	sumChunksAVX2(dst, dstStride, src, srcStride, t)
}
