package transform

import "encoding/binary"

// The passes of the fast mode without vector instructions: a word holds four pixels,
// 16 bits each. As in plain.go the usual numbers of weights have loops of their own.
const (
	every2nd     = 0x00ff00ff00ff00ff
	narrowHalves = 0x0040004000400040
)

// sumRows makes output i from rows of src, the first of which it begins with.
func (n *narrow) sumRows(dst, src []byte, stride, i int) {
	values := n.values[i*n.size:][:n.count[i]]
	whole := len(dst) &^ 7
	switch {
	case whole == 0:
	case len(values) == 2:
		sumNarrow2(dst[:whole], src, src[stride:], values)
	case len(values) == 3:
		sumNarrow3(dst[:whole], src, src[stride:], src[2*stride:], values)
	default:
		sumNarrowOf(dst[:whole], src, stride, values)
	}
	for x := whole; x < len(dst); x++ {
		sum := uint(narrowOne / 2)
		for j, v := range values {
			sum += uint(src[x+j*stride]) * uint(v)
		}
		dst[x] = uint8(sum >> narrowBits)
	}
}

func sumNarrow2(dst, a, b []byte, values []uint8) {
	a, b = a[:len(dst)], b[:len(dst)]
	v0, v1 := uint64(values[0]), uint64(values[1])
	for x := 0; x <= len(dst)-8; x += 8 {
		p, q := binary.LittleEndian.Uint64(a[x:x+8]), binary.LittleEndian.Uint64(b[x:x+8])
		even := narrowHalves + (p&every2nd)*v0 + (q&every2nd)*v1
		odd := narrowHalves + (p>>8&every2nd)*v0 + (q>>8&every2nd)*v1
		binary.LittleEndian.PutUint64(dst[x:x+8], even>>narrowBits&every2nd|odd>>narrowBits&every2nd<<8)
	}
}

func sumNarrow3(dst, a, b, c []byte, values []uint8) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	v0, v1, v2 := uint64(values[0]), uint64(values[1]), uint64(values[2])
	for x := 0; x <= len(dst)-8; x += 8 {
		p, q := binary.LittleEndian.Uint64(a[x:x+8]), binary.LittleEndian.Uint64(b[x:x+8])
		r := binary.LittleEndian.Uint64(c[x : x+8])
		even := narrowHalves + (p&every2nd)*v0 + (q&every2nd)*v1 + (r&every2nd)*v2
		odd := narrowHalves + (p>>8&every2nd)*v0 + (q>>8&every2nd)*v1 + (r>>8&every2nd)*v2
		binary.LittleEndian.PutUint64(dst[x:x+8], even>>narrowBits&every2nd|odd>>narrowBits&every2nd<<8)
	}
}

func sumNarrowOf(dst, src []byte, stride int, values []uint8) {
	for x := 0; x <= len(dst)-8; x += 8 {
		even, odd := uint64(narrowHalves), uint64(narrowHalves)
		for j, v := range values {
			p := binary.LittleEndian.Uint64(src[x+j*stride:])
			even += (p & every2nd) * uint64(v)
			odd += (p >> 8 & every2nd) * uint64(v)
		}
		binary.LittleEndian.PutUint64(dst[x:x+8], even>>narrowBits&every2nd|odd>>narrowBits&every2nd<<8)
	}
}

// appendColumns is n in the form of the loops for two and four weights.
func (n *narrow) appendColumns(columns []column) []column {
	if n.size > 4 {
		return columns
	}
	for i, first := range n.first {
		c := column{first: uint32(first)}
		for j, v := range n.values[i*n.size:][:n.size] {
			c.weights[j] = uint32(v)
		}
		columns = append(columns, c)
	}
	return columns
}

// sumColumns makes the outputs of four rows.
func (n *narrow) sumColumns(dst []byte, stride int, packed []uint64, columns []column) {
	a, b, c, d := dst, dst[stride:], dst[2*stride:], dst[3*stride:]
	switch n.size {
	case 2:
		sumNarrowColumns2(a, b, c, d, packed, columns)
	case 4:
		sumNarrowColumns4(a, b, c, d, packed, columns)
	default:
		n.sumColumnsOf(a, b, c, d, packed)
	}
}

func sumNarrowColumns2(a, b, c, d []byte, packed []uint64, columns []column) {
	a, b, c, d = a[:len(columns)], b[:len(columns)], c[:len(columns)], d[:len(columns)]
	for i := range columns {
		k := &columns[i]
		at := uint(k.first)
		p1, p0 := packed[at+1], packed[at]
		sum := (narrowHalves + p0*uint64(k.weights[0]) + p1*uint64(k.weights[1])) >> narrowBits
		a[i], b[i], c[i], d[i] = uint8(sum), uint8(sum>>16), uint8(sum>>32), uint8(sum>>48)
	}
}

func sumNarrowColumns4(a, b, c, d []byte, packed []uint64, columns []column) {
	a, b, c, d = a[:len(columns)], b[:len(columns)], c[:len(columns)], d[:len(columns)]
	for i := range columns {
		k := &columns[i]
		at := uint(k.first)
		p3, p2, p1, p0 := packed[at+3], packed[at+2], packed[at+1], packed[at]
		sum := narrowHalves + p0*uint64(k.weights[0]) + p1*uint64(k.weights[1])
		sum += p2*uint64(k.weights[2]) + p3*uint64(k.weights[3])
		sum >>= narrowBits
		a[i], b[i], c[i], d[i] = uint8(sum), uint8(sum>>16), uint8(sum>>32), uint8(sum>>48)
	}
}

func (n *narrow) sumColumnsOf(a, b, c, d []byte, packed []uint64) {
	for i, first := range n.first {
		values := n.values[i*n.size:][:n.size]
		sum := uint64(narrowHalves)
		for j, p := range packed[first:][:len(values)] {
			sum += p * uint64(values[j])
		}
		sum >>= narrowBits
		a[i], b[i], c[i], d[i] = uint8(sum), uint8(sum>>16), uint8(sum>>32), uint8(sum>>48)
	}
}

// packNarrow sets packed to the pixels of four rows.
func packNarrow(packed []uint64, src []byte, stride int) {
	n := len(packed)
	a, b := src[:n], src[stride:][:n]
	c, d := src[2*stride:][:n], src[3*stride:][:n]
	for x := range packed {
		packed[x] = uint64(a[x]) | uint64(b[x])<<16 | uint64(c[x])<<32 | uint64(d[x])<<48
	}
}
