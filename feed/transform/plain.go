package transform

import "encoding/binary"

// The passes without vector instructions. Two sums are computed in one: a 64-bit register holds
// two pixels 32 bits apart, and one multiplication gives both products. With negative weights,
// an offset keeps the sums positive, so that the lower one never borrows from the upper one.
// Without negative weights, a sum cannot leave the range of a byte. The usual numbers of
// weights have separate loops, because the general one spends most of its time on counting.

const (
	halves = 1<<(weightBits-1) | 1<<(weightBits+31)

	offset = 1 << 8 // of a finished pixel; subtracted at the end
	starts = halves | offset<<weightBits | offset<<(weightBits+32)

	every4th = 0x000000ff000000ff
)

// fourRows are the pixels of four rows in one column: two words of two pixels.
type fourRows struct{ upper, lower uint64 }

// packRows packs n pixels of each of four rows. Elements after those must get weights of 0.
func packRows(packed []fourRows, src []byte, stride, n int) {
	a, b := src[:n], src[stride:][:n]
	c, d := src[2*stride:][:n], src[3*stride:][:n]
	packed = packed[:n]
	for x := range packed {
		packed[x] = fourRows{uint64(a[x]) | uint64(b[x])<<32, uint64(c[x]) | uint64(d[x])<<32}
	}
}

// column is an output with up to four weights, in the form that the loops need.
type column struct {
	first   uint32
	weights [4]uint32
}

// appendColumns converts w to columns; it appends none if w does not fit.
func appendColumns(columns []column, w *weights) []column {
	if w.negative || w.size > 4 {
		return columns
	}
	for i, first := range w.first {
		c := column{first: uint32(first)}
		for j, v := range w.values[i*w.size:][:w.size] {
			c.weights[j] = uint32(v)
		}
		columns = append(columns, c)
	}
	return columns
}

// sumColumns computes the outputs of four rows.
func sumColumns(dst []byte, stride int, packed []fourRows, w *weights, columns []column) {
	a, b, c, d := dst, dst[stride:], dst[2*stride:], dst[3*stride:]
	switch {
	case w.negative:
		sumColumnsClipped(a, b, c, d, packed, w)
	case w.size <= 2:
		sumColumns2(a, b, c, d, packed, columns)
	case w.size == 3:
		sumColumns3(a, b, c, d, packed, columns)
	case w.size == 4:
		sumColumns4(a, b, c, d, packed, columns)
	default:
		sumColumnsOf(a, b, c, d, packed, w)
	}
}

func sumColumns2(a, b, c, d []byte, packed []fourRows, columns []column) {
	a, b, c, d = a[:len(columns)], b[:len(columns)], c[:len(columns)], d[:len(columns)]
	for i := range columns {
		k := &columns[i]
		at := uint(k.first)
		p1, p0 := packed[at+1], packed[at]
		v0, v1 := uint64(k.weights[0]), uint64(k.weights[1])
		upper := halves + p0.upper*v0 + p1.upper*v1
		a[i], b[i] = uint8(upper>>weightBits), uint8(upper>>(weightBits+32))
		lower := halves + p0.lower*v0 + p1.lower*v1
		c[i], d[i] = uint8(lower>>weightBits), uint8(lower>>(weightBits+32))
	}
}

func sumColumns3(a, b, c, d []byte, packed []fourRows, columns []column) {
	a, b, c, d = a[:len(columns)], b[:len(columns)], c[:len(columns)], d[:len(columns)]
	for i := range columns {
		k := &columns[i]
		at := uint(k.first)
		p2, p1, p0 := packed[at+2], packed[at+1], packed[at]
		v0, v1, v2 := uint64(k.weights[0]), uint64(k.weights[1]), uint64(k.weights[2])
		upper := halves + p0.upper*v0 + p1.upper*v1 + p2.upper*v2
		a[i], b[i] = uint8(upper>>weightBits), uint8(upper>>(weightBits+32))
		lower := halves + p0.lower*v0 + p1.lower*v1 + p2.lower*v2
		c[i], d[i] = uint8(lower>>weightBits), uint8(lower>>(weightBits+32))
	}
}

func sumColumns4(a, b, c, d []byte, packed []fourRows, columns []column) {
	a, b, c, d = a[:len(columns)], b[:len(columns)], c[:len(columns)], d[:len(columns)]
	for i := range columns {
		k := &columns[i]
		at := uint(k.first)
		p3, p2, p1, p0 := packed[at+3], packed[at+2], packed[at+1], packed[at]
		v0, v1, v2, v3 := uint64(k.weights[0]), uint64(k.weights[1]), uint64(k.weights[2]), uint64(k.weights[3])
		upper := halves + p0.upper*v0 + p1.upper*v1 + p2.upper*v2 + p3.upper*v3
		a[i], b[i] = uint8(upper>>weightBits), uint8(upper>>(weightBits+32))
		lower := halves + p0.lower*v0 + p1.lower*v1 + p2.lower*v2 + p3.lower*v3
		c[i], d[i] = uint8(lower>>weightBits), uint8(lower>>(weightBits+32))
	}
}

func sumColumnsOf(a, b, c, d []byte, packed []fourRows, w *weights) {
	for i := range w.first {
		upper, lower := w.sumColumn(packed, i, halves)
		a[i], b[i] = uint8(upper>>weightBits), uint8(upper>>(weightBits+32))
		c[i], d[i] = uint8(lower>>weightBits), uint8(lower>>(weightBits+32))
	}
}

func sumColumnsClipped(a, b, c, d []byte, packed []fourRows, w *weights) {
	for i := range w.first {
		upper, lower := w.sumColumn(packed, i, starts)
		a[i], b[i] = clipSums(upper)
		c[i], d[i] = clipSums(lower)
	}
}

func (w *weights) sumColumn(packed []fourRows, i int, start uint64) (upper, lower uint64) {
	values := w.values[i*w.size:][:w.count[i]]
	pixels := packed[w.first[i]:][:len(values)]
	upper, lower = start, start
	for j, v := range values {
		upper += pixels[j].upper * uint64(v)
		lower += pixels[j].lower * uint64(v)
	}
	return upper, lower
}

// sumRows computes a row from one row per value. Rows are as long as dst, whose length is a
// multiple of 8.
func sumRows(dst, src []byte, values []int32, negative bool) {
	switch {
	case negative:
		sumRowsClipped(dst, src, values)
	case len(values) == 2:
		sumRows2(dst, src, values)
	case len(values) == 3:
		sumRows3(dst, src, values)
	case len(values) == 4:
		sumRows4(dst, src, values)
	default:
		sumRowsOf(dst, src, values)
	}
}

func sumRows2(dst, src []byte, values []int32) {
	n := len(dst)
	a, b := src[:n], src[n:][:n]
	v0, v1 := uint64(values[0]), uint64(values[1])
	for x := 0; x <= len(dst)-8; x += 8 {
		p, q := binary.LittleEndian.Uint64(a[x:x+8]), binary.LittleEndian.Uint64(b[x:x+8])
		s0 := halves + (p&every4th)*v0 + (q&every4th)*v1
		s1 := halves + (p>>8&every4th)*v0 + (q>>8&every4th)*v1
		s2 := halves + (p>>16&every4th)*v0 + (q>>16&every4th)*v1
		s3 := halves + (p>>24&every4th)*v0 + (q>>24&every4th)*v1
		binary.LittleEndian.PutUint64(dst[x:x+8], together(s0, s1, s2, s3))
	}
}

func sumRows3(dst, src []byte, values []int32) {
	n := len(dst)
	a, b, c := src[:n], src[n:][:n], src[2*n:][:n]
	v0, v1, v2 := uint64(values[0]), uint64(values[1]), uint64(values[2])
	for x := 0; x <= len(dst)-8; x += 8 {
		p, q := binary.LittleEndian.Uint64(a[x:x+8]), binary.LittleEndian.Uint64(b[x:x+8])
		r := binary.LittleEndian.Uint64(c[x : x+8])
		s0 := halves + (p&every4th)*v0 + (q&every4th)*v1 + (r&every4th)*v2
		s1 := halves + (p>>8&every4th)*v0 + (q>>8&every4th)*v1 + (r>>8&every4th)*v2
		s2 := halves + (p>>16&every4th)*v0 + (q>>16&every4th)*v1 + (r>>16&every4th)*v2
		s3 := halves + (p>>24&every4th)*v0 + (q>>24&every4th)*v1 + (r>>24&every4th)*v2
		binary.LittleEndian.PutUint64(dst[x:x+8], together(s0, s1, s2, s3))
	}
}

func sumRows4(dst, src []byte, values []int32) {
	n := len(dst)
	a, b, c, d := src[:n], src[n:][:n], src[2*n:][:n], src[3*n:][:n]
	v0, v1, v2, v3 := uint64(values[0]), uint64(values[1]), uint64(values[2]), uint64(values[3])
	for x := 0; x <= len(dst)-8; x += 8 {
		p, q := binary.LittleEndian.Uint64(a[x:x+8]), binary.LittleEndian.Uint64(b[x:x+8])
		r, t := binary.LittleEndian.Uint64(c[x:x+8]), binary.LittleEndian.Uint64(d[x:x+8])
		s0 := halves + (p&every4th)*v0 + (q&every4th)*v1 + (r&every4th)*v2 + (t&every4th)*v3
		s1 := halves + (p>>8&every4th)*v0 + (q>>8&every4th)*v1 + (r>>8&every4th)*v2 + (t>>8&every4th)*v3
		s2 := halves + (p>>16&every4th)*v0 + (q>>16&every4th)*v1 + (r>>16&every4th)*v2 + (t>>16&every4th)*v3
		s3 := halves + (p>>24&every4th)*v0 + (q>>24&every4th)*v1 + (r>>24&every4th)*v2 + (t>>24&every4th)*v3
		binary.LittleEndian.PutUint64(dst[x:x+8], together(s0, s1, s2, s3))
	}
}

func sumRowsOf(dst, src []byte, values []int32) {
	for x := 0; x < len(dst); x += 8 {
		s0, s1, s2, s3 := sumEight(src[x:], len(dst), values, halves)
		binary.LittleEndian.PutUint64(dst[x:], together(s0, s1, s2, s3))
	}
}

func sumRowsClipped(dst, src []byte, values []int32) {
	for x := 0; x < len(dst); x += 8 {
		s0, s1, s2, s3 := sumEight(src[x:], len(dst), values, starts)
		out := dst[x:][:8]
		out[0], out[4] = clipSums(s0)
		out[1], out[5] = clipSums(s1)
		out[2], out[6] = clipSums(s2)
		out[3], out[7] = clipSums(s3)
	}
}

// sumEight sums eight columns, in pairs: pixels 0 and 4, 1 and 5, 2 and 6, 3 and 7.
func sumEight(src []byte, stride int, values []int32, start uint64) (s0, s1, s2, s3 uint64) {
	s0, s1, s2, s3 = start, start, start, start
	for j, v := range values {
		p, w := binary.LittleEndian.Uint64(src[j*stride:]), uint64(v)
		s0 += (p & every4th) * w
		s1 += (p >> 8 & every4th) * w
		s2 += (p >> 16 & every4th) * w
		s3 += (p >> 24 & every4th) * w
	}
	return s0, s1, s2, s3
}

// together returns the eight pixels of four pairs of sums.
func together(s0, s1, s2, s3 uint64) uint64 {
	return s0>>weightBits&every4th | s1>>weightBits&every4th<<8 |
		s2>>weightBits&every4th<<16 | s3>>weightBits&every4th<<24
}

// clipSums returns the two pixels of two sums that began with an offset.
func clipSums(sums uint64) (low, high uint8) {
	return clipByte(int32(uint32(sums)>>weightBits) - offset), clipByte(int32(sums>>(32+weightBits)) - offset)
}

func clipByte(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^v >> 31)
	}
	return uint8(v)
}
