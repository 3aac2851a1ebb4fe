package picture

import (
	"image"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// smooth is ImageFilter.SMOOTH: the pixel itself has weight 5 of 13. The border is unchanged.
// Pillow sums in single precision. Its values before rounding are at least 1/26 from a half,
// far more than its error, so whole numbers give the same result.
func smooth(out, in []byte, size image.Point) {
	copy(out, in)
	n := size.X
	for y := 1; y < size.Y-1 && n >= 3; y++ {
		three := in[(y-1)*n:][:3*n]
		above, row, below := three[:n], three[n:2*n], three[2*n:]
		to, from := out[y*n:][:n], 1
		if canEnhance {
			from += smoothSIMD(to[1:n-1], three)
		}
		left := int(above[from-1]) + int(row[from-1]) + int(below[from-1])
		middle := int(above[from]) + int(row[from]) + int(below[from])
		for x := from; x < n-1; x++ {
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

// passes is the number of box blurs that approximate a Gaussian blur.
const passes = 3

// mostRadius is a blur radius far above the largest picture's side.
const mostRadius = 1 << 20

func compileBlur(c *compiler, a *arguments) {
	x, y := a.readNumber(0), a.readNumber(1)
	if x < 0 || y < 0 || x > mostRadius || y > mostRadius {
		a.refuse("radius %v, %v", x, y)
	}
	across, down := newBlur(gaussianRadius(float32(x))), newBlur(gaussianRadius(float32(y)))
	if x == 0 && y == 0 || a.err != nil {
		return
	}
	c.addStep(func(w *Worker) error {
		for i := range w.picture.planes {
			w.blurPlane(i, across, down)
		}
		return nil
	})
}

// gaussianRadius returns the radius at which three box blurs are as wide as a Gaussian, from
// "Theoretical foundations of Gaussian convolution by extended box filtering" (2011).
func gaussianRadius(r float32) float32 {
	variance := float32(r*r) / passes
	length := float32(math.Sqrt(float64(12*float64(variance)) + 1))
	l := float32(math.Floor((float64(length) - 1) / 2))
	a := float32(2*l+1) * wheel.Sum32(l, l+1, -float32(3*variance))
	a /= 6 * wheel.Sum32(-(l+1), l+1, variance)
	return l + a
}

func newBlur(radius float32) blur {
	r := int(radius)
	whole := uint32(float32(1<<24) / (float32(radius*2) + 1))
	return blur{r, [2]uint32{whole, (1<<24 - uint32(2*r+1)*whole) / 2}, radius == 0}
}

// blurPlane blurs plane i of the picture in both directions. Rows are blurred as columns of the
// transposed picture.
func (w *Worker) blurPlane(i int, across, down blur) {
	size := w.picture.size
	plane, spare := w.picture.planes[i], w.takePlane(size.X*size.Y)
	blurred := func(b *blur, columns int) {
		w.sums = slices.Grow(w.sums[:0], columns+8)[:columns+8] // a kernel's last group may have too many columns
		for range passes {
			b.blurColumns(spare, plane, w.sums, columns)
			plane, spare = spare, plane
		}
	}
	if !across.idle {
		transposeImage(spare, plane, size, false, false)
		plane, spare = spare, plane
		blurred(&across, size.Y)
		transposeImage(spare, plane, image.Point{size.Y, size.X}, false, false)
		plane, spare = spare, plane
	}
	if !down.idle {
		blurred(&down, size.X)
	}
	w.picture.planes[i] = plane
	w.givePlane(spare)
}

// blurColumns blurs n columns downwards, one row of sums at a time. Beyond its ends a column
// repeats its first and last pixel. sums add the pixels that count in full.
func (b *blur) blurColumns(out, in []byte, sums []uint32, n int) {
	last := len(in)/n - 1
	line := func(y int) []byte { return in[min(max(y, 0), last)*n:] }
	top, bottom := line(0), line(last)
	for x := range n {
		sums[x] = uint32(top[x])*uint32(b.radius+1) + uint32(bottom[x])*uint32(max(0, b.radius-last-1))
	}
	for y := range min(b.radius, last+1) {
		for x, v := range line(y)[:n] {
			sums[x] += uint32(v)
		}
	}
	for y := range last + 1 {
		left, right, beyond := line(y-b.radius-1), line(y+b.radius), line(y+b.radius+1)
		to, from := out[y*n:], 0
		if canEnhance {
			from = b.blurColumnsSIMD(to, sums, left, right, beyond, n)
		}
		for x := from; x < n; x++ {
			sum := sums[x] + uint32(right[x]) - uint32(left[x])
			sums[x] = sum
			to[x] = uint8((sum*b.shares[0] + (uint32(left[x])+uint32(beyond[x]))*b.shares[1] + 1<<23) >> 24)
		}
	}
}
