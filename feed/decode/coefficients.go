package decode

import (
	"fmt"
	"image"
	"math"
	"time"
)

// coefficients are those of a whole image that comes in several scans: only the
// last scan makes any block complete, so all of them are kept.
type coefficients struct {
	read  bool // the scans of the opened image were read, with this error
	err   error
	store []int16 // what the components' blocks lie in; kept for the next image
	comps [maxComponents]coefficientPlane

	plain []byte // entropy-coded data without stuffing
}

// coefficientPlane is one component: whole MCUs of blocks, row by row, 64
// coefficients each in natural order.
type coefficientPlane struct {
	blocks       []int16
	across, down int
	quant        [64]uint16 // as it was when the component's first scan began
	latched      bool
	known        [64]int8 // low bits of a coefficient that no scan has brought yet, -1: all of them
}

func (p *coefficientPlane) block(x, y int) *[64]int16 {
	return (*[64]int16)(p.blocks[(y*p.across+x)*64:])
}

// memory is what the coefficients and planes of a whole image take.
func (j *jpeg) memory() int {
	blocks := 0
	for i := range j.ncomp {
		blocks += j.mcusX * j.comps[i].h * j.mcusY * j.comps[i].v
	}
	return blocks * (2*64 + 64)
}

// planeBytes is about what the planes of a part take.
func (j *jpeg) planeBytes(need image.Rectangle) int {
	samples := 0
	for i := range j.ncomp {
		samples += j.comps[i].h * j.comps[i].v
	}
	return need.Dx() * need.Dy() * samples / (j.hmax * j.vmax)
}

// checkDensity refuses a large image of which the file holds next to nothing: every
// block has a bit at least. Small ones are decoded as far as they go, as Pillow does.
func (j *jpeg) checkDensity() error {
	if j.width*j.height < 1<<24 || j.mcusX*j.mcusY <= 8*len(j.data) {
		return nil
	}
	return &Error{Truncated, int64(len(j.data)), fmt.Sprintf("the file is too short for the %d x %d pixels that its header says", j.width, j.height)}
}

// keepCoefficients is what stays allocated between images: a rare large one must
// not keep its memory for as long as the loader runs.
const keepCoefficients = 16 << 20

// reset forgets the image before; the blocks of j become all zero.
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

// progressive decodes an image whose coefficients come in several scans. They are
// read once; every part after the first costs its inverse transform only.
func (d *Decoder) progressive(need image.Rectangle) (*Picture, error) {
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

// readScans reads all scans of a file. As libjpeg does for such files, it wants
// the end (EOI) to be there, even if every coefficient is.
func (d *Decoder) readScans() error {
	j, c := &d.jpeg, &d.coefficients
	c.reset(j)
	deadline := time.Now().Add(d.limits.time())
	s := d.first
	for n := 1; ; n++ {
		if n > d.limits.scans() {
			return &Error{TooLarge, int64(s.start), "more scans than the limit for one image"}
		}
		end, err := d.readScan(&s, deadline)
		if err != nil {
			return err
		}
		if j.sof != 2 && n == 1 && s.n == j.ncomp { // one scan after all
			return d.readTail(end)
		}
		next, done, err := j.next(end)
		if err != nil {
			return err
		}
		if done {
			break
		}
		s = next
	}
	if j.sof == 2 && c.smoothed(j) {
		d.info.Inexact = "a progressive JPEG without all its scans: Pillow smooths what they leave open"
	}
	return nil
}

// smoothed reports whether libjpeg would guess coefficients from the blocks around
// them (smoothing_ok in jdcoefct.c), which is not done here.
func (c *coefficients) smoothed(j *jpeg) bool {
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

// latch keeps a component's quantisation table as its first scan finds it.
func (c *coefficients) latch(j *jpeg, s *scan) error {
	for i := range s.n {
		p, slot := &c.comps[s.comps[i]], j.comps[s.comps[i]].tq
		if p.latched {
			continue
		}
		if slot > 3 || j.quant[slot] == nil {
			return j.damaged(s.start, "a scan needs quantisation table %d, which is not defined", slot)
		}
		p.quant, p.latched = *j.quant[slot], true
	}
	return nil
}

// transform turns the coefficients that a part of the image needs into the planes
// of a picture; a fourth component goes beside them.
func (d *Decoder) transform(need image.Rectangle) {
	j := &d.jpeg
	sub := j.subsampling()
	mcus := mcusAround(j, need, sub)
	mcu := image.Pt(8*j.hmax, 8*j.vmax)
	d.pic = Picture{Size: image.Pt(j.width, j.height), Model: Grey, SubX: sub.X, SubY: sub.Y}
	if j.ncomp > 1 {
		d.pic.Model = RGB
		if j.chroma() {
			d.pic.Model = YCbCr
		}
	}
	d.pic.Bounds = image.Rect(mcus.Min.X*mcu.X, mcus.Min.Y*mcu.Y, mcus.Max.X*mcu.X, mcus.Max.Y*mcu.Y).
		Intersect(image.Rectangle{Max: d.pic.Size})
	for i := range j.ncomp {
		h, v := j.comps[i].h, j.comps[i].v
		stride, rows := mcus.Dx()*h*8, mcus.Dy()*v*8
		plane := &d.cmyk.black
		if i < 3 {
			plane = &d.planes[i]
		}
		*plane = room(*plane, stride*rows)
		d.coefficients.comps[i].transform(image.Rect(mcus.Min.X*h, mcus.Min.Y*v, mcus.Max.X*h, mcus.Max.Y*v), *plane, stride)
		if i < 3 {
			d.pic.Planes[i], d.pic.Stride[i] = *plane, stride
		}
	}
}

// subsampling is how many pixels lie in a sample of the second and third component.
func (j *jpeg) subsampling() image.Point {
	if j.ncomp == 1 {
		return image.Pt(1, 1)
	}
	return image.Pt(j.hmax/j.comps[1].h, j.vmax/j.comps[1].v)
}

// checkSampling refuses what no encoder writes and a Picture cannot hold: the first
// component, and the fourth, have all samples; the others have the same share of
// them, and all of them where they are no chroma.
func (j *jpeg) checkSampling() error {
	for i := range j.ncomp {
		c, chroma := &j.comps[i], i == 1 || i == 2
		switch {
		case !chroma && c.h == j.hmax && c.v == j.vmax:
		case chroma && c.h == j.comps[1].h && c.v == j.comps[1].v && j.hmax%c.h == 0 && j.vmax%c.v == 0 &&
			(j.subsampling() == image.Pt(1, 1) || j.chroma()):
		default:
			return &Error{Unsupported, -1, fmt.Sprintf("a JPEG with sampling factors %dx%d of component %d; of luma and chroma only chroma may be subsampled, both parts alike", c.h, c.v, i+1)}
		}
	}
	return nil
}

// chroma reports whether the second and third component are chroma: libjpeg's guess
// (default_decompress_parms).
func (j *jpeg) chroma() bool {
	if j.ncomp == 4 {
		return j.adobe && j.transform != 0
	}
	return j.model() == YCbCr
}

// mcusAround returns the MCUs that need and one chroma sample around it lie in.
func mcusAround(j *jpeg, need image.Rectangle, sub image.Point) image.Rectangle {
	need = image.Rectangle{Min: need.Min.Sub(sub), Max: need.Max.Add(sub)}.
		Intersect(image.Rect(0, 0, j.width, j.height))
	return image.Rect(need.Min.X/(8*j.hmax), need.Min.Y/(8*j.vmax), ceilDiv(need.Max.X, 8*j.hmax), ceilDiv(need.Max.Y, 8*j.vmax))
}

// room returns size bytes, in b where it has them.
func room(b []byte, size int) []byte {
	if cap(b) < size {
		return make([]byte, size)
	}
	return b[:size]
}

// transform writes the samples of some blocks of a component.
func (p *coefficientPlane) transform(blocks image.Rectangle, plane []byte, stride int) {
	var pair [128]int16 // idctPair clears its input, which the next part may need
	var nowhere [64]byte
	quant := newPairQuant(&p.quant, &p.quant)
	for y := blocks.Min.Y; y < blocks.Max.Y; y++ {
		row := plane[(y-blocks.Min.Y)*8*stride:][:8*stride]
		for x := blocks.Min.X; x < blocks.Max.X; x += 2 {
			left := row[(x-blocks.Min.X)*8:]
			copy(pair[:64], p.block(x, y)[:])
			if x+1 < blocks.Max.X {
				copy(pair[64:], p.block(x+1, y)[:])
				idctPair(&pair, quant, left, left[8:], stride)
				continue
			}
			// The right half of the last pair is nobody's; both halves have one stride.
			one := [64]byte{}
			idctPair(&pair, quant, one[:], nowhere[:], 8)
			for i := range 8 {
				copy(left[i*stride:][:8], one[i*8:])
			}
		}
	}
}

// overflows reports a DC value that libjpeg refuses.
func overflows(v int) bool { return v > math.MaxInt32 || v < math.MinInt32 }
