package webp

import (
	"encoding/binary"
)

// bitReader reads the bits of a lossless picture, the lowest first. After the end it reads
// zeros, and overrun reports that.
type bitReader struct {
	data   []byte
	at     int    // next byte
	window uint64 // bits that were loaded, the next one lowest
	have   int    // number of bits in window
}

// fill makes sure that window has at least 32 bits.
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

// overrun reports whether more was read than there is. libwebp reads eight bytes at once, and
// does not notice the end of shorter data before that.
func (r *bitReader) overrun() bool { return 8*r.at-r.have > 8*max(len(r.data), 8) }

// prefixCode decodes symbols with a table for the next rootBits bits, and with second tables
// for longer codes.
type prefixCode struct {
	root [1 << rootBits]codeEntry
	rest []codeEntry
}

// codeEntry is a symbol and the length of its code. If bits exceeds rootBits, symbol is where a
// second table begins in rest, and the excess is its number of index bits.
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

// build makes the code with the given lengths. It must use every sequence of bits, except that
// a single symbol takes no bits.
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

// fillTables enters the codes in order. Each code is the previous one plus one, written from
// its highest bit; its index has the bits in reverse.
func (c *prefixCode) fillTables(sorted []uint16, count [longestBit + 2]int) {
	code := 0 // its bits in reverse
	c.rest = c.rest[:0]
	second := 0 // index bits of the current second table
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

// secondBits returns the index bits of a second table that begins with a code of n bits.
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

// nextReversed returns the next code of n bits after another, both with bits in reverse.
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
