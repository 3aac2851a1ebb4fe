package decode

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"sort"
)

// This file makes JPEGs out of the bytes of a fuzzer, so that nearly every
// execution gets past the headers and deep into entropy-coded data: the bytes
// choose sampling, tables, scans and restart intervals, and what they leave open
// is drawn from a generator that they seed. Damage comes last, and not always.

// chooser makes decisions out of bytes, then out of random numbers.
type chooser struct {
	bytes []byte
	rand  *rand.Rand
}

func newChooser(data []byte) *chooser {
	h := fnv.New64a()
	h.Write(data)
	return &chooser{data, rand.New(rand.NewPCG(h.Sum64(), 1))}
}

func (c *chooser) below(n int) int {
	if len(c.bytes) == 0 {
		return c.rand.IntN(n)
	}
	b := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b % n
}

func (c *chooser) one(in int) bool { return c.below(in) == 0 }

// generated is a JPEG with its known properties.
type generated struct {
	file   []byte
	blocks int  // that its scans hold, each scan for itself
	damage bool // the bytes ask for damage
}

// token is one Huffman symbol with the bits behind it; a restart marker has none.
type token struct {
	slot    byte // table: 0x10 and up are AC
	symbol  byte
	extra   uint32
	size    uint
	restart bool
}

// generator holds the frame that is being written.
type generator struct {
	*chooser
	out        []byte
	width      int
	height     int
	comps      []genComponent
	hmax, vmax int
	restart    int
	blocks     int

	tokens []token
	eobRun int
	// bits of the blocks in an EOB run (refinement scans only)
	pending []token
}

type genComponent struct {
	id, tq       byte
	h, v         int
	blocksX      int // that hold samples
	blocksY      int
	across, down int       // with padding
	coefs        [][64]int // zigzag order
}

// generate makes one JPEG.
func generate(data []byte) generated {
	g := &generator{chooser: newChooser(data)}
	sequential := g.below(5) < 3
	g.frame()
	g.coefficients(g.one(8))
	g.out = append(g.out, 0xff, mSOI)
	if g.one(3) {
		g.segment(mAPP0, append([]byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"), make([]byte, g.below(20))...))
	}
	g.quantTables()
	g.sof(sequential)
	if sequential {
		g.sequentialScans()
	} else {
		g.progressiveScans()
	}
	g.out = append(g.out, 0xff, mEOI)
	return generated{g.out, g.blocks, g.one(4)}
}

var genSamplings = [][][2]int{
	{{2, 2}, {1, 1}, {1, 1}},
	{{2, 2}, {1, 1}, {1, 1}}, // twice as often: it is what photographs have
	{{2, 1}, {1, 1}, {1, 1}},
	{{1, 2}, {1, 1}, {1, 1}},
	{{1, 1}, {1, 1}, {1, 1}},
	{{1, 1}},
	{{2, 2}},
	{{1, 3}},
	{{2, 2}, {2, 2}, {2, 2}},
	{{4, 1}, {1, 1}, {1, 1}},
	{{1, 2}, {1, 2}, {1, 2}},
	{{2, 2}, {2, 1}, {2, 1}},
	{{2, 2}, {1, 2}, {1, 2}},
}

func (g *generator) frame() {
	sampling := genSamplings[g.below(len(genSamplings))]
	g.width, g.height = 1+g.below(90), 1+g.below(90)
	if g.below(4) > 0 {
		g.width, g.height = max(g.width, 66), max(g.height, 66)
	}
	g.hmax, g.vmax = 1, 1
	for _, s := range sampling {
		g.hmax, g.vmax = max(g.hmax, s[0]), max(g.vmax, s[1])
	}
	shared := g.one(2)
	for i, s := range sampling {
		c := genComponent{id: byte(i + 1), h: s[0], v: s[1]}
		if !shared {
			c.tq = byte(i)
		}
		c.blocksX, c.blocksY = ceilDiv(g.width*c.h, 8*g.hmax), ceilDiv(g.height*c.v, 8*g.vmax)
		c.across, c.down = ceilDiv(g.width, 8*g.hmax)*c.h, ceilDiv(g.height, 8*g.vmax)*c.v
		c.coefs = make([][64]int, c.across*c.down)
		g.comps = append(g.comps, c)
	}
	if g.one(2) {
		g.restart = 1 + g.below(40)
	}
}

// coefficients draws blocks: from empty ones to full ones, and wild ones of the
// largest values that Huffman coding can say.
func (g *generator) coefficients(wild bool) {
	limit, dense := 1+g.below(1000), g.below(64)
	if wild {
		limit = 16383
	}
	for i := range g.comps {
		dc := 0
		for b := range g.comps[i].coefs {
			block := &g.comps[i].coefs[b]
			dc = max(-1024, min(dc+g.rand.IntN(201)-100, 1023))
			block[0] = dc
			for range g.rand.IntN(dense + 1) {
				v := g.rand.IntN(2*limit+1) - limit
				if g.rand.IntN(3) > 0 {
					v = g.rand.IntN(5) - 2
				}
				k := 1 + g.rand.IntN(63)
				if !wild && g.rand.IntN(4) > 0 {
					k = 1 + k/8
				}
				block[k] = v
			}
		}
	}
}

func (g *generator) segment(marker byte, body []byte) {
	g.out = append(g.out, 0xff)
	for g.rand.IntN(16) == 0 {
		g.out = append(g.out, 0xff) // fill
	}
	g.out = binary.BigEndian.AppendUint16(append(g.out, marker), uint16(len(body)+2))
	g.out = append(g.out, body...)
}

func (g *generator) quantTables() {
	for slot := range 3 {
		wide := g.one(6)
		most := 1 + g.below(255)
		body := []byte{byte(slot)}
		if wide {
			body[0] |= 0x10
		}
		for range 64 {
			v := 1 + g.rand.IntN(most)
			if wide {
				body = append(body, byte(g.rand.IntN(3)*g.rand.IntN(2)*20))
			}
			body = append(body, byte(v))
		}
		g.segment(mDQT, body)
	}
}

func (g *generator) sof(sequential bool) {
	marker := byte(mSOF0 + 2)
	if sequential {
		marker = byte(mSOF0 + g.below(2))
	}
	body := []byte{8, byte(g.height >> 8), byte(g.height), byte(g.width >> 8), byte(g.width), byte(len(g.comps))}
	for _, c := range g.comps {
		body = append(body, c.id, byte(c.h<<4|c.v), c.tq)
	}
	g.segment(marker, body)
	if g.restart > 0 {
		g.segment(mDRI, []byte{byte(g.restart >> 8), byte(g.restart)})
	}
}

func (g *generator) sequentialScans() {
	all := make([]int, len(g.comps))
	for i := range all {
		all[i] = i
	}
	switch {
	case len(all) == 1 || g.below(4) > 0:
		g.scan(all, 0, 63, 0, 0, g.sequentialBlock)
	case g.one(2):
		g.scan(all[:1], 0, 63, 0, 0, g.sequentialBlock)
		g.scan(all[1:], 0, 63, 0, 0, g.sequentialBlock)
	default:
		for _, i := range g.rand.Perm(len(all)) {
			g.scan([]int{i}, 0, 63, 0, 0, g.sequentialBlock)
		}
	}
}

// progressiveScans draws a legal script, now and then without its last scans.
func (g *generator) progressiveScans() {
	type step struct {
		comps          []int
		ss, se, ah, al int
	}
	var steps []step
	al := g.below(3)
	var all []int
	for i := range g.comps {
		all = append(all, i)
	}
	together := g.one(2)
	dc := func(ah, al int) {
		if together {
			steps = append(steps, step{all, 0, 0, ah, al})
			return
		}
		for i := range all {
			steps = append(steps, step{[]int{i}, 0, 0, ah, al})
		}
	}
	dc(0, al)
	var later [4][]step // refinements, by bit
	for i := range g.comps {
		low := g.below(4)
		for ss := 1; ss < 64; {
			se := min(ss+g.below(63), 63)
			steps = append(steps, step{[]int{i}, ss, se, 0, low})
			for bit := low; bit > 0; bit-- {
				later[bit] = append(later[bit], step{[]int{i}, ss, se, bit, bit - 1})
			}
			ss = se + 1
		}
	}
	for bit := 3; bit > 0; bit-- {
		steps = append(steps, later[bit]...)
		if bit <= al {
			dc(bit, bit-1)
		}
	}
	if g.one(10) {
		steps = steps[:1+g.below(len(steps))]
	}
	for _, s := range steps {
		block := g.acBlock
		if s.ss == 0 {
			block = g.dcBlock
		}
		g.scan(s.comps, s.ss, s.se, s.ah, s.al, block)
	}
}

// blockWriter appends a block's tokens. pred is the component's last DC value.
type blockWriter func(slot int, block *[64]int, pred *int, ss, se, ah, al int)

func (g *generator) scan(comps []int, ss, se, ah, al int, write blockWriter) {
	g.tokens, g.eobRun, g.pending = g.tokens[:0], 0, nil
	var pred [4]int
	across, down := ceilDiv(g.width, 8*g.hmax), ceilDiv(g.height, 8*g.vmax)
	if len(comps) == 1 {
		c := &g.comps[comps[0]]
		across, down = c.blocksX, c.blocksY
	}
	for n := range across * down {
		if g.restart > 0 && n > 0 && n%g.restart == 0 {
			g.flushRun()
			g.tokens = append(g.tokens, token{restart: true})
			pred = [4]int{}
		}
		x, y := n%across, n/across
		for i, ci := range comps {
			c := &g.comps[ci]
			h, v := c.h, c.v
			if len(comps) == 1 {
				h, v = 1, 1
			}
			for by := range v {
				for bx := range h {
					write(i, &c.coefs[(y*v+by)*c.across+x*h+bx], &pred[i], ss, se, ah, al)
					g.blocks++
				}
			}
		}
	}
	g.flushRun()
	g.emit(comps, ss, se, ah, al)
}

// magnitude is the size of a value and the bits that say it.
func magnitude(v int) (size uint, bits uint32) {
	a := v
	if v < 0 {
		a, v = -v, v-1
	}
	for ; a > 0; a >>= 1 {
		size++
	}
	return size, uint32(v) & (1<<size - 1)
}

func (g *generator) sequentialBlock(i int, block *[64]int, pred *int, _, _, _, _ int) {
	size, bits := magnitude(block[0] - *pred)
	*pred = block[0]
	g.tokens = append(g.tokens, token{slot: byte(i), symbol: byte(size), extra: bits, size: size})
	run := 0
	for k := 1; k < 64; k++ {
		if block[k] == 0 {
			run++
			continue
		}
		for ; run > 15; run -= 16 {
			g.tokens = append(g.tokens, token{slot: 0x10 | byte(i), symbol: 0xf0})
		}
		size, bits := magnitude(block[k])
		g.tokens = append(g.tokens, token{slot: 0x10 | byte(i), symbol: byte(run<<4) | byte(size), extra: bits, size: size})
		run = 0
	}
	if run > 0 {
		g.tokens = append(g.tokens, token{slot: 0x10 | byte(i)})
	}
}

func (g *generator) dcBlock(i int, block *[64]int, pred *int, _, _, ah, al int) {
	if ah > 0 {
		g.tokens = append(g.tokens, token{slot: 0xff, extra: uint32(block[0]>>al) & 1, size: 1})
		return
	}
	v := block[0] >> al
	size, bits := magnitude(v - *pred)
	*pred = v
	g.tokens = append(g.tokens, token{slot: byte(i), symbol: byte(size), extra: bits, size: size})
}

// acBlock writes one band of a block: its first bits (ah is 0), or one bit more.
func (g *generator) acBlock(_ int, block *[64]int, _ *int, ss, se, ah, al int) {
	shifted := func(k int) int { // towards zero
		if block[k] < 0 {
			return -(-block[k] >> al)
		}
		return block[k] >> al
	}
	last := ss - 1 // the last coefficient that becomes other than zero here
	for k := ss; k <= se; k++ {
		if v := shifted(k); ah == 0 && v != 0 || ah > 0 && (v == 1 || v == -1) {
			last = k
		}
	}
	run, corrections := 0, []token(nil)
	for k := ss; k <= se; k++ {
		v := shifted(k)
		if ah > 0 && v*v > 1 { // known before: one bit more
			corrections = append(corrections, token{slot: 0xff, extra: uint32(max(v, -v)) & 1, size: 1})
			continue
		}
		if v == 0 {
			run++
			if run == 16 && k < last {
				g.flushRun()
				g.tokens = append(append(g.tokens, token{slot: 0x10, symbol: 0xf0}), corrections...)
				run, corrections = 0, nil
			}
			continue
		}
		g.flushRun()
		size, bits := magnitude(v)
		if ah > 0 {
			size, bits = 1, uint32((v+1)/2)
		}
		g.tokens = append(append(g.tokens, token{slot: 0x10, symbol: byte(run<<4) | byte(size), extra: bits, size: size}), corrections...)
		run, corrections = 0, nil
	}
	if run > 0 || len(corrections) > 0 || last < se {
		g.eobRun++
		g.pending = append(g.pending, corrections...)
		if g.eobRun == 0x7fff || g.rand.IntN(50) == 0 {
			g.flushRun()
		}
	}
}

// flushRun writes the blocks that ended early, as one symbol.
func (g *generator) flushRun() {
	if g.eobRun == 0 {
		return
	}
	size := uint(0)
	for 2<<size <= g.eobRun {
		size++
	}
	g.tokens = append(g.tokens, token{slot: 0x10, symbol: byte(size << 4), extra: uint32(g.eobRun) & (1<<size - 1), size: size})
	g.tokens = append(g.tokens, g.pending...)
	g.eobRun, g.pending = 0, nil
}

// emit writes the tables, the header and the data of a scan.
func (g *generator) emit(comps []int, ss, se, ah, al int) {
	// Components share tables in half of the scans: slots of the tokens are by
	// component, mapped here.
	of := [4]byte{0, 1, 2, 3}
	if g.one(2) {
		of = [4]byte{0, 1, 1, 1}
	}
	var tables [0x14]*genTable
	for _, t := range g.tokens {
		if t.slot != 0xff && !t.restart {
			slot := t.slot&0x10 | of[t.slot&3]
			if tables[slot] == nil {
				tables[slot] = &genTable{}
			}
			tables[slot].used[t.symbol]++
		}
	}
	for slot, t := range tables {
		if t != nil {
			g.segment(mDHT, append([]byte{byte(slot)}, t.build(g)...))
		}
	}
	body := []byte{byte(len(comps))}
	for i, c := range comps {
		body = append(body, g.comps[c].id, of[i]<<4|of[i])
	}
	g.segment(mSOS, append(body, byte(ss), byte(se), byte(ah<<4|al)))
	w := bitWriter{out: g.out}
	restart := byte(0)
	for _, t := range g.tokens {
		if t.restart {
			w.flush()
			w.out = append(w.out, 0xff, mRST0+restart)
			restart = (restart + 1) & 7
			continue
		}
		if t.slot != 0xff {
			code := tables[t.slot&0x10|of[t.slot&3]].codes[t.symbol]
			w.bits(code.bits, code.size)
		}
		w.bits(t.extra, t.size)
	}
	w.flush()
	g.out = w.out
}

// genTable is a Huffman table with codes of random lengths for the symbols in use.
type genTable struct {
	used  [256]int
	codes [256]genCode
}

type genCode struct {
	bits uint32
	size uint
}

// build draws a code tree by splitting leaves, and returns the DHT entry.
func (t *genTable) build(g *generator) []byte {
	var symbols []byte
	for s, n := range t.used {
		if n > 0 {
			symbols = append(symbols, byte(s))
		}
	}
	sort.Slice(symbols, func(i, j int) bool {
		a, b := symbols[i], symbols[j]
		return t.used[a] > t.used[b] || t.used[a] == t.used[b] && a < b
	})
	leaves := []int{0}
	deep := g.rand.IntN(3) == 0
	for len(leaves) < len(symbols)+1 {
		i := g.rand.IntN(len(leaves))
		if deep { // long codes: split the longest that can be
			for j, l := range leaves {
				if l < 16 && l > leaves[i] {
					i = j
				}
			}
		}
		if leaves[i] < 16 {
			leaves[i]++
			leaves = append(leaves, leaves[i])
		}
	}
	sort.Ints(leaves)
	entry := make([]byte, 16)
	code, length := uint32(0), 0
	for i, s := range symbols { // the last leaf, all ones, stays free
		code <<= leaves[i] - length
		length = leaves[i]
		entry[length-1]++
		t.codes[s] = genCode{code, uint(length)}
		code++
	}
	return append(entry, symbols...)
}

type bitWriter struct {
	out  []byte
	acc  uint64
	have uint
}

func (w *bitWriter) bits(v uint32, n uint) {
	w.acc, w.have = w.acc<<n|uint64(v), w.have+n
	for w.have >= 8 {
		b := byte(w.acc >> (w.have - 8))
		w.out = append(w.out, b)
		if b == 0xff {
			w.out = append(w.out, 0)
		}
		w.have -= 8
	}
}

func (w *bitWriter) flush() {
	if w.have > 0 {
		w.bits(1<<(8-w.have)-1, 8-w.have)
	}
}

// damaged flips, cuts, repeats or replaces bytes, mostly behind the headers.
func damaged(file []byte, r *rand.Rand) []byte {
	file = append([]byte(nil), file...)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(file))
		if r.IntN(4) > 0 {
			at = len(file)/2 + r.IntN(len(file)/2)
		}
		switch r.IntN(8) {
		case 0:
			file = file[:max(at, 4)]
		case 1: // drop some
			file = append(file[:at], file[min(at+1+r.IntN(40), len(file)):]...)
		case 2: // some twice
			n := min(1+r.IntN(40), len(file)-at)
			file = append(file[:at+n:at+n], file[at:]...)
		case 3: // a marker
			if at+1 < len(file) {
				file[at], file[at+1] = 0xff, byte(0xc0+r.IntN(64))
			}
		case 4:
			if at+1 < len(file) {
				file[at], file[at+1] = 0xff, byte(mRST0+r.IntN(8))
			}
		default:
			file[at] ^= 1 << r.IntN(8)
		}
		if len(file) < 8 {
			break
		}
	}
	return file
}
