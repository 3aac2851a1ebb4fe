package decode

import (
	"bytes"
	"encoding/binary"
)

// bits reads the bits of one run of entropy-coded data: a scan, or the part between two restart
// markers. After the data come zeros, as libjpeg supplies them.
//
// buf holds the next n bits, left-aligned. Bits below those may already be set; the next refill
// sets them to the same values.
type bits struct {
	data []byte // without stuffing, followed by at least padding zero bytes
	end  int    // bytes of data without the padding
	pos  int    // next byte to load
	buf  uint64
	n    uint

	filled bool // a fill byte (0xff) came before a stuffed one, which the standard forbids
}

// padding is enough for the longest MCU that can be read past the end of the data without a
// check: 10 blocks of 64 symbols of at most 17+15 bits, a start up to one load after the data,
// and one more load.
const padding = 10*64*(17+15)/8 + 8 + 8

// refill makes n at least 56. After the padding it reads zeros, so it is safe anywhere.
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

// ranOut reports whether more bits were consumed than there were. libjpeg then leaves all
// blocks up to the next restart marker empty (insufficient_data).
func (b *bits) ranOut() bool { return b.pos*8-int(b.n) > b.end*8 }

// unstuff copies the entropy-coded data at data[pos:], up to the next marker, to dst without
// the stuffing. It grows dst if necessary and returns it as b.data. next is the first byte
// (0xff) of the marker, or len(data) if the file ends without one.
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
