package transform

import "encoding/binary"

// rowWeight is the weight of a row as the vertical kernel wants it: the low part, then
// the high one.
type rowWeight uint32

func appendRowWeights(weights []rowWeight, values []int32) []rowWeight {
	for _, v := range values {
		low, high := splitWeight(v)
		weights = append(weights, rowWeight(uint16(low))|rowWeight(uint16(high))<<16)
	}
	return weights
}

// A pixel is a step, of up to 16. It has 64 bytes of cells:
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
