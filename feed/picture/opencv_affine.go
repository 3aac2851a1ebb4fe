package picture

import (
	"image"
	"math"
)

// affineLane is how many pixels OpenCV warps at once. Those that are left at the end of
// a row have their places from the same sum in another order.
const affineLane = 16

// The borders that are done here, by OpenCV's numbers.
const (
	cvConstant   = 0
	cvReplicate  = 1
	cvReflect    = 2
	cvReflect101 = 4
)

// farthest is how far away from a picture a place may be.
const farthest = 1 << 20

// affineWarp is cv2.warpAffine with bilinear interpolation, by the inverse matrix: as
// OpenCV 5 does it where one instruction multiplies and adds.
type affineWarp struct {
	m      [6]float32
	size   image.Point
	border int
	fill   [4]uint8
}

func compileOpenCVAffine(c *compiler, a *arguments) {
	to := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
	warp := affineWarp{size: to, border: a.readWholeNumber(3, cvConstant, cvReflect101)}
	for i, v := range a.numberList(2, 6) {
		warp.m[i] = float32(v)
		if math.Abs(v)*float64(max(to.X, to.Y)) > farthest && i%3 != 2 || math.Abs(v) > farthest {
			a.refuse("places farther away than %d", farthest)
		}
	}
	if warp.border == 3 || min(c.size.X, c.size.Y) < 2 || to.X*to.Y > mostPixels {
		a.refuse("border %d of a picture of %v to %v", warp.border, c.size, to)
	}
	warp.fill = a.fillColour(4, c.mode)
	if !greyOrColour(c, a) {
		return
	}
	c.size = to
	c.addStep(func(w *Worker) error {
		in := w.picture
		out := w.newRaster(to, len(in.planes))
		for y := range to.Y {
			w.places = warp.placesOf(w.places[:0], y, in.size)
			for i, plane := range in.planes {
				warp.drawRow(out.planes[i][y*to.X:][:to.X], plane, in.size, w.places, warp.fill[i])
			}
		}
		w.replace(out)
		return nil
	})
}

// place is where a pixel comes from: from between four.
type place struct {
	at            int // of the first of the four; -1: not all are within the picture
	x, y          int32
	across, below float32
}

// placesOf are those of a row.
func (a *affineWarp) placesOf(places []place, y int, size image.Point) []place {
	row := float32(y)
	baseX, baseY := float32(row*a.m[1])+a.m[2], float32(row*a.m[4])+a.m[5]
	whole := a.size.X - a.size.X%affineLane
	for x := range a.size.X {
		var px, py float32
		if x < whole {
			px, py = multiplyAdd(a.m[0], float32(x), baseX), multiplyAdd(a.m[3], float32(x), baseY)
		} else {
			px = multiplyAdd(a.m[0], float32(x), float32(row*a.m[1])) + a.m[2]
			py = multiplyAdd(a.m[3], float32(x), float32(row*a.m[4])) + a.m[5]
		}
		ix, iy := int32(math.Floor(float64(px))), int32(math.Floor(float64(py)))
		p := place{-1, ix, iy, px - float32(ix), py - float32(iy)}
		if uint32(ix) < uint32(size.X-1) && uint32(iy) < uint32(size.Y-1) {
			p.at = int(iy)*size.X + int(ix)
		}
		places = append(places, p)
	}
	return places
}

// multiplyAdd is a*b + c with one rounding, to single precision. The product is exact in
// double precision, so only the sum is rounded twice, which shows where the first
// rounding ends just in the middle.
func multiplyAdd(a, b, c float32) float32 {
	product, other := float64(a)*float64(b), float64(c)
	sum := product + other
	if bits := math.Float64bits(sum); bits&(1<<29-1) == 1<<28 {
		part := sum - product
		if rest := (product - (sum - part)) + (other - part); rest != 0 {
			if (rest > 0) == (sum > 0) {
				return float32(math.Float64frombits(bits + 1))
			}
			return float32(math.Float64frombits(bits - 1))
		}
	}
	return float32(sum)
}

func (a *affineWarp) drawRow(out, in []byte, size image.Point, places []place, fill uint8) {
	for x := range out {
		p := &places[x]
		if p.at < 0 {
			p00, p01 := a.valueAt(in, size, p.x, p.y, fill), a.valueAt(in, size, p.x+1, p.y, fill)
			p10, p11 := a.valueAt(in, size, p.x, p.y+1, fill), a.valueAt(in, size, p.x+1, p.y+1, fill)
			out[x] = blendExactly(p, p00, p01, p10, p11)
			continue
		}
		top := in[p.at:][:size.X+2]
		out[x] = blendFour(p, top[0], top[1], top[size.X], top[size.X+1])
	}
}

// blendFour is blendExactly, by way of double precision where that is not too close to
// the middle between two numbers.
func blendFour(p *place, p00, p01, p10, p11 uint8) uint8 {
	const doubt = 1e-4 // three roundings of numbers up to 255 are not half of that
	across := float64(p.across)
	first := float64(p00) + across*float64(int32(p01)-int32(p00))
	second := float64(p10) + across*float64(int32(p11)-int32(p10))
	v := first + float64(p.below)*(second-first) + 0.5
	whole := uint8(v)
	if part := v - float64(whole); part < doubt || part > 1-doubt {
		return blendExactly(p, p00, p01, p10, p11)
	}
	return whole
}

func blendExactly(p *place, p00, p01, p10, p11 uint8) uint8 {
	first := multiplyAdd(p.across, float32(int32(p01)-int32(p00)), float32(p00))
	second := multiplyAdd(p.across, float32(int32(p11)-int32(p10)), float32(p10))
	v := multiplyAdd(p.below, second-first, first)
	return uint8(min(max(math.RoundToEven(float64(v)), 0), 255))
}

// valueAt is a pixel that may lie beyond the border.
func (a *affineWarp) valueAt(in []byte, size image.Point, x, y int32, fill uint8) uint8 {
	if uint32(x) < uint32(size.X) && uint32(y) < uint32(size.Y) {
		return in[int(y)*size.X+int(x)]
	}
	if a.border == cvConstant {
		return fill
	}
	return in[a.within(int(y), size.Y)*size.X+a.within(int(x), size.X)]
}

// within is the pixel of a line that stands for one beyond its ends.
func (a *affineWarp) within(at, n int) int {
	switch a.border {
	case cvReplicate:
		return min(max(at, 0), n-1)
	case cvReflect:
		if at = modulo(at, 2*n); at >= n {
			at = 2*n - 1 - at
		}
	default:
		if at = modulo(at, 2*n-2); at >= n {
			at = 2*n - 2 - at
		}
	}
	return at
}
