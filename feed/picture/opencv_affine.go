package picture

import (
	"image"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/wheel"
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
// OpenCV 5 does it where one instruction multiplies and adds. It is cv2.warpPerspective
// where a third row of the matrix divides.
type affineWarp struct {
	m       [9]float32
	divides bool
	size    image.Point
	border  int
	fill    [4]uint8
}

func compileOpenCVAffine(c *compiler, a *arguments) { c.addWarp(a, 6) }

func compileOpenCVPerspective(c *compiler, a *arguments) { c.addWarp(a, 9) }

// addWarp is for a matrix of so many numbers.
func (c *compiler) addWarp(a *arguments, numbers int) {
	to := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
	warp := affineWarp{size: to, divides: numbers == 9, border: a.readBorder(3)}
	for i, v := range a.numberList(2, numbers) {
		warp.m[i] = float32(v)
		if math.Abs(v)*float64(max(to.X, to.Y)) > farthest && i%3 != 2 || math.Abs(v) > farthest {
			a.refuse("places farther away than %d", farthest)
		}
	}
	if warp.divides && !warp.staysNear() {
		a.refuse("places in no known distance")
	}
	if min(c.size.X, c.size.Y) < 2 || to.X*to.Y > mostPixels {
		a.refuse("a picture of %v to %v", c.size, to)
	}
	warp.fill = a.fillColour(4, c.mode)
	if !greyOrColour(c, a) {
		return
	}
	c.size = to
	c.addStep(func(w *Worker) error {
		in := w.picture
		out := w.newRaster(to, len(in.planes))
		done := 0
		if canWarp {
			done = to.X - to.X%affineLane
		}
		w.row.grow(done)
		for y := range to.Y {
			warp.drawLanes(&w.row, &out, &in, y)
			w.places = warp.placesOf(w.places[:0], done, y, in.size)
			for i, plane := range in.planes {
				warp.drawRow(out.planes[i][y*to.X:][done:to.X], plane, in.size, w.places, warp.fill[i])
			}
		}
		w.replace(out)
		return nil
	})
}

// staysNear says whether no divisor is so small that places are far away, or that its sign is in doubt.
func (a *affineWarp) staysNear() bool {
	sum := func(row int, x, y float64) float64 {
		m := a.m[3*row:]
		return float64(float64(m[0])*x) + float64(float64(m[1])*y) + float64(m[2])
	}
	right, bottom := float64(a.size.X-1), float64(a.size.Y-1)
	least, most := math.Inf(1), 0.0
	for _, corner := range [4][2]float64{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}} {
		least = min(least, sum(2, corner[0], corner[1]))
		most = max(most, math.Abs(sum(0, corner[0], corner[1])), math.Abs(sum(1, corner[0], corner[1])))
	}
	terms := max(math.Abs(float64(a.m[6]))*right, math.Abs(float64(a.m[7]))*bottom, math.Abs(float64(a.m[8])))
	return least > terms/256 && most < least*farthest
}

// pixelOrigin is where a pixel comes from: from between four. Shares have 20 bits, cut off:
// where that is too few, they are worked out anew.
type pixelOrigin struct {
	at            int32 // of the first of the four; -1: not all are within the picture
	across, below int32
	x, y          float32
}

const shareOne = 1 << 20

// neighbour is the first of the four, and how far from it the place is.
func (p *pixelOrigin) neighbour() (x, y int32, across, below float32) {
	x, y = floorOf(p.x), floorOf(p.y)
	return x, y, p.x - float32(x), p.y - float32(y)
}

func floorOf(v float32) int32 {
	whole := int32(v)
	if float32(whole) > v {
		whole--
	}
	return whole
}

// placesOf are those of a row, from a column on.
func (a *affineWarp) placesOf(places []pixelOrigin, from, y int, size image.Point) []pixelOrigin {
	for x := from; x < a.size.X; x++ {
		places = append(places, a.placeOf(x, y, size))
	}
	return places
}

func (a *affineWarp) placeOf(x, y int, size image.Point) pixelOrigin {
	px, py := a.sum(0, x, y), a.sum(3, x, y)
	if a.divides {
		by := a.sum(6, x, y)
		px, py = px/by, py/by
	}
	ix, iy := floorOf(px), floorOf(py)
	p := pixelOrigin{-1, int32((px - float32(ix)) * shareOne), int32((py - float32(iy)) * shareOne), px, py}
	if uint32(ix) < uint32(size.X-1) && uint32(iy) < uint32(size.Y-1) {
		p.at = iy*int32(size.X) + ix
	}
	return p
}

// sum is a number of a place, by three of the matrix.
func (a *affineWarp) sum(i, x, y int) float32 {
	m := a.m[i:][:3]
	down := float32(float32(y) * m[1])
	if x < a.size.X-a.size.X%affineLane {
		return wheel.RoundOnce(m[0], float32(x), down+m[2])
	}
	return wheel.RoundOnce(m[0], float32(x), down) + m[2]
}

// placeRow is where pixels of a row come from, as the kernel has it; a place of -1 is for plain Go.
type placeRow struct {
	at            []int32
	across, below []float32
}

func (p *placeRow) grow(n int) {
	p.at, p.across, p.below = planes.MakeRoom(p.at, n), planes.MakeRoom(p.across, n), planes.MakeRoom(p.below, n)
}

// drawLanes makes the pixels of a row that the kernel has places for.
func (a *affineWarp) drawLanes(p *placeRow, out, in *raster, y int) {
	if len(p.at) == 0 {
		return
	}
	var numbers [6]float32
	for i := range 3 {
		numbers[2*i], numbers[2*i+1] = a.m[3*i], float32(float32(y)*a.m[3*i+1])+a.m[3*i+2]
	}
	findPlacesSIMD(p, &numbers, in.size.X, in.size.Y, a.divides)
	begin := y * a.size.X
	if slices.ContainsFunc(p.at, func(at int32) bool { return at >= 0 }) {
		for i, plane := range in.planes {
			blendFourSIMD(out.planes[i][begin:][:len(p.at)], plane, in.size.X, p)
		}
	}
	for x, at := range p.at {
		if at >= 0 {
			continue
		}
		if a.border == cvConstant && !a.divides {
			column := float64(x)
			fromX := float64(float64(numbers[0])*column) + float64(numbers[1])
			fromY := float64(float64(numbers[2])*column) + float64(numbers[3])
			if liesBeyond(fromX, in.size.X) || liesBeyond(fromY, in.size.Y) {
				for i := range in.planes {
					out.planes[i][begin+x] = a.fill[i]
				}
				continue
			}
		}
		origin := a.placeOf(x, y, in.size)
		for i, plane := range in.planes {
			out.planes[i][begin+x] = a.blendExactly(&origin, plane, in.size, a.fill[i])
		}
	}
}

// liesBeyond is true only where a place is so far out that rounding it to single precision leaves it beyond.
func liesBeyond(at float64, n int) bool { return at < -2 || at > float64(n)+1 }

func (a *affineWarp) drawRow(out, in []byte, size image.Point, places []pixelOrigin, fill uint8) {
	const half, doubt = 1 << 39, 1 << 30 // of sums with 40 bits behind the point: shares cut off are not half of doubt
	places = places[:len(out)]
	for x := range out {
		p := &places[x]
		if p.at >= 0 {
			upper := in[p.at:][:size.X+2]
			p00, p01 := int64(upper[0]), int64(upper[1])
			p10, p11 := int64(upper[size.X]), int64(upper[size.X+1])
			first := p00<<20 + int64(p.across)*(p01-p00)
			second := p10<<20 + int64(p.across)*(p11-p10)
			sum := first<<20 + int64(p.below)*(second-first) + half
			if part := sum & (1<<40 - 1); part >= doubt && part <= 1<<40-doubt {
				out[x] = uint8(sum >> 40)
				continue
			}
		}
		out[x] = a.blendExactly(p, in, size, fill)
	}
}

// blendExactly rounds each step to single precision, as OpenCV does.
func (a *affineWarp) blendExactly(p *pixelOrigin, in []byte, size image.Point, fill uint8) uint8 {
	x, y, across, below := p.neighbour()
	if a.border == cvConstant && (x < -1 || y < -1 || x >= int32(size.X) || y >= int32(size.Y)) {
		return fill
	}
	p00, p01 := a.valueAt(in, size, x, y, fill), a.valueAt(in, size, x+1, y, fill)
	p10, p11 := a.valueAt(in, size, x, y+1, fill), a.valueAt(in, size, x+1, y+1, fill)
	first := wheel.RoundOnce(across, float32(int32(p01)-int32(p00)), float32(p00))
	second := wheel.RoundOnce(across, float32(int32(p11)-int32(p10)), float32(p10))
	v := wheel.RoundOnce(below, second-first, first)
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
	return in[foldIndex(a.border, int(y), size.Y)*size.X+foldIndex(a.border, int(x), size.X)]
}

// foldIndex is the pixel of a line that stands for one beyond its ends.
func foldIndex(border, at, n int) int {
	switch border {
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
