package picture

import (
	"image"
	"math"
)

// smooth is ImageFilter.SMOOTH: of 13 parts 5 are the pixel's own. The border stays.
func smooth(out, in []byte, size image.Point) {
	copy(out, in)
	n := size.X
	for y := 1; y < size.Y-1 && n >= 3; y++ {
		above, row, below := in[(y-1)*n:][:n], in[y*n:][:n], in[(y+1)*n:][:n]
		to := out[y*n:][:n]
		for x := 1; x < n-1; x++ {
			v := float32(0.5)
			v += three(below[x-1], below[x], below[x+1], 1./13)
			v += three(row[x-1], row[x], row[x+1], 5./13)
			v += three(above[x-1], above[x], above[x+1], 1./13)
			to[x] = uint8(min(v, 255))
		}
	}
}

func three(a, b, c uint8, middle float32) float32 {
	const side = float32(1) / 13
	return float32(float32(a)*side) + float32(float32(b)*middle) + float32(float32(c)*side)
}

// passes of a box blur that make a Gaussian one.
const passes = 3

// mostRadius of a blur is far above the largest picture's side.
const mostRadius = 1 << 20

func compileBlur(radius func(float32) float32, times int) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		x, y := a.number(0), a.number(1)
		if x < 0 || y < 0 || x > mostRadius || y > mostRadius || c.mode == "1" || c.mode == "P" || c.mode == "HSV" {
			a.refuse("radius %v, %v in mode %q", x, y, c.mode)
		}
		across, down := newBlur(radius(float32(x))), newBlur(radius(float32(y)))
		if x == 0 && y == 0 || a.err != nil {
			return
		}
		c.add(func(w *Worker) error {
			for i := range w.picture.planes {
				w.blur(i, across, down, times)
			}
			return nil
		})
	}
}

func boxRadius(r float32) float32 { return r }

// gaussianRadius is the radius of three boxes that are as wide as a Gaussian: in
// "Theoretical foundations of Gaussian convolution by extended box filtering" (2011).
func gaussianRadius(r float32) float32 {
	variance := float32(r*r) / passes
	length := float32(math.Sqrt(float64(12*float64(variance)) + 1))
	l := float32(math.Floor((float64(length) - 1) / 2))
	a := float32(2*l+1) * (float32(l*(l+1)) - float32(3*variance))
	a /= 6 * (variance - float32((l+1)*(l+1)))
	return l + a
}

// blur is one direction of a box blur: radius pixels to both sides count whole, the
// next ones in part, in 2**24ths.
type blur struct {
	radius     int
	whole, far uint32
	idle       bool
}

func newBlur(radius float32) blur {
	r := int(radius)
	whole := uint32(float32(1<<24) / (float32(radius*2) + 1))
	return blur{r, whole, (1<<24 - uint32(2*r+1)*whole) / 2, radius == 0}
}

// blur takes plane i of the picture through both directions.
func (w *Worker) blur(i int, across, down blur, times int) {
	size := w.picture.size
	plane, spare := w.picture.planes[i], w.take(size.X*size.Y)
	if !across.idle {
		for range times {
			across.rows(spare, plane, size.X)
			plane, spare = spare, plane
		}
	}
	if !down.idle {
		turn(spare, plane, size, false, false)
		plane, spare = spare, plane
		for range times {
			down.rows(spare, plane, size.Y)
			plane, spare = spare, plane
		}
		turn(spare, plane, image.Point{size.Y, size.X}, false, false)
		plane, spare = spare, plane
	}
	w.picture.planes[i] = plane
	w.give(spare)
}

func (b *blur) rows(out, in []byte, n int) {
	for at := 0; at < len(in); at += n {
		b.row(out[at:][:n], in[at:][:n])
	}
}

// row blurs one; beyond its ends it goes on with its first and last pixel.
func (b *blur) row(out, in []byte) {
	last := len(in) - 1
	sum := uint32(in[0]) * uint32(b.radius+1)
	for x := range min(b.radius, len(in)) {
		sum += uint32(in[x])
	}
	sum += uint32(in[last]) * uint32(max(0, b.radius-len(in)))
	for x := range out {
		left, right := max(x-b.radius-1, 0), min(x+b.radius, last)
		sum += uint32(in[right]) - uint32(in[left])
		v := sum*b.whole + (uint32(in[left])+uint32(in[min(x+b.radius+1, last)]))*b.far
		out[x] = uint8((v + 1<<23) >> 24)
	}
}
