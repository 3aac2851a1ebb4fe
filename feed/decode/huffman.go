package decode

import "bytes"

// Huffman tables. One lookup of lookBits bits gives the symbol of nearly every code. Longer and
// invalid codes go through longSymbol.
const (
	lookBits = 11
	pairBits = 10
	skipBits = 12
	dcBits   = 9
)

// table is a Huffman table ready for decoding. The fast tables diff, pair and skip only speed
// up what look can decode; an entry that cannot help is rare.
type table struct {
	look [1 << lookBits]uint16 // code length << 8 | symbol; 0: longer than lookBits, or invalid
	last [18]int32             // largest code of each length, -1: none
	off  [18]int32             // index of a symbol minus its code
	syms [256]byte

	diff [1 << dcBits]uint32   // DC: see dcEntry
	pair [1 << pairBits]uint64 // AC: see pairEntry
	skip [1 << skipBits]uint16 // AC: see skipEntry

	key   []byte // counts and symbols it was built from
	dc    bool
	quick bool // the fast tables are filled
}

// build fills t from a DHT entry. It returns false if no prefix code has such lengths, or if a
// difference in a DC table has more than 15 bits (jpeg_make_d_derived_tbl).
func (t *table) build(key []byte, dc bool) bool {
	clear(t.look[:])
	t.dc = dc
	t.key = append(t.key[:0], key...)
	t.syms = [256]byte{}
	copy(t.syms[:], key[16:])
	code, k := 0, 0
	for l := 1; l <= 16; l++ {
		n := int(key[l-1])
		if n > 0 && code+n >= 1<<l { // more codes than l bits allow, or the code of all ones
			return false
		}
		t.last[l], t.off[l] = -1, int32(k-code)
		for range n {
			if dc && t.syms[k] > 15 {
				return false
			}
			if l <= lookBits {
				first := code << (lookBits - l)
				for i := range 1 << (lookBits - l) {
					t.look[first+i] = uint16(l)<<8 | uint16(t.syms[k])
				}
			}
			t.last[l] = int32(code)
			code++
			k++
		}
		code <<= 1
	}
	t.quick = false
	return true
}

// quicken fills the fast tables, which takes longer than the rest. Scans of progressive JPEGs
// do without them: each brings its own tables and cannot use these.
func (t *table) quicken() {
	if t.quick {
		return
	}
	t.quick = true
	if t.dc {
		for i := range t.diff {
			t.diff[i] = t.dcEntry(uint64(i) << (64 - dcBits))
		}
		return
	}
	for i := range t.pair {
		t.pair[i] = t.pairEntry(uint64(i) << (64 - pairBits))
	}
	for i := range t.skip {
		t.skip[i] = t.skipEntry(uint64(i) << (64 - skipBits))
	}
}

// peekSymbol finds the symbol at the left end of buf, of which only the first bits bits are
// known. ok is true if code and value lie within them.
func (t *table) peekSymbol(buf uint64, bits uint) (run int, size, length uint, ok bool) {
	e := t.look[buf>>(64-lookBits)]
	length, size, run = uint(e>>8), uint(e&15), int(e>>4&15)
	return run, size, length, e != 0 && length+size <= bits
}

// The fast tables move k, the position of the next coefficient in the block. Two ranges past
// the end of the block have a meaning. From endOfBlock on, an end of block was read at position
// k-endOfBlock, which is valid if that is below 64. Below endOfBlock, the entry does not fit
// here (the block ends within it, or it is rare), and the next symbol must be decoded alone.
const (
	endOfBlock = 128
	rare       = 64
)

// dcEntry: bits 0-5 are the length of code and value, 8-13 that of the code, 16-21 are 63 minus
// that of the value. 0: rare.
func (t *table) dcEntry(buf uint64) uint32 {
	e := t.look[buf>>(64-lookBits)]
	length, size := uint32(e>>8), uint32(e&255)
	if e == 0 || length > dcBits {
		return 0
	}
	return (length + size) | length<<8 | (63-size)<<16
}

// pairEntry holds up to two symbols, the second with its value if both are within the lookup.
// Its bytes are: 0 total length, 1 length of the first code, 2 64 minus the length of the first
// value, 3 how far k moves, 4 position of the first value, 5 position of the second, 6 and 7
// the second value. Positions are relative to k. Something is always written, even without a
// value: an initial end of block goes past the block (position endOfBlock), a missing second
// value is the 0 that is already there.
func (t *table) pairEntry(buf uint64) uint64 {
	run, size, length, ok := t.peekSymbol(buf, 64)
	if !ok || length > pairBits || size == 0 && run == 15 {
		return rare << 24
	}
	if size == 0 {
		return uint64(length|length<<8) | endOfBlock<<24 | endOfBlock<<32
	}
	total := length + size
	move := run + 1
	e := uint64(length<<8|(64-size)<<16) | uint64(run)<<32
	place, value := move, 0
	if total < pairBits {
		if run, size, length, ok := t.peekSymbol(buf<<total, pairBits-total); ok {
			switch {
			case size > 0:
				place, value = move+run, extend(buf<<total<<length, size)
				move += run + 1
			case run == 15:
				move += 16
			default:
				move += endOfBlock
			}
			total += length + size
		}
	}
	return e | uint64(total) | uint64(move)<<24 | uint64(place)<<40 | uint64(value)<<48
}

// skipEntry holds as many symbols as fit: bits 0-5 are their length, 8-15 how far k moves.
func (t *table) skipEntry(buf uint64) uint16 {
	var total uint
	move := 0
	for {
		run, size, length, ok := t.peekSymbol(buf<<total, skipBits-total)
		if total == 0 {
			run, size, length, ok = t.peekSymbol(buf, 64)
		}
		if !ok || move+run+1 > 63 {
			break
		}
		total += length + size
		if size == 0 && run != 15 {
			move += endOfBlock
			break
		}
		move += run + 1
		if total >= skipBits {
			break
		}
	}
	if total == 0 {
		move = rare
	}
	return uint16(total) | uint16(move)<<8
}

// nextSymbol returns the symbol at the left end of buf and its length, at most 17.
func (t *table) nextSymbol(buf uint64) (symbol byte, length uint) {
	if e := t.look[buf>>(64-lookBits)]; e != 0 {
		return byte(e), uint(e >> 8)
	}
	return t.longSymbol(buf)
}

// longSymbol decodes codes longer than lookBits. An invalid code is symbol 0 of 17 bits, as in
// libjpeg, which only warns.
func (t *table) longSymbol(buf uint64) (symbol byte, length uint) {
	for l := uint(1); l <= 16; l++ {
		if code := int32(buf >> (64 - l)); code <= t.last[l] {
			return t.syms[uint8(code+t.off[l])], l
		}
	}
	return 0, 17
}

// extend turns the size bits at the left end of buf into a signed value (figure F.12 of the
// standard). size ≤ 15.
func extend(buf uint64, size uint) int {
	positive := uint64(int64(buf) >> 63) // all ones if the first bit is set
	v := int(buf >> 1 >> (63 - size))    // a shift by 64 if size is 0
	return v - int(^positive&(1<<(size&63)-1))
}

// tableCache keeps built tables by content, since most files of a data set share theirs. A scan
// uses at most 8, so the least recently used table is never in use.
type tableCache struct {
	tables [12]table
	used   [12]int // time of last use; 0: never filled
	clock  int
}

// findTable returns the table of a DHT entry, or nil if it is not a prefix code.
func (c *tableCache) findTable(key []byte, dc bool) *table {
	c.clock++
	oldest := 0
	for i := range c.tables {
		if c.used[i] > 0 && c.tables[i].dc == dc && bytes.Equal(c.tables[i].key, key) {
			c.used[i] = c.clock
			return &c.tables[i]
		}
		if c.used[i] < c.used[oldest] {
			oldest = i
		}
	}
	c.used[oldest] = 0
	if !c.tables[oldest].build(key, dc) {
		return nil
	}
	c.used[oldest] = c.clock
	return &c.tables[oldest]
}
