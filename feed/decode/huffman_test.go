package decode

import (
	"math/rand/v2"
	"testing"
)

// naive is a Huffman decoder of its own: codes as a map from length and bits.
type naive map[[2]int]byte

// newNaive returns nil if the codes do not fit below the all-ones code.
func newNaive(counts []int, symbols []byte) naive {
	codes := naive{}
	code, k := 0, 0
	for i, n := range counts {
		for range n {
			if code >= 1<<(i+1)-1 {
				return nil
			}
			codes[[2]int{i + 1, code}] = symbols[k]
			code, k = code+1, k+1
		}
		code *= 2
	}
	return codes
}

// next decodes the symbol at the left end of buf; no code is 17 bits of symbol 0.
func (c naive) next(buf uint64) (symbol byte, length int) {
	for l := 1; l <= 16; l++ {
		if symbol, ok := c[[2]int{l, int(buf >> (64 - l))}]; ok {
			return symbol, l
		}
	}
	return 0, 17
}

// ac decodes one AC symbol: bits, places moved over, whether the block ends.
func (c naive) ac(buf uint64) (bits, move, size int, end bool) {
	symbol, length := c.next(buf)
	run, size := int(symbol>>4), int(symbol&15)
	return length + size, run + 1, size, size == 0 && run != 15
}

// TestTables builds tables from every vector of code lengths with few symbols, and
// from random ones, and checks every entry of every lookup.
func TestTables(t *testing.T) {
	accepted, refused := 0, 0
	var built table
	draws := rand.New(rand.NewPCG(3, 4))
	try := func(counts []int) {
		key := make([]byte, 16)
		n := 0
		for i, c := range counts {
			key[i] = byte(c)
			n += c
		}
		for range n {
			key = append(key, byte(draws.Uint32()))
		}
		want := newNaive(counts, key[16:])
		if got := built.build(key, false); got != (want != nil) {
			t.Fatalf("lengths %v: build says %v", counts, got)
		}
		if want == nil {
			refused++
			return
		}
		accepted++
		built.quicken()
		checkTable(t, &built, want)
		for i := range key[16:] {
			key[16+i] &= 15
		}
		if !built.build(key, true) {
			t.Fatalf("lengths %v: no DC table", counts)
		}
		built.quicken()
		checkDC(t, &built, newNaive(counts, key[16:]))
		if n > 0 {
			key[16] = 16
			if built.build(key, true) {
				t.Fatal("a DC table with 16-bit differences was accepted")
			}
		}
	}
	longest, most := 5, 7
	if testing.Short() {
		longest = 4
	}
	var vectors func(counts []int, left int)
	vectors = func(counts []int, left int) {
		if len(counts) == longest {
			try(counts)
			return
		}
		for n := range left + 1 {
			vectors(append(counts[:len(counts):len(counts)], n), left-n)
		}
	}
	vectors(nil, most)
	for range 200 {
		counts := make([]int, 16)
		left := draws.IntN(257)
		room := 1.0 // of the code space; a third of the vectors may ask for more
		if draws.IntN(3) == 0 {
			room = 1.2
		}
		for i := range counts {
			size := 1 / float64(int(2)<<i)
			counts[i] = min(left, draws.IntN(int(room/size)/2+1), 255)
			left -= counts[i]
			room -= float64(counts[i]) * size
		}
		try(counts)
	}
	if accepted < 500 || refused < 50 {
		t.Fatalf("%d tables accepted and %d refused: not much of a test", accepted, refused)
	}
}

// checkTable compares an AC table's lookups with symbols decoded one by one. The
// bits behind the lookup are random: nothing may depend on them but a first value.
func checkTable(t *testing.T, got *table, want naive) {
	t.Helper()
	for i := range got.look {
		buf := uint64(i)<<(64-lookBits) | rand.Uint64()>>lookBits
		symbol, length := want.next(buf)
		if s, l := got.next(buf); s != symbol || int(l) != length {
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
	}
	for i, e := range got.skip {
		buf := uint64(i)<<(64-skipBits) | rand.Uint64()>>skipBits
		checkEntry(t, want, buf, int(e&255), int(e>>8), skipBits)
	}
}

// checkEntry checks an entry's bits and its move. Two lookups share 56 bits, of
// which a DC difference or another lookup has taken at most 26.
func checkEntry(t *testing.T, want naive, buf uint64, bits, move, most int) {
	t.Helper()
	if move == rare && bits == 0 {
		return
	}
	if bits == 0 || bits > 26 {
		t.Fatalf("an entry of %d bits", bits)
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

func checkDC(t *testing.T, got *table, want naive) {
	t.Helper()
	for i, e := range got.diff {
		if e == 0 {
			continue
		}
		buf := uint64(i)<<(64-dcBits) | rand.Uint64()>>dcBits
		size, length := want.next(buf)
		if int(e&255) != length+int(size) || e&255 > 26 || value(buf<<(e>>8&255), e>>16) != extend(buf<<length, uint(size)) {
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
			if got := value(buf|1<<40-1, uint32(63-size)); got != want {
				t.Fatalf("%d bits %b: value %d, want %d", size, v, got, want)
			}
		}
	}
}
