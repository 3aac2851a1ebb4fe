package decode

import (
	"math/rand/v2"
	"testing"
)

// naive is an independent Huffman decoder: a table of every 16 bits with the symbol and the
// code's length << 8.
type naive [1 << 16]uint16

// fill returns false if the codes do not fit below the all-ones code.
func (c *naive) fill(counts, symbols []byte) bool {
	at, k := 0, 0
	for i, n := range counts {
		for range n {
			end := at + 1<<(15-i)
			if end > len(c)-1 {
				return false
			}
			for ; at < end; at++ {
				c[at] = uint16(i+1)<<8 | uint16(symbols[k])
			}
			k++
		}
	}
	for ; at < len(c); at++ {
		c[at] = 17 << 8 // no code is 17 bits of symbol 0
	}
	return true
}

// next decodes the symbol at the left end of buf.
func (c *naive) next(buf uint64) (symbol byte, length int) {
	e := c[buf>>48]
	return byte(e), int(e >> 8)
}

// ac decodes one AC symbol: bits, places moved over, whether the block ends.
func (c *naive) ac(buf uint64) (bits, move, size int, end bool) {
	symbol, length := c.next(buf)
	run, size := int(symbol>>4), int(symbol&15)
	return length + size, run + 1, size, size == 0 && run != 15
}

// An entry takes at most these bits, two share the 56 of a refill.
const (
	mostEntry = lookBits + 15
	_         = uint(56 - 2*mostEntry)
)

// TestTables builds tables and checks every entry of every lookup: the decoded value, the
// number of bits, and the position written. A table depends on each symbol, so symbols are
// random, with those that reach furthest more often. It depends on codes only through the
// number of each length. The numbers are:
//
// //   - all with at most 12 symbols that use all codes but the one of all ones, which
// //     JPEG forbids, and the same with one code more, which must be refused;
// //   - all with at most 3 symbols, and with at most 7 of at most 5 bits;
// //   - random ones, with up to 256 symbols.
func TestTables(t *testing.T) {
	c := tableChecker{t: t, draws: rand.New(rand.NewPCG(3, 4))}
	complete := 12
	if testing.Short() {
		complete = 9
	}
	c.complete(nil, 1, complete)
	c.vectors(nil, 16, 3)
	c.vectors(nil, 5, 7)
	for range 200 {
		c.try(c.randomCounts())
	}
	t.Logf("%d tables were accepted, %d refused", c.accepted, c.refused)
	if c.accepted < 1000 || c.refused < 1000 {
		t.Fatal("not much of a test")
	}
}

type tableChecker struct {
	t                 *testing.T
	draws             *rand.Rand
	built             table
	want              naive
	accepted, refused int
}

// complete tries all ways to use up twice as many free codes of the next length,
// of which one is that of all ones.
func (c *tableChecker) complete(counts []byte, free, symbols int) {
	free *= 2
	if free-1 > symbols || len(counts) == 16 {
		return
	}
	whole := append(counts[:len(counts):len(counts)], byte(free-1))
	c.try(whole)
	for i := range whole {
		whole[i]++
		c.try(whole) // is refused
		whole[i]--
	}
	for n := range free {
		c.complete(append(counts[:len(counts):len(counts)], byte(n)), free-n, symbols-n)
	}
}

// vectors tries all numbers of codes up to a length.
func (c *tableChecker) vectors(counts []byte, longest, symbols int) {
	if len(counts) == longest {
		c.try(counts)
		return
	}
	for n := range symbols + 1 {
		c.vectors(append(counts[:len(counts):len(counts)], byte(n)), longest, symbols-n)
	}
}

func (c *tableChecker) randomCounts() []byte {
	counts := make([]byte, 16)
	left := c.draws.IntN(257)
	room := 1.0 // of the code space; a third of the vectors may ask for more
	if c.draws.IntN(3) == 0 {
		room = 1.2
	}
	for i := range counts {
		size := 1 / float64(int(2)<<i)
		n := min(left, c.draws.IntN(int(room/size)/2+1), 255)
		counts[i] = byte(n)
		left -= n
		room -= float64(n) * size
	}
	return counts
}

// try builds an AC and a DC table.
func (c *tableChecker) try(counts []byte) {
	c.t.Helper()
	key := append(counts[:len(counts):len(counts)], make([]byte, 16-len(counts))...)
	n := 0
	for _, count := range counts {
		n += int(count)
	}
	for range n {
		symbol := byte(c.draws.Uint32())
		if c.draws.IntN(3) == 0 {
			symbol = [...]byte{0x00, 0xf0, 0x0f, 0xff, 0x01, 0xf1}[c.draws.IntN(6)]
		}
		key = append(key, symbol)
	}
	fits := c.want.fill(key[:16], key[16:])
	if got := c.built.build(key, false); got != fits {
		c.t.Fatalf("lengths %v: build says %v", counts, got)
	}
	if !fits {
		c.refused++
		return
	}
	c.accepted++
	c.built.quicken()
	checkTable(c.t, &c.built, &c.want)
	for i := range key[16:] {
		key[16+i] &= 15
	}
	if c.want.fill(key[:16], key[16:]); !c.built.build(key, true) {
		c.t.Fatalf("lengths %v: no DC table", counts)
	}
	c.built.quicken()
	checkDC(c.t, &c.built, &c.want)
	if n > 0 {
		key[16] = 16
		if c.built.build(key, true) {
			c.t.Fatal("a DC table with 16-bit differences was accepted")
		}
	}
}

// checkTable compares an AC table's lookups with symbols decoded one by one. The
// bits behind the lookup are random: nothing may depend on them but a first value.
func checkTable(t *testing.T, got *table, want *naive) {
	t.Helper()
	for i := range got.look {
		buf := uint64(i)<<(64-lookBits) | rand.Uint64()>>lookBits
		symbol, length := want.next(buf)
		if s, l := got.nextSymbol(buf); s != symbol || int(l) != length {
			t.Fatalf("bits %064b: symbol %d of %d bits, want %d of %d", buf, s, l, symbol, length)
		}
	}
	for i, e := range got.pair {
		buf := uint64(i)<<(64-pairBits) | rand.Uint64()>>pairBits
		checkEntry(t, want, buf, int(e&255), int(e>>24&255), 2)
		if e>>24&255 == rare {
			continue
		}
		if first, second := e>>32&255, e>>40&255; first > 15 && first != endOfBlock || second > 31 {
			t.Fatalf("entry %x writes to places %d and %d behind k", e, first, second)
		}
		if length, rest := e>>8&255, e>>16&255; length > pairBits || e>>32&255 != endOfBlock && (rest < 64-15 || rest > 63) {
			t.Fatalf("entry %x has a first code of %d bits, a value of 64 - %d", e, length, rest)
		}
	}
	for i, e := range got.skip {
		buf := uint64(i)<<(64-skipBits) | rand.Uint64()>>skipBits
		checkEntry(t, want, buf, int(e&255), int(e>>8), skipBits)
	}
}

// checkEntry checks an entry's bits and its move: k, at most 63, stays a byte.
func checkEntry(t *testing.T, want *naive, buf uint64, bits, move, most int) {
	if move == rare && bits == 0 {
		return
	}
	if bits == 0 || bits > mostEntry || move+63 > 255 {
		t.Fatalf("an entry of %d bits that moves %d", bits, move)
	}
	at, k := 0, 0
	for range most {
		b, m, _, end := want.ac(buf << at)
		at += b
		if end {
			k += endOfBlock
		} else {
			k += m
		}
		if at >= bits || end {
			break
		}
	}
	if at != bits || k != move {
		t.Fatalf("bits %064b: an entry of %d bits moves %d, one by one %d bits move %d", buf, bits, move, at, k)
	}
}

func checkDC(t *testing.T, got *table, want *naive) {
	t.Helper()
	for i, e := range got.diff {
		if e == 0 {
			continue
		}
		buf := uint64(i)<<(64-dcBits) | rand.Uint64()>>dcBits
		size, length := want.next(buf)
		if int(e&255) != length+int(size) || e&255 > mostEntry || extendFast(buf<<(e>>8&255), e>>16) != extend(buf<<length, uint(size)) {
			t.Fatalf("bits %064b: DC entry %x, want a code of %d bits and a value of %d", buf, e, length, size)
		}
	}
}

// TestExtend compares with figure F.12 of the standard.
func TestExtend(t *testing.T) {
	for size := range uint(16) {
		for v := range 1 << size {
			want := v
			if size > 0 && v < 1<<(size-1) {
				want = v - 1<<size + 1
			}
			buf := uint64(v) << (63 - size) << 1
			if got := extend(buf|1<<40-1, size); got != want {
				t.Fatalf("%d bits %b: %d, want %d", size, v, got, want)
			}
			if got := extendFast(buf|1<<40-1, uint32(63-size)); got != want {
				t.Fatalf("%d bits %b: value %d, want %d", size, v, got, want)
			}
		}
	}
}
