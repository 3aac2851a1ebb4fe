package transform

// rowWeight is the weights of two rows, as the vertical kernel wants them: from
// the lowest bits the low parts as two words, then the high parts as two bytes,
// twice. A high part fits a byte as no weight is 128 or more.
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

// Two pixels are a step. A sum of 2, 4 or 6 pixels is made of steps; each has 96 bytes of cells:
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
