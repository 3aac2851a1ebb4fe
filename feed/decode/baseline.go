package decode

import (
	"errors"
	"image"
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/idct"
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// decodeBaseline decodes the part need of an image that has a single scan.
func (d *Decoder) decodeBaseline(need image.Rectangle) (*planes.Picture, error) {
	if err := d.planScan(&d.first); err != nil {
		return nil, err
	}
	if err := d.limits.checkMemory(d.jpeg.planeBytes(need)); err != nil {
		return nil, err
	}
	region := d.layOutPlanes(need)
	d.aimBlocks()
	d.openMarks(region)
	end, err := d.intervals(region)
	if err != nil {
		return nil, err
	}
	d.closeMarks()
	if err := d.readTail(end); err != nil {
		return nil, err
	}
	return &d.pic, nil
}

// planScan sets up the reader for the MCUs of a scan.
func (d *Decoder) planScan(s *scan) error {
	j, r := &d.jpeg, &d.reader
	r.blocks = 0
	for i := range s.n {
		c := &j.comps[s.comps[i]]
		dc, err := d.quickTable(s, s.dc[i], true)
		if err != nil {
			return err
		}
		ac, err := d.quickTable(s, s.ac[i], false)
		if err != nil {
			return err
		}
		if c.tq > 3 || j.quant[c.tq] == nil {
			return j.noQuantTable(s, c.tq)
		}
		if r.blocks+c.h*c.v > maxBlocks {
			return j.newDamaged(s.start, "an MCU of more than %d blocks, the most that the standard allows", maxBlocks)
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
			d.pairs[i].SetTables(j.quant[j.comps[a].tq], j.quant[j.comps[b].tq])
		}
	}
	return nil
}

// readTail reads what follows the image data, which ended at the marker at pos, up to the end
// marker (EOI). libjpeg does so before Pillow accepts an image as complete. Errors there count,
// but a file may end before the EOI.
func (d *Decoder) readTail(pos int) error {
	data := d.jpeg.data
	if pos+2 > len(data) {
		return d.jpeg.newTruncated()
	}
	for pos+2 <= len(data) && data[pos+1] >= mRST0 && data[pos+1] <= mRST7 {
		pos = nextMarker(data, pos+2)
	}
	if pos+2 <= len(data) && data[pos+1] == mEOI {
		return nil
	}
	rest := d.jpeg // a copy: a second Decode begins with the tables of the first scan
	second, end, err := rest.nextScan(pos)
	var bad *SampleError
	switch {
	case end || errors.As(err, &bad) && bad.Kind == Truncated:
		return nil
	case err == nil:
		return d.jpeg.newDamaged(second.start, "a second scan, though the first one had all components")
	}
	return err
}

// aimBlocks computes where the blocks of a chunk are written, relative to its first MCU.
func (d *Decoder) aimBlocks() {
	r := &d.reader
	for i := range d.offsets {
		at, comp := d.spots[i%r.blocks], r.plan[i%r.blocks].comp
		d.offsets[i] = at.Y*d.pic.Stride[comp] + at.X + i/r.blocks*8*d.jpeg.comps[comp].h
	}
}

// intervals decodes the MCUs of region, one interval between restart markers after the other.
// It returns where the data of the last interval ended.
func (d *Decoder) intervals(region image.Rectangle) (end int, err error) {
	first := region.Min.Y*d.jpeg.mcusX + region.Min.X
	end, sound, err := d.intervalsFrom(first, region)
	if !sound && err == nil { // libjpeg's recovery depends on the data that was skipped
		end, _, err = d.intervalsFrom(0, region)
	}
	return end, err
}

// intervalsFrom skips intervals that end before MCU first, and those after the region, without
// decoding them. sound is false if a restart marker was missing.
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
		case !found: // the marker is kept, these MCUs get zero bits
			r.bits, end = bits{data: d.plain[:0]}, at
		case mcu+size <= first || mcu >= last:
			end = nextMarker(j.data, at)
			continue
		default:
			r.bits, end = unstuff(d.plain, j.data, at)
			d.plain, r.dry = r.data, false
			if r.filled {
				d.info.Inexact = inexactFill
			}
		}
		if mcu < last {
			d.decodeInterval(mcu, min(mcu+size, last), region)
		}
		if slices.ContainsFunc(r.pred[:], overflows) {
			return end, sound, j.overflow(&d.first)
		}
	}
	return end, sound, nil
}

// decodeInterval decodes the MCUs from from to to, in the order of the file. Those in region
// are written to the planes.
func (d *Decoder) decodeInterval(from, to int, region image.Rectangle) {
	j, r := &d.jpeg, &d.reader
	skip := 0
	for from < to {
		x, y := from%j.mcusX, from/j.mcusX
		n := min(to-from, j.mcusX-x)
		if x == 0 && d.marking.learning {
			d.enterRow(y, skip)
			skip = 0
		}
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
			d.emitRows(n, x-region.Min.X, y-region.Min.Y)
		}
		from += n
	}
	r.skip(skip)
}

// emitRows transforms the decoded blocks of n MCUs and writes them to the planes. x and y are
// the position of the first MCU within the region.
func (d *Decoder) emitRows(n, x, y int) {
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
			idct.TransformPair(pair, d.pairs[i/2], apart[0][:], apart[1][:], 8)
			pasteFrame(toA, d.pic.Stride[a], &apart[0])
			if i+1 < n {
				pasteFrame(d.planes[b][at[b]+d.offsets[i+1]:], d.pic.Stride[b], &apart[1])
			}
			continue
		}
		if a == b && d.offsets[i+1] == d.offsets[i]+8 {
			idct.TransformBeside(pair, d.pairs[i/2], toA, d.pic.Stride[a])
			continue
		}
		idct.TransformPair(pair, d.pairs[i/2], toA, d.planes[b][at[b]+d.offsets[i+1]:], d.pic.Stride[a])
	}
}

func pasteFrame(to []byte, stride int, block *[64]byte) {
	for y := range 8 {
		copy(to[y*stride:], block[8*y:8*y+8])
	}
}

// quickTable returns a table of a scan, with its fast tables.
func (d *Decoder) quickTable(s *scan, slot byte, dc bool) (*table, error) {
	t, err := d.tableOf(s, slot, dc)
	if err == nil {
		t.quicken()
	}
	return t, err
}
