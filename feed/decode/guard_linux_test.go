package decode

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed/decode/idct"
)

// guarded returns size bytes between two inaccessible pages, adjacent to the second or to the
// first.
func guarded(t *testing.T, size int, atEnd bool) []byte {
	t.Helper()
	page := unix.Getpagesize()
	room := ceilDiv(max(size, 1), page) * page
	all, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+room:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	from := page
	if atEnd {
		from += room - size
	}
	return all[from : from+size : from+size]
}

func guardedNew[T any](t *testing.T, atEnd bool) *T {
	t.Helper()
	var v T
	return (*T)(unsafe.Pointer(&guarded(t, int(unsafe.Sizeof(v)), atEnd)[0]))
}

// hostileTables are tables at the limits: a single code of every length with the
// symbols that reach furthest, 256 codes of 16 bits, no code at all, and random ones.
func hostileTables(r *rand.Rand, dc bool) []*table {
	symbols := []byte{0x00, 0xf0, 0x0f, 0xff, 0x01, 0xf1, 0xe0}
	if dc {
		symbols = []byte{0, 1, 15}
	}
	var tables []*table
	add := func(key []byte) {
		built := new(table)
		if built.build(key, dc) {
			built.quicken()
			tables = append(tables, built)
		}
	}
	add(make([]byte, 16))
	for length := range 16 {
		for _, symbol := range symbols {
			key := append(make([]byte, 16), symbol)
			key[length] = 1
			add(key)
			for _, second := range symbols { // together with a one-bit code
				if length > 0 {
					key := append(make([]byte, 16), second, symbol)
					key[0], key[length] = 1, 1
					add(key)
				}
			}
		}
	}
	all := make([]byte, 16+256)
	all[14], all[15] = 1, 255
	for i := range 256 {
		all[16+i] = byte(i)
		if dc {
			all[16+i] &= 15
		}
	}
	add(all)
	for range 50 {
		tables = append(tables, randomTable(r, dc))
	}
	return tables
}

// TestGuards runs the routines in assembly on hostile tables and data, with every
// object that they touch between pages that cannot be touched: an access outside of
// one ends the test. What they make is compared with storePlain on the way.
func TestGuards(t *testing.T) {
	if !useHuffman {
		t.Skip("this CPU runs no assembly")
	}
	r := rand.New(rand.NewPCG(12, 13))
	dcTables, acTables := hostileTables(r, true), hostileTables(r, false)
	rounds := 4000
	if testing.Short() {
		rounds = 1000
	}
	for _, atEnd := range []bool{false, true} {
		m, out := guardedNew[mcuReader](t, atEnd), guardedNew[blockBuffer](t, atEnd)
		dc, ac := guardedNew[table](t, atEnd), guardedNew[table](t, atEnd)
		data := map[int][]byte{}
		for _, size := range []int{0, 1, 7, 8, 9, 500} {
			data[size] = guarded(t, size+padding, atEnd)
		}
		for round := range rounds {
			*dc, *ac = *dcTables[r.IntN(len(dcTables))], *acTables[round%len(acTables)]
			dc.key, ac.key = nil, nil // the garbage collector does not look here
			size := []int{0, 1, 7, 8, 9, 500}[r.IntN(6)]
			*m = mcuReader{blocks: 1 + r.IntN(maxBlocks)}
			for i := range m.blocks {
				m.plan[i] = blockPlan{dc, ac, r.IntN(maxComponents)}
			}
			m.data, m.end, m.pos = data[size], size, r.IntN(size+9)
			mask, set := byte(r.Uint32()|r.Uint32()), byte(r.Uint32()&r.Uint32()&r.Uint32())
			if r.IntN(4) == 0 { // only zeros, or only ones: the shortest and the longest codes
				mask, set = 0, -byte(r.IntN(2))
			}
			for i := range size {
				m.data[i] = byte(r.Uint32())&mask | set
			}
			runGuarded(t, m, out, r)
		}
	}
}

func runGuarded(t *testing.T, m *mcuReader, out *blockBuffer, r *rand.Rand) {
	t.Helper()
	most := (chunk + maxBlocks) / m.blocks
	start, plain := *m, *m
	for m.assembly() {
		n := most - r.IntN(2)*r.IntN(most)
		*out = blockBuffer{}
		var want blockBuffer
		storeFast(m, out, n)
		plain.storePlain(&want, n)
		if blocks := n * m.blocks * 64; string(bytesOf(out[:blocks])) != string(bytesOf(want[:blocks])) {
			t.Fatal("other coefficients than in Go")
		}
		if m.pred != plain.pred || m.dry != plain.dry || m.pos*8-int(m.n) != plain.pos*8-int(plain.n) {
			t.Fatalf("store: %v %v %d, in Go %v %v %d", m.pred, m.dry, m.pos*8-int(m.n), plain.pred, plain.dry, plain.pos*8-int(plain.n))
		}
	}
	end := *m
	*m = start
	skipFast(m, 1<<30) // until the data run out
	if !m.dry || m.pred != end.pred || m.pos*8-int(m.n) != end.pos*8-int(end.n) {
		t.Fatalf("skip: %v %v %d, store %v %v %d", m.pred, m.dry, m.pos*8-int(m.n), end.pred, end.dry, end.pos*8-int(end.n))
	}
}

// TestGuardsOfIDCT: the transform writes 8 rows and touches nothing behind them.
func TestGuardsOfIDCT(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 15))
	for _, atEnd := range []bool{false, true} {
		blocks, quant := guardedNew[[128]int16](t, atEnd), guardedNew[idct.PairQuant](t, atEnd)
		for _, stride := range []int{8, 16, 24, 500} {
			a, b := guarded(t, 7*stride+8, atEnd), guarded(t, 7*stride+8, atEnd)
			for range 100 {
				for i := range blocks {
					blocks[i], quant[i] = int16(r.IntN(99)-49), int16(r.IntN(99))
				}
				idct.TransformPair(blocks, quant, a, b, stride)
			}
			if stride >= 16 {
				idct.TransformBeside(blocks, quant, guarded(t, 7*stride+16, atEnd), stride)
			}
		}
	}
}
