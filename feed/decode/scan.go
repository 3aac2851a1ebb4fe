package decode

import (
	"encoding/binary"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// useHuffman says whether the routines in assembly are used. Tests switch them off.
var useHuffman = kernels.Run(kernels.Huffman)

// maxBlocks is the number of blocks that libjpeg accepts in an MCU.
const maxBlocks = 10

// chunk is how many blocks are decoded before they are transformed: so many stay in the
// first-level cache.
const chunk = 24

// mcuReader decodes MCUs of one scan, baseline or extended sequential.
type mcuReader struct {
	bits
	dry    bool // the data ran out: libjpeg leaves the following MCUs empty (insufficient_data)
	blocks int  // of an MCU
	plan   [maxBlocks]blockPlan
	pred   [maxComponents]int // DC of the last block of each component
}

// blockPlan is one block of an MCU.
type blockPlan struct {
	dc, ac *table
	comp   int // index into pred
}

// blockBuffer holds decoded blocks, 64 coefficients each in natural order. The last 64 never
// belong to a block: see pairEntry.
type blockBuffer [(chunk+maxBlocks)*64 + 128]int16

// store decodes n MCUs to out, whose blocks are zero and have room for them. If the data end,
// the remaining blocks stay unchanged.
func (r *mcuReader) store(out *blockBuffer, n int) {
	if r.assembly() && n*r.blocks <= chunk+maxBlocks {
		storeFast(r, out, n)
		return
	}
	r.storePlain(out, n)
}

// atOnce is how many MCUs are skipped in one call. The runtime cannot stop a thread that runs
// assembly, and the garbage collector cannot interrupt it. So many take about 20 us in a photograph,
// and far less than a millisecond even if every symbol is long.
const atOnce = 64

// skip decodes n MCUs without storing them, to reach what follows.
func (r *mcuReader) skip(n int) {
	for n > 0 && r.assembly() {
		step := min(n, atOnce)
		skipFast(r, step)
		n -= step
	}
	r.skipPlain(n)
}

// assembly reports whether the routines in assembly may run. They check only their position,
// once per MCU. This function checks that they begin within the data or at most 8 bytes after
// it; the padding is longer than an MCU. scan_amd64.s says why that, complete tables and a
// filled plan are sufficient.
func (r *mcuReader) assembly() bool {
	return useHuffman && !r.dry && r.n < 64 && uint(r.pos) <= uint(r.end+8) && r.end+padding <= len(r.data) &&
		0 < r.blocks && r.blocks <= maxBlocks
}

func (r *mcuReader) storePlain(out *blockBuffer, n int) {
	at := 0
	for ; n > 0 && !r.dry; n-- {
		for i := range r.blocks {
			p := &r.plan[i]
			block := (*[128]int16)(out[at:])
			r.pred[p.comp] += r.decodeDifference(p.dc)
			block[0] = int16(r.pred[p.comp])
			r.readBlock(p.ac, block)
			at += 64
		}
		r.dry = r.ranOut()
	}
	out[at] = 0 // the end of the last block was written there; if the data ended, it would show
}

func (r *mcuReader) skipPlain(n int) {
	for ; n > 0 && !r.dry; n-- {
		for i := range r.blocks {
			p := &r.plan[i]
			r.pred[p.comp] += r.decodeDifference(p.dc)
			r.skipBlock(p.ac)
		}
		r.dry = r.ranOut()
	}
}

// decodeDifference decodes the DC difference of a block. It leaves at least 25 bits in the
// buffer.
func (b *bits) decodeDifference(t *table) int {
	b.refill()
	if e := t.diff[b.buf>>(64-dcBits)]; e != 0 {
		x := b.buf << (e >> 8 & 31)
		b.dropBits(uint(e & 63))
		return extendFast(x, e>>16&63)
	}
	size, length := t.nextSymbol(b.buf)
	v := extend(b.buf<<length, uint(size))
	b.dropBits(length + uint(size))
	b.refill()
	return v
}

// extendFast is extend without a branch. rest is 63 minus the size.
func extendFast(buf uint64, rest uint32) int {
	negative := ^(int64(buf) >> 63)
	v := int64((buf ^ uint64(negative)) >> 1 >> (rest & 63))
	return int((v ^ negative) - negative)
}

// place maps k to a coefficient's position in the block. The end of a block is written past its
// end.
var place = func() (t [256]uint8) {
	for k := range t {
		t[k] = 64
	}
	copy(t[:], natural[:])
	return t
}()

// readBlock decodes the AC coefficients of a block. It copies the reader's state to local
// variables, which the compiler keeps in registers, and repeats the code of refill.
func (b *bits) readBlock(t *table, block *[128]int16) {
	data, pos, buf, n := b.data, b.pos, b.buf, b.n
	for k := uint32(1); k < 64; {
		if pos <= len(data)-8 {
			buf |= binary.BigEndian.Uint64(data[pos:pos+8]) >> (n & 63)
		}
		pos += int(63-n) >> 3
		n |= 56
		e := t.pair[buf>>(64-pairBits)]
		next := k + uint32(e>>24&255)
		if next >= 64 && next-endOfBlock >= 64 {
			b.pos, b.buf, b.n = pos, buf, n
			k = b.coefficient(t, block, k)
			pos, buf, n = b.pos, b.buf, b.n
			continue
		}
		x := buf << (e >> 8 & 31)
		negative := ^(int64(x) >> 63)
		v := int64((x ^ uint64(negative)) >> (e >> 16 & 63))
		block[place[uint8(k+uint32(e>>32))]&127] = int16((v ^ negative) - negative)
		block[place[uint8(k+uint32(e>>40))]&127] = int16(e >> 48)
		buf <<= e & 63
		n -= uint(e & 63)
		k = next
	}
	b.pos, b.buf, b.n = pos, buf, n
}

// coefficient decodes one symbol of any kind, and returns the next position.
func (b *bits) coefficient(t *table, block *[128]int16, k uint32) uint32 {
	b.refill()
	symbol, length := t.nextSymbol(b.buf)
	run, size := uint32(symbol>>4), uint(symbol&15)
	switch {
	case size > 0:
		block[place[uint8(k+run)]&127] = int16(extend(b.buf<<length, size))
	case run < 15:
		run = endOfBlock
	}
	b.dropBits(length + size)
	return k + run + 1
}

// skipBlock decodes the AC coefficients of a block without storing them.
func (b *bits) skipBlock(t *table) {
	data, pos, buf, n := b.data, b.pos, b.buf, b.n
	for k := uint32(1); k < 64; {
		if pos <= len(data)-8 {
			buf |= binary.BigEndian.Uint64(data[pos:pos+8]) >> (n & 63)
		}
		pos += int(63-n) >> 3
		n |= 56
		e := t.skip[buf>>(64-skipBits)]
		next := k + uint32(e>>8)
		if next >= 64 && next-endOfBlock >= 64 {
			var nowhere [128]int16
			b.pos, b.buf, b.n = pos, buf, n
			k = b.coefficient(t, &nowhere, k)
			pos, buf, n = b.pos, b.buf, b.n
			continue
		}
		buf <<= e & 63
		n -= uint(e & 63)
		k = next
	}
	b.pos, b.buf, b.n = pos, buf, n
}
