package decode

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/idct"
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// coefficients holds all coefficients of an image that comes in several scans. No block is
// complete before the last scan.
type coefficients struct {
	read  bool // the scans of the opened image were read; err is the result
	err   error
	store []int16 // memory for the blocks of all components; reused for the next image
	comps [maxComponents]coefficientPlane

	reader scanReader // of the current scan
}

// coefficientPlane holds one component: whole MCUs of blocks, row by row, with 64 coefficients
// each in natural order.
type coefficientPlane struct {
	blocks       []int16
	across, down int
	quant        [64]uint16 // table at the beginning of the component's first scan
	latched      bool
	known        [64]int8 // number of low bits of each coefficient that no scan has delivered yet, -1: all
}

func (p *coefficientPlane) block(x, y int) *[64]int16 {
	return (*[64]int16)(p.blocks[(y*p.across+x)*64:])
}

// keepCoefficients is how much memory is kept between images, so that a rare large image does
// not occupy its memory for as long as the loader runs.
const keepCoefficients = 16 << 20

// reset prepares for the image j: all its blocks become zero.
func (c *coefficients) reset(j *jpeg) {
	total := 0
	for i := range j.ncomp {
		total += j.mcusX * j.comps[i].h * j.mcusY * j.comps[i].v * 64
	}
	switch {
	case cap(c.store) < total, cap(c.store) > keepCoefficients && total <= keepCoefficients:
		c.store = make([]int16, total)
	default:
		c.store = c.store[:total]
		clear(c.store)
	}
	rest := c.store
	for i := range j.ncomp {
		p := &c.comps[i]
		*p = coefficientPlane{across: j.mcusX * j.comps[i].h, down: j.mcusY * j.comps[i].v}
		n := p.across * p.down * 64
		p.blocks, rest = rest[:n:n], rest[n:]
		for k := range p.known {
			p.known[k] = -1
		}
	}
}

// progressive decodes an image whose coefficients come in several scans. They are read once;
// every further part only takes an inverse transform.
func (d *Decoder) progressive(need image.Rectangle) (*planes.Picture, error) {
	c := &d.coefficients
	if !c.read {
		c.err = d.readScans()
		c.read = true
	}
	if c.err != nil {
		return nil, c.err
	}
	d.transform(need)
	if d.jpeg.ncomp == 4 {
		return d.inkToRGB(need)
	}
	return &d.pic, nil
}

// readScans reads all scans of a file. As in libjpeg, such a file must have an end marker
// (EOI), even if all coefficients are there.
func (d *Decoder) readScans() error {
	j, c := &d.jpeg, &d.coefficients
	c.reset(j)
	s := d.first
	for n := 1; ; n++ {
		if n > d.limits.mostScans() {
			return &SampleError{TooLarge, int64(s.start), fmt.Sprintf("more than %d scans", d.limits.mostScans())}
		}
		end, err := d.readScan(&s)
		if err != nil {
			return err
		}
		if j.sof != 2 && n == 1 && s.n == j.ncomp { // a single scan after all
			return d.readTail(end)
		}
		next, done, err := j.nextScan(end)
		if err != nil {
			return err
		}
		if done {
			break
		}
		s = next
	}
	if j.sof == 2 && c.needsSmoothing(j) {
		d.info.Inexact = "a progressive JPEG without all its scans: Pillow smooths what they leave open"
	}
	return nil
}

// needsSmoothing reports whether libjpeg would guess missing coefficients from the surrounding blocks
// (smoothing_ok in jdcoefct.c). That is not implemented here.
func (c *coefficients) needsSmoothing(j *jpeg) bool {
	useful := false
	for i := range j.ncomp {
		p := &c.comps[i]
		if !p.latched || p.known[0] < 0 {
			return false
		}
		for k := range 10 {
			if p.quant[natural[k]] == 0 {
				return false
			}
			useful = useful || k > 0 && p.known[k] != 0
		}
	}
	return useful
}

// latchTables keeps the quantisation table that each component has at its first scan.
func (c *coefficients) latchTables(j *jpeg, s *scan) error {
	for i := range s.n {
		p, slot := &c.comps[s.comps[i]], j.comps[s.comps[i]].tq
		if p.latched {
			continue
		}
		if slot > 3 || j.quant[slot] == nil {
			return j.noQuantTable(s, slot)
		}
		p.quant, p.latched = *j.quant[slot], true
	}
	return nil
}

// transform turns the coefficients of a part of the image into the planes of a picture.
func (d *Decoder) transform(need image.Rectangle) {
	mcus := d.layOutPlanes(need)
	for i := range d.jpeg.ncomp {
		h, v := d.jpeg.comps[i].h, d.jpeg.comps[i].v
		blocks := image.Rect(mcus.Min.X*h, mcus.Min.Y*v, mcus.Max.X*h, mcus.Max.Y*v)
		d.coefficients.comps[i].transform(blocks, d.planes[i], 8*blocks.Dx())
	}
}

// transform writes the samples of some blocks to a plane.
func (p *coefficientPlane) transform(blocks image.Rectangle, plane []byte, stride int) {
	var pair [128]int16 // a copy: TransformPair clears its input, which the next part may need
	var nowhere [64]byte
	var quant idct.PairQuant
	quant.SetTables(&p.quant, &p.quant)
	for y := blocks.Min.Y; y < blocks.Max.Y; y++ {
		row := plane[(y-blocks.Min.Y)*8*stride:][:8*stride]
		for x := blocks.Min.X; x < blocks.Max.X; x += 2 {
			left := row[(x-blocks.Min.X)*8:]
			copy(pair[:64], p.block(x, y)[:])
			if x+1 < blocks.Max.X {
				copy(pair[64:], p.block(x+1, y)[:])
				idct.TransformPair(&pair, &quant, left, left[8:], stride)
				continue
			}
			// The last pair has no right half in the plane. Both halves must have the same stride.
			one := [64]byte{}
			idct.TransformPair(&pair, &quant, one[:], nowhere[:], 8)
			for i := range 8 {
				copy(left[i*stride:][:8], one[i*8:])
			}
		}
	}
}
