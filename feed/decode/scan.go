package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"slices"
)

// maxBlocks is how many blocks libjpeg accepts in an MCU.
const maxBlocks = 10

// chunk is how many blocks are decoded before they are transformed: they stay in
// the first-level cache.
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

// blockBuffer holds decoded blocks, 64 coefficients each in natural order. The
// last 64 are never part of a block: see pairEntry.
type blockBuffer [(chunk+maxBlocks)*64 + 128]int16

// store decodes n MCUs to out, whose blocks are zero; they fit in it. Where data
// run out it stops: the remaining blocks stay as they are.
func (r *mcuReader) store(out *blockBuffer, n int) {
	if r.assembly() {
		storeBMI2(r, out, n)
		return
	}
	r.storePlain(out, n)
}

// skip decodes n MCUs only for what comes behind them.
func (r *mcuReader) skip(n int) {
	if r.assembly() {
		skipBMI2(r, n)
		return
	}
	r.skipPlain(n)
}

// assembly reports that the routines in assembly may run. They check their
// position once per MCU: it begins within the data, or they are not entered, and
// the padding is longer than an MCU.
func (r *mcuReader) assembly() bool {
	return useBMI2 && !r.dry && r.pos <= r.end+8 && r.end+padding <= len(r.data)
}

func (r *mcuReader) storePlain(out *blockBuffer, n int) {
	at := 0
	for ; n > 0 && !r.dry; n-- {
		for i := range r.blocks {
			p := &r.plan[i]
			block := (*[128]int16)(out[at:])
			r.pred[p.comp] += r.bits.difference(p.dc)
			block[0] = int16(r.pred[p.comp])
			r.bits.coefficients(p.ac, block)
			at += 64
		}
		r.dry = r.short()
	}
	out[at] = 0 // what ended the last block went there; if data run out it is seen
}

func (r *mcuReader) skipPlain(n int) {
	for ; n > 0 && !r.dry; n-- {
		for i := range r.blocks {
			p := &r.plan[i]
			r.pred[p.comp] += r.bits.difference(p.dc)
			r.bits.pass(p.ac)
		}
		r.dry = r.short()
	}
}

// difference decodes the DC part of a block. It leaves at least 25 bits.
func (b *bits) difference(t *table) int {
	b.refill()
	if e := t.diff[b.buf>>(64-dcBits)]; e != 0 {
		x := b.buf << (e >> 8 & 31)
		b.drop(uint(e & 63))
		return value(x, e>>16&63)
	}
	size, length := t.next(b.buf)
	v := extend(b.buf<<length, uint(size))
	b.drop(length + uint(size))
	b.refill()
	return v
}

// value is extend without a branch; rest is 63 less the size.
func value(buf uint64, rest uint32) int {
	negative := ^(int64(buf) >> 63)
	v := int64((buf ^ uint64(negative)) >> 1 >> (rest & 63))
	return int((v ^ negative) - negative)
}

// place maps k to the coefficient's place in the block; what ends a block goes
// behind it.
var place = func() (t [256]uint8) {
	for k := range t {
		t[k] = 64
	}
	copy(t[:], natural[:])
	return t
}()

// coefficients decodes the AC part of a block. The reader's state is in local
// variables, which the compiler keeps in registers; the refill is that of bits.
func (b *bits) coefficients(t *table, block *[128]int16) {
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

// coefficient decodes one symbol, whatever it is, and returns the next place.
func (b *bits) coefficient(t *table, block *[128]int16, k uint32) uint32 {
	b.refill()
	symbol, length := t.next(b.buf)
	run, size := uint32(symbol>>4), uint(symbol&15)
	switch {
	case size > 0:
		block[place[uint8(k+run)]&127] = int16(extend(b.buf<<length, size))
	case run < 15:
		run = endOfBlock
	}
	b.drop(length + size)
	return k + run + 1
}

// pass decodes the AC part of a block for nothing.
func (b *bits) pass(t *table) {
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

// baseline decodes the part need of an image whose one scan holds everything.
func (d *Decoder) baseline(need image.Rectangle) (*Picture, error) {
	if err := d.plan(&d.first); err != nil {
		return nil, err
	}
	if err := d.limits.checkMemory(d.jpeg.planeBytes(need)); err != nil {
		return nil, err
	}
	region := d.layOut(need)
	end, err := d.intervals(region)
	if err != nil {
		return nil, err
	}
	if err := d.readTail(end); err != nil {
		return nil, err
	}
	return &d.pic, nil
}

// plan sets up the reader for a scan's MCUs.
func (d *Decoder) plan(s *scan) error {
	j, r := &d.jpeg, &d.reader
	r.blocks = 0
	for i := range s.n {
		c := &j.comps[s.comps[i]]
		dc, err := d.quickTable(s.dc[i], true)
		if err != nil {
			return err
		}
		ac, err := d.quickTable(s.ac[i], false)
		if err != nil {
			return err
		}
		if c.tq > 3 || j.quant[c.tq] == nil {
			return j.damaged(s.start, "a scan needs quantisation table %d, which is not defined", c.tq)
		}
		if r.blocks+c.h*c.v > maxBlocks {
			return j.damaged(s.start, "an MCU of more than %d blocks", maxBlocks)
		}
		for y := range c.v {
			for x := range c.h {
				r.plan[r.blocks] = blockPlan{dc: dc, ac: ac, comp: s.comps[i]}
				d.spots[r.blocks] = image.Pt(8*x, 8*y)
				r.blocks++
			}
		}
	}
	var made [maxComponents][maxComponents]bool
	for i := range d.pairs {
		a, b := r.plan[2*i%r.blocks].comp, r.plan[(2*i+1)%r.blocks].comp
		d.pairs[i] = &d.quants[a][b]
		if !made[a][b] {
			made[a][b] = true
			*d.pairs[i] = *newPairQuant(j.quant[j.comps[a].tq], j.quant[j.comps[b].tq])
		}
	}
	return nil
}

// readTail reads what follows the image data, which ended at the marker at pos, up
// to the end (EOI), as libjpeg does before Pillow believes that an image is whole.
// That the file ends before the EOI does not matter any more, errors do.
func (d *Decoder) readTail(pos int) error {
	data := d.jpeg.data
	if pos+2 > len(data) {
		return d.jpeg.truncated()
	}
	for pos+2 <= len(data) && data[pos+1] >= mRST0 && data[pos+1] <= mRST7 {
		pos = nextMarker(data, pos+2)
	}
	if pos+2 <= len(data) && data[pos+1] == mEOI {
		return nil
	}
	rest := d.jpeg // a second Decode begins with the tables of the first scan
	second, end, err := rest.next(pos)
	var bad *Error
	switch {
	case end || errors.As(err, &bad) && bad.Kind == Truncated:
		return nil
	case err == nil:
		return d.jpeg.damaged(second.start, "a second scan, though the first one had all components")
	}
	return err
}

// layOut makes room for the planes of the MCUs that need and one chroma sample
// around it lie in; it returns those MCUs.
func (d *Decoder) layOut(need image.Rectangle) image.Rectangle {
	j := &d.jpeg
	width, height := 8*j.hmax, 8*j.vmax
	// A pixel's upsampled chroma comes from two samples, of which the one further
	// off belongs to a pixel beside it. Without subsampling nothing is read around.
	aroundX, aroundY := min(j.hmax-1, 1), min(j.vmax-1, 1)
	mcus := image.Rect(max(need.Min.X-aroundX, 0)/width, max(need.Min.Y-aroundY, 0)/height,
		ceilDiv(min(need.Max.X+aroundX, j.width), width), ceilDiv(min(need.Max.Y+aroundY, j.height), height))
	d.pic = Picture{Size: image.Pt(j.width, j.height), Model: j.model(), SubX: 1, SubY: 1}
	d.pic.Bounds = image.Rect(mcus.Min.X*width, mcus.Min.Y*height, min(mcus.Max.X*width, j.width), min(mcus.Max.Y*height, j.height))
	if j.ncomp == 3 {
		d.pic.SubX, d.pic.SubY = j.hmax/j.comps[1].h, j.vmax/j.comps[1].v
	}
	for i := range j.ncomp {
		stride, rows := mcus.Dx()*8*j.comps[i].h, mcus.Dy()*8*j.comps[i].v
		d.planes[i] = room(d.planes[i], stride*rows)
		d.pic.Planes[i], d.pic.Stride[i] = d.planes[i], stride
	}
	for i := range d.offsets {
		at, comp := d.spots[i%d.reader.blocks], d.reader.plan[i%d.reader.blocks].comp
		d.offsets[i] = at.Y*d.pic.Stride[comp] + at.X + i/d.reader.blocks*8*j.comps[comp].h
	}
	return mcus
}

// intervals decodes the MCUs of region out of the scan: one interval between
// restart markers after the other. It returns where the data of the last one ended.
func (d *Decoder) intervals(region image.Rectangle) (end int, err error) {
	first := region.Min.Y*d.jpeg.mcusX + region.Min.X
	end, sound, err := d.intervalsFrom(first, region)
	if !sound && err == nil { // what is skipped decides how libjpeg goes on
		end, _, err = d.intervalsFrom(0, region)
	}
	return end, err
}

// intervalsFrom skips intervals unread that end before MCU first, and those behind
// the region. sound is false if a restart marker was missing.
func (d *Decoder) intervalsFrom(first int, region image.Rectangle) (end int, sound bool, err error) {
	j, r := &d.jpeg, &d.reader
	last := (region.Max.Y-1)*j.mcusX + region.Max.X
	total := j.mcusX * j.mcusY
	size := j.restart
	if size == 0 {
		size = total
	}
	r.dry, sound = false, true
	at, found := d.first.start, true
	for mcu, due := 0, 0; mcu < total; mcu += size {
		if mcu > 0 {
			if at, found, err = j.restartAt(end, due); err != nil {
				return end, sound, err
			}
			sound, due = sound && found, (due+1)&7
		}
		r.pred = [maxComponents]int{}
		switch {
		case !found: // the marker stays, these MCUs get zero bits
			r.bits, end = bits{data: d.plain[:0]}, at
		case mcu+size <= first || mcu >= last:
			end = nextMarker(j.data, at)
			continue
		default:
			r.bits, end = run(d.plain, j.data, at)
			d.plain, r.dry = r.data[:cap(r.data)], false
			if r.filled {
				d.info.Inexact = inexactFill
			}
		}
		if mcu < last {
			d.interval(mcu, min(mcu+size, last), region)
		}
		if slices.ContainsFunc(r.pred[:], overflows) {
			return end, sound, j.damaged(d.first.start, "brightness (DC) beyond 32 bits")
		}
	}
	return end, sound, nil
}

// nextMarker finds the marker that ends the entropy-coded data at pos.
func nextMarker(data []byte, pos int) int {
	for {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 {
			return len(data)
		}
		pos += i
		for pos+1 < len(data) && data[pos+1] == 0xff {
			pos++
		}
		if pos+1 == len(data) {
			return len(data)
		}
		if data[pos+1] != 0 {
			return pos
		}
		pos += 2
	}
}

// interval decodes MCUs from to to (in the order of the file), of which those
// in region go to the planes.
func (d *Decoder) interval(from, to int, region image.Rectangle) {
	j, r := &d.jpeg, &d.reader
	skip := 0
	for from < to {
		x, y := from%j.mcusX, from/j.mcusX
		n := min(to-from, j.mcusX-x)
		switch {
		case y < region.Min.Y || x >= region.Max.X:
			skip += n
		case x < region.Min.X:
			n = min(n, region.Min.X-x)
			skip += n
		default:
			r.skip(skip)
			skip = 0
			n = min(n, region.Max.X-x, max(chunk/r.blocks&^1, 1))
			r.store(&d.blocks, n)
			d.emit(n, x-region.Min.X, y-region.Min.Y)
		}
		from += n
	}
	r.skip(skip)
}

// emit transforms the decoded blocks of n MCUs to the planes; x and y are the
// place of the first one, in MCUs of the region.
func (d *Decoder) emit(n, x, y int) {
	j, r := &d.jpeg, &d.reader
	var at [maxComponents]int
	for i := range j.ncomp {
		c := &j.comps[i]
		at[i] = y*8*c.v*d.pic.Stride[i] + x*8*c.h
	}
	n *= r.blocks
	for i := 0; i < n; i += 2 {
		pair := (*[128]int16)(d.blocks[i*64:])
		a, b := r.plan[i%r.blocks].comp, r.plan[(i+1)%r.blocks].comp
		toA := d.planes[a][at[a]+d.offsets[i]:]
		if i+1 == n || d.pic.Stride[a] != d.pic.Stride[b] {
			var apart [2][64]byte
			idctPair(pair, d.pairs[i/2], apart[0][:], apart[1][:], 8)
			paste(toA, d.pic.Stride[a], &apart[0])
			if i+1 < n {
				paste(d.planes[b][at[b]+d.offsets[i+1]:], d.pic.Stride[b], &apart[1])
			}
			continue
		}
		if a == b && d.offsets[i+1] == d.offsets[i]+8 {
			idctBeside(pair, d.pairs[i/2], toA, d.pic.Stride[a])
			continue
		}
		idctPair(pair, d.pairs[i/2], toA, d.planes[b][at[b]+d.offsets[i+1]:], d.pic.Stride[a])
	}
}

func paste(to []byte, stride int, block *[64]byte) {
	for y := range 8 {
		copy(to[y*stride:], block[8*y:8*y+8])
	}
}
