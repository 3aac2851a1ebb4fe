package decode

import (
	"bytes"
	"encoding/binary"
)

// bits reads the bits of one run of entropy-coded data: a scan, or what lies
// between two restart markers. Behind the data come zeros, as libjpeg feeds them.
//
// buf holds the next n bits, left-aligned; bits below them may be set already and
// are the same bits that the next refill brings.
type bits struct {
	data []byte // without stuffing, and then at least padding zero bytes
	end  int    // bytes of data without the padding
	pos  int    // next byte to load
	buf  uint64
	n    uint

	filled bool // a fill byte (0xff) stood before a stuffed one, which is against the rules
}

// padding covers the longest MCU that a bit reader may run into behind the data
// without a check: 10 blocks of 64 symbols of at most 17+15 bits, a begin up to one load
// behind the data, and one more load.
const padding = 10*64*(17+15)/8 + 8 + 8

// refill makes n at least 56. It is safe anywhere: behind the padding it reads zeros.
func (b *bits) refill() {
	if b.pos <= len(b.data)-8 {
		b.buf |= binary.BigEndian.Uint64(b.data[b.pos:]) >> (b.n & 63)
	}
	b.pos += int(63-b.n) >> 3
	b.n |= 56
}

// dropBits consumes k bits, k ≤ n.
func (b *bits) dropBits(k uint) {
	b.buf <<= k & 63
	b.n -= k
}

// ranOut reports that more bits were consumed than there were: libjpeg then
// leaves all blocks up to the next restart marker empty (insufficient_data).
func (b *bits) ranOut() bool { return b.pos*8-int(b.n) > b.end*8 }

// unstuff removes the stuffing of the entropy-coded data at data[pos:] up to the next
// marker into dst, which is grown and returned within b.data. next is the marker's
// first byte (0xff), len(data) if there is none: the file is cut off.
func unstuff(dst, data []byte, pos int) (b bits, next int) {
	if want := len(data) - pos + padding; cap(dst) < want {
		dst = make([]byte, want+want/4)
	}
	dst = dst[:cap(dst)]
	n := 0
	for {
		src := data[pos:]
		i := bytes.IndexByte(src, 0xff)
		if i < 0 {
			n += copy(dst[n:], src)
			pos = len(data)
			break
		}
		n += copy(dst[n:], src[:i])
		k := i + 1
		for k < len(src) && src[k] == 0xff { // fill bytes; ff ff 00 is one ff
			k++
		}
		if k == len(src) {
			pos = len(data)
			break
		}
		if src[k] != 0 {
			pos += k - 1
			break
		}
		b.filled = b.filled || k > i+1
		dst[n] = 0xff
		n++
		pos += k + 1
	}
	clear(dst[n : n+padding])
	b.data, b.end = dst[:n+padding], n
	return b, pos
}
