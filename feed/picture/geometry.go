package picture

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/transform"
)

func (c *compiler) newSegment() *segment {
	return &segment{bands[c.mode], c.size, transform.NewGeometry(c.size, c.pillow), true}
}

// with changes the geometry.
func (s *segment) with(do func(*transform.Geometry)) {
	s.idle = false
	do(s.geometry)
}

// keepPart crops to r. Pixels beyond the picture get the fill.
func (s *segment) keepPart(r image.Rectangle, fill [3]uint8) {
	if r == (image.Rectangle{Max: s.size}) {
		return
	}
	s.idle = false
	s.geometry.Crop(r, fill)
	s.size = r.Size()
}

func (s *segment) checkSizes() error { return s.geometry.Validate() }

// openSegment returns the segment for the next crop, flip or resize.
func (c *compiler) openSegment() *segment {
	if c.open == nil {
		s := c.newSegment()
		c.addStep(func(w *Worker) error { return w.drawSegment(s, nil) })
		c.open = s
	}
	return c.open
}

// drawSegment applies a segment to a decoded picture, or to the current one if picture is nil.
func (w *Worker) drawSegment(s *segment, picture *planes.Picture) error {
	if picture == nil && s.idle {
		return nil
	}
	out := w.newRaster(s.size, s.bands)
	if picture == nil {
		picture = w.picture.asPicture()
	}
	if err := w.transform.Draw(s.geometry, picture, out.planes); err != nil {
		return err
	}
	w.replace(out)
	return nil
}

// compileCrop crops to r. Pixels beyond the picture get the fill.
func (c *compiler) compileCrop(r image.Rectangle, fill [3]uint8) {
	c.openSegment().keepPart(r, fill)
	c.size = r.Size()
}

func compileCrop(c *compiler, a *arguments) {
	r := image.Rectangle{
		image.Point{a.readWholeNumber(0, -longestSide, longestSide), a.readWholeNumber(1, -longestSide, longestSide)},
		image.Point{a.readWholeNumber(2, -longestSide, longestSide), a.readWholeNumber(3, -longestSide, longestSide)},
	}
	c.cropTo(r, [3]uint8{}, a)
}

// cropTo crops to r if that leaves a picture of a valid size.
func (c *compiler) cropTo(r image.Rectangle, fill [3]uint8, a *arguments) {
	if r.Dx() < 1 || r.Dy() < 1 || r.Dx()*r.Dy() > mostPixels {
		a.refuse("a picture of %d x %d pixels", r.Dx(), r.Dy())
	}
	if a.err == nil {
		c.compileCrop(r, fill)
	}
}

func compileExpand(c *compiler, a *arguments) {
	left, top := a.readWholeNumber(0, -longestSide, longestSide), a.readWholeNumber(1, -longestSide, longestSide)
	right, bottom := a.readWholeNumber(2, -longestSide, longestSide), a.readWholeNumber(3, -longestSide, longestSide)
	c.cropTo(image.Rect(-left, -top, c.size.X+right, c.size.Y+bottom), a.fillColour(4, c.mode), a)
}

// The methods of Image.transpose.
const (
	flipLeftRight = iota
	flipTopBottom
	rotate90
	rotate180
	rotate270
	transpose
	transverse
)

func compileTranspose(c *compiler, a *arguments) {
	method := a.readWholeNumber(0, flipLeftRight, transverse)
	switch method {
	case flipLeftRight:
		c.openSegment().with((*transform.Geometry).FlipX)
		return
	case flipTopBottom:
		c.openSegment().with((*transform.Geometry).FlipY)
		return
	case rotate180:
		c.openSegment().with((*transform.Geometry).FlipX)
		c.openSegment().with((*transform.Geometry).FlipY)
		return
	}
	c.size.X, c.size.Y = c.size.Y, c.size.X
	c.addStep(func(w *Worker) error {
		in := w.picture
		out := w.newRaster(image.Point{in.size.Y, in.size.X}, len(in.planes))
		for i := range in.planes {
			transposeImage(out.planes[i], in.planes[i], in.size, method == rotate90 || method == transverse,
				method == rotate270 || method == transverse)
		}
		w.replace(out)
		return nil
	})
}

// transposeImage exchanges columns and rows: each column of in becomes a row of out. up begins
// with the last column, left with the last row.
func transposeImage(out, in []byte, size image.Point, up, left bool) {
	if canEnhance && min(size.X, size.Y) >= 8 {
		transposeSIMD(out, in, size, up, left)
		return
	}
	const tile = 32 // rows of out that fit into the first-level cache
	for from := 0; from < size.X; from += tile {
		to := min(from+tile, size.X)
		for y := range size.Y {
			row, at := in[y*size.X:][:size.X], y
			if left {
				at = size.Y - 1 - y
			}
			for x := from; x < to; x++ {
				line := x
				if up {
					line = size.X - 1 - x
				}
				out[line*size.Y+at] = row[x]
			}
		}
	}
}

func compileResize(c *compiler, a *arguments) {
	size := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
	filter := a.readWholeNumber(2, nearest, 5)
	box := c.boxOf(3, a)
	if size.X*size.Y > mostPixels {
		a.refuse("a picture of %d x %d pixels", size.X, size.Y)
	}
	if a.err == nil && (size != c.size || box != c.wholePicture()) {
		c.resize(size, filter, box, a)
	}
}

func (c *compiler) wholePicture() [4]float64 {
	return [4]float64{2: float64(c.size.X), 3: float64(c.size.Y)}
}

// boxOf returns a part of the picture, by default all of it.
func (c *compiler) boxOf(i int, a *arguments) [4]float64 {
	if !a.hasValue(i) {
		return c.wholePicture()
	}
	box := [4]float64(a.numberList(i, 4))
	b := single(box)
	if b[0] < 0 || b[1] < 0 || b[2] <= b[0] || b[3] <= b[1] || b[2] > float32(c.size.X) || b[3] > float32(c.size.Y) {
		a.refuse("box %v of a picture of %v", box, c.size)
	}
	return box
}

func single(box [4]float64) (b [4]float32) {
	for i, v := range box {
		b[i] = float32(v)
	}
	return b
}

func (c *compiler) resize(size image.Point, filter int, box [4]float64, a *arguments) {
	b := single(box)
	if a.err != nil {
		return
	}
	part := image.Rect(int(b[0]), int(b[1]), int(b[0])+size.X, int(b[1])+size.Y)
	switch {
	case float32(part.Min.X) == b[0] && float32(part.Min.Y) == b[1] && b[2]-b[0] == float32(size.X) &&
		b[3]-b[1] == float32(size.Y):
		c.compileCrop(part, [3]uint8{})
		return
	case filter == nearest:
		c.compileWarp(size, nearest, mapping{
			kind: affine,
			a: [8]float64{
				0: float64(b[2]-b[0]) / float64(size.X), 2: float64(b[0]),
				4: float64(b[3]-b[1]) / float64(size.Y), 5: float64(b[1]),
			},
		}, [3]uint8{})
		return
	}
	s := c.openSegment()
	s.with(func(g *transform.Geometry) {
		if err := g.Resize(size, filter, b); err != nil {
			a.refuse("%v", err)
		}
	})
	c.size, s.size = size, size
}

func compileReduce(c *compiler, a *arguments) {
	x, y := a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)
	part := image.Rectangle{Max: c.size}
	if a.hasValue(2) {
		box := a.numberList(2, 4)
		part = image.Rectangle{image.Point{int(box[0]), int(box[1])}, image.Point{int(box[2]), int(box[3])}}
		if box[0] != math.Trunc(box[0]) || box[1] != math.Trunc(box[1]) || box[2] != math.Trunc(box[2]) ||
			box[3] != math.Trunc(box[3]) {
			a.refuseArgument(2, "a list of whole numbers")
		}
	}
	if part.Dx() < 1 || part.Dy() < 1 || !part.In(image.Rectangle{Max: c.size}) {
		a.refuse("box %v of a picture of %v", part, c.size)
	}
	switch {
	case a.err != nil:
	case x == 1 && y == 1:
		c.compileCrop(part, [3]uint8{})
	default:
		c.reduce(x, y, part, a)
	}
}

// reduce averages blocks of x * y pixels of a part. Blocks at its right and lower edges may be
// smaller.
func (c *compiler) reduce(x, y int, part image.Rectangle, a *arguments) {
	if x*y > 1<<20 {
		a.refuse("blocks of %d x %d pixels", x, y)
		return
	}
	c.size = image.Point{(part.Dx()-1)/x + 1, (part.Dy()-1)/y + 1}
	size := c.size
	c.addStep(func(w *Worker) error {
		out := w.newRaster(size, len(w.picture.planes))
		for i, in := range w.picture.planes {
			reducePlane(out.planes[i], size, in, w.picture.size.X, x, y, part)
		}
		w.replace(out)
		return nil
	})
}

func reducePlane(out []byte, size image.Point, in []byte, stride, x, y int, part image.Rectangle) {
	for oy := range size.Y {
		top := part.Min.Y + oy*y
		bottom := min(top+y, part.Max.Y)
		for ox := range size.X {
			left := part.Min.X + ox*x
			right := min(left+x, part.Max.X)
			area := uint32((right - left) * (bottom - top))
			sum := area / 2
			for row := top; row < bottom; row++ {
				for _, v := range in[row*stride:][left:right] {
					sum += uint32(v)
				}
			}
			out[oy*size.X+ox] = uint8(sum * divisor(area) >> 24)
		}
	}
}

// divisor returns the number by which Pillow multiplies instead of dividing: 2**24 / area in
// single precision, rounded down.
func divisor(area uint32) uint32 {
	return uint32(float32(1<<32) / float32(256*area))
}

func compilePad(c *compiler, a *arguments) {
	kind := a.oneOfTexts(0, "edge", "reflect", "symmetric")
	left, top := a.readWholeNumber(1, 0, longestSide), a.readWholeNumber(2, 0, longestSide)
	right, bottom := a.readWholeNumber(3, 0, longestSide), a.readWholeNumber(4, 0, longestSide)
	size := image.Point{c.size.X + left + right, c.size.Y + top + bottom}
	if size.X*size.Y > mostPixels {
		a.refuse("a picture of %v", size)
	}
	if a.err != nil {
		return
	}
	columns, rows := padIndices(kind, c.size.X, left, right), padIndices(kind, c.size.Y, top, bottom)
	c.size = size
	c.addStep(func(w *Worker) error {
		in := w.picture
		out := w.newRaster(size, len(in.planes))
		for i, plane := range in.planes {
			padPlane(out.planes[i], plane, in.size, image.Point{left, top}, columns, rows)
		}
		w.replace(out)
		return nil
	})
}

// padPlane pads the rows of the picture, and copies them to where they are repeated.
func padPlane(out, in []byte, size, at image.Point, columns, rows []int) {
	right := at.X + size.X
	line := func(y int) []byte { return out[y*len(columns):][:len(columns)] }
	for y := range size.Y {
		row, to := in[y*size.X:][:size.X], line(at.Y+y)
		copy(to[at.X:], row)
		for x, from := range columns[:at.X] {
			to[x] = row[from]
		}
		for x, from := range columns[right:] {
			to[right+x] = row[from]
		}
	}
	for y, from := range rows {
		if y < at.Y || y >= at.Y+size.Y {
			copy(line(y), line(at.Y+from))
		}
	}
}

// padIndices returns the source of each pixel of a padded line, as in numpy.pad.
func padIndices(kind string, n, before, behind int) []int {
	out := make([]int, before+n+behind)
	for i := range out {
		at := i - before
		switch {
		case kind == "edge" || n == 1:
			at = min(max(at, 0), n-1)
		case kind == "reflect":
			if at = modulo(at, 2*n-2); at >= n {
				at = 2*n - 2 - at
			}
		default:
			if at = modulo(at, 2*n); at >= n {
				at = 2*n - 1 - at
			}
		}
		out[i] = at
	}
	return out
}

func modulo(a, n int) int { return ((a % n) + n) % n }
