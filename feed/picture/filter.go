package picture

import (
	"image"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// smooth is ImageFilter.SMOOTH: of 13 parts 5 are the pixel's own. The border stays.
// Pillow adds up in single precision; what it rounds is at least 1/26 off a whole
// number, far more than it can be wrong by, so that whole numbers give the same.
func smooth(out, in []byte, size image.Point) {
	copy(out, in)
	n := size.X
	for y := 1; y < size.Y-1 && n >= 3; y++ {
		above, row, below := in[(y-1)*n:][:n], in[y*n:][:n], in[(y+1)*n:][:n]
		to := out[y*n:][:n]
		left := int(above[0]) + int(row[0]) + int(below[0])
		middle := int(above[1]) + int(row[1]) + int(below[1])
		for x := 1; x < n-1; x++ {
			right := int(above[x+1]) + int(row[x+1]) + int(below[x+1])
			to[x] = thirteenths[left+middle+right+4*int(row[x])]
			left, middle = middle, right
		}
	}
}

// thirteenths are sums divided by 13, rounded.
var thirteenths = func() (t [13*255 + 1]uint8) {
	for sum := range t {
		t[sum] = uint8((2*sum + 13) / 26)
	}
	return t
}()

// passes of a box blur that make a Gaussian one.
const passes = 3

// mostRadius of a blur is far above the largest picture's side.
const mostRadius = 1 << 20

func compileBlur(radius func(float32) float32, times int) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		x, y := a.readNumber(0), a.readNumber(1)
		if x < 0 || y < 0 || x > mostRadius || y > mostRadius || c.mode == "1" || c.mode == "P" || c.mode == "HSV" {
			a.refuse("radius %v, %v in mode %q", x, y, c.mode)
		}
		across, down := newBlur(radius(float32(x))), newBlur(radius(float32(y)))
		if x == 0 && y == 0 || a.err != nil {
			return
		}
		c.addStep(func(w *Worker) error {
			for i := range w.picture.planes {
				w.blurPlane(i, across, down, times)
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
	a := float32(2*l+1) * wheel.Sum32(l, l+1, -float32(3*variance))
	a /= 6 * wheel.Sum32(-(l+1), l+1, variance)
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

// blurPlane takes plane i of the picture through both directions.
func (w *Worker) blurPlane(i int, across, down blur, times int) {
	size := w.picture.size
	plane, spare := w.picture.planes[i], w.takePlane(size.X*size.Y)
	for range times {
		if !across.idle {
			for at := 0; at < len(plane); at += size.X {
				across.blurRow(spare[at:][:size.X], plane[at:][:size.X])
			}
			plane, spare = spare, plane
		}
	}
	if !down.idle {
		w.sums = slices.Grow(w.sums[:0], size.X)[:size.X]
		for range times {
			down.columns(spare, plane, w.sums)
			plane, spare = spare, plane
		}
	}
	w.picture.planes[i] = plane
	w.givePlane(spare)
}

// blurRow blurs one; beyond its ends it goes on with its first and last pixel. sum is of the
// pixels that count whole.
func (b *blur) blurRow(out, in []byte) {
	last, r := len(in)-1, b.radius
	sum := uint32(in[0]) * uint32(r+1)
	for x := range min(r, len(in)) {
		sum += uint32(in[x])
	}
	sum += uint32(in[last]) * uint32(max(0, r-len(in)))
	step := func(x, left, right, beyond int) {
		sum += uint32(in[right]) - uint32(in[left])
		out[x] = b.meanOf(sum, in[left], in[beyond])
	}
	inside, ends := min(r+1, len(in)), max(len(in)-r-1, 0)
	for x := range min(inside, ends) {
		step(x, 0, x+r, x+r+1)
	}
	for x := ends; x < inside; x++ {
		step(x, 0, last, last)
	}
	if inside < ends {
		out, left := out[inside:ends], in[:ends-inside]
		right, beyond := in[inside+r:][:len(out)], in[inside+r+1:][:len(out)]
		for x := range out {
			sum += uint32(right[x]) - uint32(left[x])
			out[x] = b.meanOf(sum, left[x], beyond[x])
		}
	}
	for x := max(inside, ends); x <= last; x++ {
		step(x, x-r-1, last, last)
	}
}

func (b *blur) meanOf(sum uint32, left, beyond uint8) uint8 {
	return uint8((sum*b.whole + (uint32(left)+uint32(beyond))*b.far + 1<<23) >> 24)
}

// columns is the same downwards, a row of sums at a time.
func (b *blur) columns(out, in []byte, sums []uint32) {
	n := len(sums)
	last := len(in)/n - 1
	line := func(y int) []byte { return in[min(max(y, 0), last)*n:][:n] }
	top, bottom := line(0), line(last)
	for x := range sums {
		sums[x] = uint32(top[x])*uint32(b.radius+1) + uint32(bottom[x])*uint32(max(0, b.radius-last-1))
	}
	for y := range min(b.radius, last+1) {
		for x, v := range line(y) {
			sums[x] += uint32(v)
		}
	}
	for y := range last + 1 {
		left, right, beyond := line(y-b.radius-1), line(y+b.radius), line(y+b.radius+1)
		to := out[y*n:][:n]
		for x, sum := range sums {
			sum += uint32(right[x]) - uint32(left[x])
			sums[x] = sum
			to[x] = b.meanOf(sum, left[x], beyond[x])
		}
	}
}
