package transform

import "encoding/binary"

// The passes without vector instructions. Two sums are made in one: a register of 64
// bits holds two pixels 32 bits apart, and a product with a weight is the two
// products. Sums get an offset that keeps them from becoming negative, so that the
// lower never borrows from the upper one.

const (
	offset = 1 << 8 // of a finished pixel, before it is taken off
	start  = 1<<(weightBits-1) | offset<<weightBits
	starts = start | start<<32
)

// packRows sets packed to n pixels of four rows, two words each.
func packRows(packed [][2]uint64, src []byte, stride, n int) {
	a, b := src[:n], src[stride:][:n]
	c, d := src[2*stride:][:n], src[3*stride:][:n]
	packed = packed[:n]
	for x := range packed {
		packed[x] = [2]uint64{uint64(a[x]) | uint64(b[x])<<32, uint64(c[x]) | uint64(d[x])<<32}
	}
}

// sumColumns makes the outputs of four rows.
func sumColumns(dst []byte, stride int, packed [][2]uint64, w *weights) {
	n := len(w.first)
	a, b := dst[:n], dst[stride:][:n]
	c, d := dst[2*stride:][:n], dst[3*stride:][:n]
	for i, first := range w.first {
		values := w.values[i*w.size:][:w.count[i]]
		pixels := packed[first:][:len(values)]
		upper, lower := uint64(starts), uint64(starts)
		for j, v := range values {
			upper += pixels[j][0] * uint64(v)
			lower += pixels[j][1] * uint64(v)
		}
		a[i], b[i] = finished(upper)
		c[i], d[i] = finished(lower)
	}
}

// sumRows makes a row from as many rows as there are values, each as long as dst,
// whose length is a multiple of 8.
func sumRows(dst, src []byte, values []int32) {
	const every4th = 0x000000ff000000ff
	for x := 0; x < len(dst); x += 8 {
		var sums = [4]uint64{starts, starts, starts, starts}
		at := x
		for _, v := range values {
			w := uint64(v)
			pixels := binary.LittleEndian.Uint64(src[at:])
			sums[0] += (pixels & every4th) * w
			sums[1] += (pixels >> 8 & every4th) * w
			sums[2] += (pixels >> 16 & every4th) * w
			sums[3] += (pixels >> 24 & every4th) * w
			at += len(dst)
		}
		out := dst[x:][:8]
		out[0], out[4] = finished(sums[0])
		out[1], out[5] = finished(sums[1])
		out[2], out[6] = finished(sums[2])
		out[3], out[7] = finished(sums[3])
	}
}

// finished are the two pixels of two sums.
func finished(sums uint64) (low, high uint8) {
	return clip(int32(uint32(sums)>>weightBits) - offset), clip(int32(sums>>(32+weightBits)) - offset)
}

func clip(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^v >> 31)
	}
	return uint8(v)
}
