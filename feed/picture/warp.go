package picture

import (
	"encoding/binary"
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// The kinds of mapping from the middle of a pixel of the result to a place in the picture, with
// the coefficients of Image.transform.
const (
	affine = iota
	perspective
)

type mapping struct {
	kind int
	a    [8]float64
}

const (
	bilinear = 2
	bicubic  = 3
)

const nearest = 0

func compileWarp(kind int) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		size := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
		m := mapping{kind: kind}
		n := 8
		if kind == affine {
			n = 6
		}
		copy(m.a[:], a.numberList(2, n))
		filter, fill := a.readWholeNumber(3, nearest, bicubic), a.fillColour(4, c.mode)
		switch {
		case filter != nearest && filter != bilinear && filter != bicubic:
			a.refuse("filter %d", filter)
		case size.X*size.Y > mostPixels:
			a.refuse("a picture of %d x %d pixels", size.X, size.Y)
		}
		if filter == nearest && kind == affine && m.chooseWalk(size) == fixedPoint && !m.fitsFixedPoint() {
			a.refuse("coefficients %v", m.a)
		}
		if a.err != nil {
			return
		}
		c.compileWarp(size, filter, m, fill)
	}
}

// compileWarp adds the step. Pixels beyond the picture get the fill.
func (c *compiler) compileWarp(size image.Point, filter int, m mapping, fill [3]uint8) {
	c.size = size
	c.addStep(func(w *Worker) error {
		in := w.picture
		out := w.newRaster(size, len(in.planes))
		switch filter {
		case nearest:
			takePixels(&out, &in, m, fill)
		case bilinear:
			w.sampleRows(&out, &in, &m, fill, 2, mixTwo)
		default:
			w.sampleRows(&out, &in, &m, fill, 4, mixFour)
		}
		w.replace(out)
		return nil
	})
}

// sourceOf returns the place from which pixel x, y of the result comes.
func (m *mapping) sourceOf(x, y float64) (float64, float64) {
	a := &m.a
	x, y = x+0.5, y+0.5
	switch m.kind {
	case perspective:
		by := wheel.Sum(a[6], x, float64(a[7]*y)) + 1
		return (wheel.Sum(a[0], x, float64(a[1]*y)) + a[2]) / by, (wheel.Sum(a[3], x, float64(a[4]*y)) + a[5]) / by
	}
	return wheel.Sum(a[0], x, float64(a[1]*y)) + a[2], wheel.Sum(a[3], x, float64(a[4]*y)) + a[5]
}

// takePixels writes the nearest pixels, row by row.
func takePixels(out, in *raster, m mapping, fill [3]uint8) {
	from := make([]int, out.size.X)
	rows := make([][]byte, len(in.planes))
	walk := m.walkRows(in.size, out.size)
	for y := range out.size.Y {
		first, end := innerRange(from, walk)
		for c := range rows {
			row := out.planes[c][y*out.size.X:][:len(from)]
			flood(row[:first], fill[c])
			flood(row[end:], fill[c])
			rows[c] = row[first:end]
		}
		switch from := from[first:end]; {
		case m.keepsRows() && consecutive(from):
			for c, row := range rows {
				copy(row, in.planes[c][from[0]:])
			}
		case len(rows) == 3:
			takeThree(rows, in.planes, from, fill)
		default:
			for c, row := range rows {
				takeRow(row, in.planes[c], from, fill[c])
			}
		}
	}
}

func takeRow(row, plane []byte, from []int, fill uint8) {
	row = row[:len(from)]
	for x, at := range from {
		if uint(at) < uint(len(plane)) {
			row[x] = plane[at]
		} else {
			row[x] = fill
		}
	}
}

// takeThree is takeRow for three planes, with one check per pixel.
func takeThree(rows, planes [][]byte, from []int, fill [3]uint8) {
	n, area := len(from), len(planes[0])
	a, b, c := rows[0][:n], rows[1][:n], rows[2][:n]
	first, second, third := planes[0][:area], planes[1][:area], planes[2][:area]
	for x, at := range from {
		if uint(at) < uint(area) {
			a[x], b[x], c[x] = first[at], second[at], third[at]
		} else {
			a[x], b[x], c[x] = fill[0], fill[1], fill[2]
		}
	}
}

// innerRange lets walk set the places, and returns the part of the row outside of which none is
// in the picture.
func innerRange(from []int, walk walker) (first, end int) {
	first, end = walk(from)
	for end > first && from[end-1] < 0 {
		end--
	}
	for first < end && from[first] < 0 {
		first++
	}
	return first, end
}

func flood(row []byte, value uint8) {
	for eight := uint64(value) * 0x0101010101010101; len(row) >= 8; row = row[8:] {
		binary.LittleEndian.PutUint64(row, eight)
	}
	for x := range row {
		row[x] = value
	}
}

// keepsRows reports whether neighbours in a row of the result are neighbours in the picture,
// apart from rounding in sums: a shift, or a shear along rows.
func (m *mapping) keepsRows() bool { return m.kind == affine && m.a[0] == 1 && m.a[3] == 0 }

// consecutive reports whether growing places have no gaps.
func consecutive(from []int) bool {
	return len(from) > 0 && from[len(from)-1]-from[0] == len(from)-1
}

// walker sets the places in a plane of the next row's pixels from first to end, with -1 for
// those beyond the picture. All pixels outside of first to end are beyond it.
type walker func(from []int) (first, end int)

// walkRows returns a walker for the method by which Pillow follows a row.
func (m *mapping) walkRows(in, out image.Point) walker {
	if m.kind != affine {
		return m.walkExactly(in)
	}
	switch m.chooseWalk(out) {
	case straight:
		return m.walkStraight(in, out.X)
	case fixedPoint:
		return m.walkFixed(in)
	}
	return m.walkAdding(in)
}

func (m *mapping) walkExactly(in image.Point) walker {
	y := 0.0
	return func(from []int) (first, end int) {
		for x := range from {
			from[x] = nearestPixel(in, m, float64(x), y)
		}
		y++
		return 0, len(from)
	}
}

func nearestPixel(in image.Point, m *mapping, x, y float64) int {
	px, py := m.sourceOf(x, y)
	return pixelAt(in, px, py)
}

// pixelAt returns the index of the pixel at a place, or -1. NaN is nowhere, or at 0.
func pixelAt(in image.Point, x, y float64) int {
	if wheel.NaNIsZero {
		x, y = zeroOfNaN(x), zeroOfNaN(y)
	}
	if x >= 0 && x < float64(in.X) && y >= 0 && y < float64(in.Y) {
		return int(y)*in.X + int(x)
	}
	return -1
}

func zeroOfNaN(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// walkStraight is for rows that remain rows: the columns are found once, by repeated addition.
func (m *mapping) walkStraight(in image.Point, width int) walker {
	columns := make([]int, width)
	at := m.a[2] + float64(m.a[0]*0.5)
	for x := range columns {
		columns[x] = pixelAt(image.Point{in.X, 1}, at, 0)
		at += m.a[0]
	}
	at = m.a[5] + float64(m.a[4]*0.5)
	return func(from []int) (first, end int) {
		row := pixelAt(image.Point{in.Y, 1}, at, 0)
		for x, column := range columns {
			if from[x] = row*in.X + column; row < 0 || column < 0 {
				from[x] = -1
			}
		}
		at += m.a[4]
		return 0, len(from)
	}
}

// walkFixed counts in units of 1/65536 pixel.
func (m *mapping) walkFixed(in image.Point) walker {
	a0, a1, a3, a4 := toFixed(m.a[0]), toFixed(m.a[1]), toFixed(m.a[3]), toFixed(m.a[4])
	startX, startY := m.starts()
	x, y := toFixed(startX), toFixed(startY)
	return func(from []int) (first, end int) {
		first, end = stepsWithin(x, a0, in.X, 0, len(from))
		first, end = stepsWithin(y, a3, in.Y, first, end)
		steps := int32(first)
		walkSteps(from[first:end], x+a0*steps, y+a3*steps, a0, a3, in.X, in.Y)
		x += a1
		y += a4
		return first, end
	}
}

// walkSteps sets the places of the steps from x, y on.
func walkSteps(from []int, x, y, a0, a3 int32, width, height int) {
	for i := range from {
		px, py := int(x>>16), int(y>>16)
		at := py*width + px
		if uint(px) >= uint(width) || uint(py) >= uint(height) {
			at = -1
		}
		from[i] = at
		x += a0
		y += a3
	}
}

// stepsWithin returns which of the steps [first, end) are within the given number of pixels. It
// returns all if they overflow, as they may then come back from the other side.
func stepsWithin(at, step int32, pixels, first, end int) (int, int) {
	place, way, limit := int(at), int(step), pixels<<16
	if last := place + way*end; last != int(int32(last)) {
		return first, end
	}
	if way < 0 {
		place, way = limit-1-place, -way
	}
	if way == 0 {
		if place < 0 || place >= limit {
			end = first
		}
		return first, end
	}
	first = min(max(first, (way-1-place)/way), end)
	return first, max(first, min(end, (limit-place+way-1)/way))
}

func (m *mapping) starts() (x, y float64) {
	a := &m.a
	return a[2] + float64(a[0]*0.5) + float64(a[1]*0.5), a[5] + float64(a[3]*0.5) + float64(a[4]*0.5)
}

func toFixed(v float64) int32 { return int32(math.Floor(float64(v*65536) + 0.5)) }

// walkAdding is for places too large for fixed point.
func (m *mapping) walkAdding(in image.Point) walker {
	a := &m.a
	x := a[2] + float64(a[1]*0.5) + float64(a[0]*0.5)
	y := a[5] + float64(a[4]*0.5) + float64(a[3]*0.5)
	return func(from []int) (first, end int) {
		xx, yy := x, y
		for i := range from {
			from[i] = pixelAt(in, xx, yy)
			xx += a[0]
			yy += a[3]
		}
		x += a[1]
		y += a[4]
		return 0, len(from)
	}
}

// The methods for following a row.
const (
	straight = iota
	fixedPoint
	adding
)

func (m *mapping) chooseWalk(out image.Point) int {
	if m.a[1] == 0 && m.a[3] == 0 {
		return straight
	}
	for _, corner := range [4]image.Point{{}, {out.X, 0}, {0, out.Y}, out} {
		x, y := float64(corner.X), float64(corner.Y)
		px := float64(x*m.a[0]) + float64(y*m.a[1]) + m.a[2]
		py := float64(x*m.a[3]) + float64(y*m.a[4]) + m.a[5]
		if math.Abs(px) >= 32768 || math.Abs(py) >= 32768 {
			return adding
		}
	}
	return fixedPoint
}

// fitsFixedPoint reports whether fixed point can hold the coefficients.
func (m *mapping) fitsFixedPoint() bool {
	x, y := m.starts()
	for _, v := range [...]float64{m.a[0], m.a[1], m.a[3], m.a[4], x, y} {
		if math.Abs(v) >= 32767 {
			return false
		}
	}
	return true
}

// mixer computes pixels of a row from the pixels around spots. Beyond its edges a plane repeats
// its last pixels.
type mixer func(row, plane []byte, size image.Point, spots []spot, fill uint8)

// sampleRows computes each pixel of the result from taps by taps pixels around its place, row
// by row.
func (w *Worker) sampleRows(out, in *raster, m *mapping, fill [3]uint8, taps int, mix mixer) {
	for y := range out.size.Y {
		w.lanes.find(m, out.size.X, y, taps, in.size)
		w.spots = m.findRest(w.spots[:0], &w.lanes, out.size.X, y, in.size)
		for c, plane := range in.planes {
			row := out.planes[c][y*out.size.X:][:out.size.X]
			mixSIMD(row, plane, in.size.X, &w.lanes)
			for _, r := range w.lanes.beyond {
				flood(row[r.first:r.end], fill[c])
			}
			mix(row, plane, in.size, w.spots, fill[c])
		}
	}
}

// find sets the spots of row y for the kernel: none if it does not run here.
func (l *lanes) find(m *mapping, width, y, taps int, size image.Point) {
	l.taps, l.at, l.rest = taps, l.at[:0], l.rest[:0]
	latest := (size.Y-taps+1)*size.X - 4 // the kernel reads 4 bytes of each row
	if !canMix || size.X < taps || size.Y < taps || latest < 0 {
		return
	}
	n := width &^ 3
	l.at, l.dx, l.dy = planes.MakeRoom(l.at, n), planes.MakeRoom(l.dx, n), planes.MakeRoom(l.dy, n)
	l.rest = planes.MakeRoom(l.rest, n/4)
	a, down := &m.a, float64(y)+0.5
	findSpotsSIMD(l, &[11]float64{
		a[0], float64(a[1] * down), a[2],
		a[3], float64(a[4] * down), a[5],
		a[6], float64(a[7] * down), 1,
		float64(size.X), float64(size.Y),
	}, &[5]int32{
		int32(size.X - taps + 1), int32(size.Y - taps + 1), int32(size.X), int32(latest + 1), int32(taps/2 - 1),
	}, m.kind == perspective)
}

// findRest appends the spots of row y that are not in lanes, and finds the lanes beyond the
// picture.
func (m *mapping) findRest(spots []spot, l *lanes, width, y int, size image.Point) []spot {
	l.first, l.end, l.beyond = 0, 0, l.beyond[:0]
	for i, rest := range l.rest {
		if rest == 0xff {
			l.addBeyond(4*i, 4*i+4)
			continue
		}
		if rest&15 != 15 {
			if l.end == 0 {
				l.first = 4 * i
			}
			l.end = 4*i + 4
		}
		for x := 4 * i; rest != 0; x++ {
			switch {
			case rest&16 != 0:
				l.addBeyond(x, x+1)
			case rest&1 != 0:
				spots = append(spots, m.spotOf(x, y, size))
			}
			rest = rest >> 1 & 0x77
		}
	}
	for x := len(l.at); x < width; x++ {
		spots = append(spots, m.spotOf(x, y, size))
	}
	return spots
}

func (l *lanes) addBeyond(first, end int) {
	if n := len(l.beyond); n > 0 && l.beyond[n-1].end == first {
		l.beyond[n-1].end = end
		return
	}
	l.beyond = append(l.beyond, span{first, end})
}

func (m *mapping) spotOf(column, row int, size image.Point) spot {
	s := spot{column: column}
	x, y := m.sourceOf(float64(column), float64(row))
	switch {
	case x < 0 || x >= float64(size.X) || y < 0 || y >= float64(size.Y):
		s.where = beyond
		return s
	case math.IsNaN(x) || math.IsNaN(y):
		s.where = nowhere
		return s
	}
	s.left, s.dx = before(x - 0.5)
	s.top, s.dy = before(y - 0.5)
	return s
}

// before returns x rounded down, and the remainder. x is at least -0.5.
func before(x float64) (int32, float64) {
	if x < 0 {
		return -1, x + 1
	}
	whole := int32(x)
	return whole, x - float64(whole)
}

// outside returns the pixel of a spot that is not in the picture.
func (s *spot) outside(fill uint8) uint8 {
	if s.where == nowhere {
		return 0
	}
	return fill
}

func mixTwo(row, plane []byte, size image.Point, spots []spot, fill uint8) {
	last, bottom := size.X-1, size.Y-1
	for i := range spots {
		s := &spots[i]
		x := s.column
		if s.where != within {
			row[x] = s.outside(fill)
			continue
		}
		left, top := int(s.left), int(s.top)
		right, below := min(left+1, last), min(top+1, bottom)*size.X
		left, top = max(left, 0), max(top, 0)*size.X
		a, b := number[plane[top+left]], number[plane[below+left]]
		upper := wheel.Sum(number[plane[top+right]]-a, s.dx, a)
		lower := wheel.Sum(number[plane[below+right]]-b, s.dx, b)
		row[x] = uint8(int(wheel.Sum(lower-upper, s.dy, upper)))
	}
}

// number converts bytes: a lookup in the first-level cache is faster than the conversion.
var number = func() (t [256]float64) {
	for i := range t {
		t[i] = float64(i)
	}
	return t
}()

// mixFour skips mixing in a direction if one pixel would get all the weight: shears and shifts
// along one direction leave the other one unchanged.
func mixFour(row, plane []byte, size image.Point, spots []spot, fill uint8) {
	for i := range spots {
		s := &spots[i]
		x := s.column
		if s.where != within {
			row[x] = s.outside(fill)
			continue
		}
		left, last := int(s.left), size.X-1
		c0, c1, c2, c3 := max(left-1, 0), max(left, 0), min(left+1, last), min(left+2, last)
		p1 := s.rowBelow(plane, 0, size)
		v := number[p1[c1]]
		if s.dx != 0 {
			v = cubic(number[p1[c0]], v, number[p1[c2]], number[p1[c3]], s.dx)
		}
		if s.dy != 0 {
			p0, p2, p3 := s.rowBelow(plane, -1, size), s.rowBelow(plane, 1, size), s.rowBelow(plane, 2, size)
			a, c, d := number[p0[c1]], number[p2[c1]], number[p3[c1]]
			if s.dx != 0 {
				a = cubic(number[p0[c0]], a, number[p0[c2]], number[p0[c3]], s.dx)
				c = cubic(number[p2[c0]], c, number[p2[c2]], number[p2[c3]], s.dx)
				d = cubic(number[p3[c0]], d, number[p3[c2]], number[p3[c3]], s.dx)
			}
			v = cubic(a, v, c, d, s.dy)
		}
		mixed := int(v)
		if uint(mixed) > 255 {
			mixed = ^mixed >> 63
		}
		row[x] = uint8(mixed)
	}
}

// rowBelow returns the plane from the i-th row below the spot on.
func (s *spot) rowBelow(plane []byte, i int, size image.Point) []byte {
	return plane[min(max(int(s.top)+i, 0), size.Y-1)*size.X:]
}

func cubic(a, b, c, d, at float64) float64 {
	p3 := float64(2*(a-b)) + c - d
	p4 := -a + b - c + d
	return wheel.Sum(at, wheel.Sum(at, wheel.Sum(at, p4, p3), -a+c), b)
}
