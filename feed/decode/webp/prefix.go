package webp

import (
	"encoding/binary"
)

// bitReader reads bits of a lossless picture, the lowest first. Behind the end there are
// zeros, and overrun reports that some were read.
type bitReader struct {
	data   []byte
	at     int    // next byte
	window uint64 // bits that were read, the next one lowest
	have   int    // how many
}

// fill makes the window hold 32 bits at least.
func (r *bitReader) fill() {
	if r.have >= 32 {
		return
	}
	if r.at+4 <= len(r.data) {
		r.window |= uint64(binary.LittleEndian.Uint32(r.data[r.at:])) << r.have
		r.at, r.have = r.at+4, r.have+32
		return
	}
	for ; r.have < 32; r.at, r.have = r.at+1, r.have+8 {
		if r.at < len(r.data) {
			r.window |= uint64(r.data[r.at]) << r.have
		}
	}
}

func (r *bitReader) skip(n int) { r.window, r.have = r.window>>n, r.have-n }

// read reads up to 24 bits.
func (r *bitReader) read(n int) int {
	r.fill()
	bits := int(r.window & (1<<n - 1))
	r.skip(n)
	return bits
}

// overrun reports whether more was read than there is. libwebp reads eight bytes at
// once, and lets shorter data pass that end before.
func (r *bitReader) overrun() bool { return 8*r.at-r.have > 8*max(len(r.data), 8) }

// prefixCode decodes symbols: by the next rootBits bits, and for longer codes by a second
// table that the first one's entry points to.
type prefixCode struct {
	root [1 << rootBits]codeEntry
	rest []codeEntry
}

// codeEntry is a symbol and the bits of its code; in root with bits above rootBits where
// the second table begins, which has so many bits more.
type codeEntry struct {
	symbol uint16
	bits   uint8
}

const (
	rootBits   = 8
	longestBit = 15
)

// next reads a symbol.
func (c *prefixCode) next(r *bitReader) int {
	r.fill()
	e := c.root[r.window&(1<<rootBits-1)]
	if e.bits > rootBits {
		r.skip(rootBits)
		e = c.rest[int(e.symbol)+int(r.window&(1<<(e.bits-rootBits)-1))]
	}
	r.skip(int(e.bits))
	return int(e.symbol)
}

// build makes the code of some lengths. It must use each sequence of bits, but for one
// symbol alone, which takes no bits.
func (c *prefixCode) build(lengths []uint8) bool {
	var count, at [longestBit + 2]int
	symbols, last := 0, 0
	for symbol, n := range lengths {
		count[n]++
		if n > 0 {
			symbols, last = symbols+1, symbol
		}
	}
	switch symbols {
	case 0:
		return false
	case 1:
		for i := range c.root {
			c.root[i] = codeEntry{uint16(last), 0}
		}
		return true
	}
	free := 1
	for n := 1; n <= longestBit; n++ {
		free = 2*free - count[n]
		if free < 0 {
			return false
		}
		at[n+1] = at[n] + count[n]
	}
	if free != 0 {
		return false
	}
	sorted := make([]uint16, symbols)
	for symbol, n := range lengths {
		if n > 0 {
			sorted[at[n]] = uint16(symbol)
			at[n]++
		}
	}
	c.fillTables(sorted, count)
	return true
}

// fillTables enters the codes in order: each is one more than the one before, read from its
// highest bit on, and stands at its bits in reverse.
func (c *prefixCode) fillTables(sorted []uint16, count [longestBit + 2]int) {
	code := 0 // its bits in reverse
	c.rest = c.rest[:0]
	second := 0 // bits of the second table in which code lies
	for n := 1; n <= longestBit; n++ {
		for ; count[n] > 0; count[n]-- {
			e := codeEntry{sorted[0], uint8(n)}
			sorted = sorted[1:]
			if n <= rootBits {
				for i := code; i < len(c.root); i += 1 << n {
					c.root[i] = e
				}
			} else {
				if code>>rootBits == 0 { // the first of its root
					second = secondBits(count, n)
					c.root[code] = codeEntry{uint16(len(c.rest)), uint8(rootBits + second)}
					c.rest = append(c.rest, make([]codeEntry, 1<<second)...)
				}
				table := c.rest[len(c.rest)-1<<second:]
				e.bits -= rootBits
				for i := code >> rootBits; i < len(table); i += 1 << e.bits {
					table[i] = e
				}
			}
			code = nextReversed(code, n)
		}
	}
}

// secondBits is how many bits a second table needs that begins with a code of n bits.
func secondBits(count [longestBit + 2]int, n int) int {
	free := 1 << (n - rootBits)
	for ; n < longestBit; n++ {
		if free -= count[n]; free <= 0 {
			break
		}
		free <<= 1
	}
	return n - rootBits
}

// nextReversed is the code of n bits behind another, both in reverse.
func nextReversed(code, n int) int {
	step := 1 << (n - 1)
	for code&step != 0 {
		step >>= 1
	}
	if step == 0 {
		return 0
	}
	return code&(step-1) + step
}
