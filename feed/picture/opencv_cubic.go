package picture

import (
	"image"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// leastCubic pixels on each side are what IPP resizes. OpenCV does smaller pictures in another way.
const leastCubic = 4

// cubicPlace is where a pixel of a line comes from. Of the four, those beyond an end are the pixel at that end.
type cubicPlace struct {
	at      [4]int
	weights [4]float32
	within  bool // none lies beyond
	last    bool // of a grey row, among the few within that do not fill a vector of IPP's
}

// cubicPlacesOf has IPP's weights: each is a polynomial in double precision, of a distance in single precision.
func cubicPlacesOf(from, to int) []cubicPlace {
	scale, out := scaleOf(from, to), make([]cubicPlace, to)
	for i := range out {
		at := float64((float64(i)+0.5)*scale) - 0.5
		floor := math.Floor(at)
		part := float32(at - floor)
		before, behind := 1+part, 2-part
		p := &out[i]
		p.weights = [4]float32{weighFar(before), weighNear(before - 1), weighNear(behind - 1), weighFar(behind)}
		first := int(floor) - 1
		p.within = first >= 0 && first+4 <= from
		for j := range p.at {
			p.at[j] = min(max(first+j, 0), from-1)
		}
	}
	return out
}

func weighNear(distance float32) float32 {
	d := float64(distance)
	return float32(float64(float64((float64(1.25*d)-2.25)*d)*d) + 1)
}

func weighFar(distance float32) float32 {
	d := float64(distance)
	return float32(float64((float64((float64(-0.75*d)+3.75)*d)-6)*d) + 3)
}

// cubicResize is OpenCV's cubic resize by IPP, where one instruction multiplies and adds: in single precision, across,
// then down. Pixels that lie near the border are summed in another order than those within. A crop behind it leaves the
// columns and rows that it keeps.
type cubicResize struct {
	columns, rows []cubicPlace
	width         int         // of the picture in hand
	colour        bool        // of three bands
	within        [2]int      // the columns that lie within
	table         *cubicTable // of these; nil: plain Go does it
	before        *segment    // that leaves the picture in hand; nil: another step does
}

func newCubicResize(from, to image.Point, colour bool, before *segment) *cubicResize {
	r := &cubicResize{width: from.X, colour: colour, before: before}
	r.columns, r.rows = cubicPlacesOf(from.X, to.X), cubicPlacesOf(from.Y, to.Y)
	r.findWithin()
	for x := r.within[0] + (r.within[1]-r.within[0])&^3; x < r.within[1]; x++ {
		r.columns[x].last = !colour
	}
	return r
}

func (r *cubicResize) size() image.Point { return image.Point{len(r.columns), len(r.rows)} }

func (r *cubicResize) findWithin() {
	r.within = [2]int{}
	isWithin := func(p cubicPlace) bool { return p.within }
	if first := slices.IndexFunc(r.columns, isWithin); first >= 0 {
		last := first
		for last < len(r.columns) && r.columns[last].within {
			last++
		}
		r.within = [2]int{first, last}
	}
	r.table = newCubicTable(r.columns[r.within[0]:r.within[1]], r.width)
}

// keepPart has a part of the picture made. Of the one in hand, what it does not need is not even decoded.
func (r *cubicResize) keepPart(part image.Rectangle) {
	r.columns, r.rows = r.columns[part.Min.X:part.Max.X], r.rows[part.Min.Y:part.Max.Y]
	if r.before != nil {
		need := image.Rect(
			r.columns[0].at[0], r.rows[0].at[0],
			r.columns[len(r.columns)-1].at[3]+1, r.rows[len(r.rows)-1].at[3]+1,
		)
		r.before.keepPart(need, [3]uint8{}, [3]uint8{}) // it lies within
		moveCubic(r.columns, need.Min.X)
		moveCubic(r.rows, need.Min.Y)
		r.width = need.Dx()
	}
	r.findWithin()
}

// moveCubic has places be of a line that begins later.
func moveCubic(places []cubicPlace, by int) {
	for i := range places {
		for j := range places[i].at {
			places[i].at[j] -= by
		}
	}
}

func (r *cubicResize) draw(w *Worker, out, in []byte) {
	width, first, last := len(r.columns), r.within[0], r.within[1]
	lines := w.takeCubicLines(last - first)
	held := [4]int{-1, -1, -1, -1}
	for y := range r.rows {
		row, line := &r.rows[y], out[y*width:][:width]
		if first == last || !row.within {
			r.drawBorder(line, in, row, 0, width)
			continue
		}
		var four [4][]float32
		for i, at := range row.at {
			slot := at & 3
			if held[slot] != at {
				held[slot] = at
				r.blendAcross(lines[slot], in[at*r.width:][:r.width])
			}
			four[i] = lines[slot]
		}
		r.drawBorder(line, in, row, 0, first)
		blendCubicDown(line[first:last], &four, &row.weights)
		r.drawBorder(line, in, row, last, width)
	}
}

// takeCubicLines are four lines of n numbers, with whole groups of the kernel's.
func (w *Worker) takeCubicLines(n int) (lines [4][]float32) {
	n = (n + cubicGroup - 1) / cubicGroup * cubicGroup
	w.shares = planes.MakeRoom(w.shares, 4*n)
	for i := range lines {
		lines[i] = w.shares[i*n:][:n]
	}
	return lines
}

// blendAcross makes the columns within of a row.
func (r *cubicResize) blendAcross(out []float32, row []byte) {
	columns := r.columns[r.within[0]:r.within[1]]
	done := 0
	if r.table != nil {
		blendCubicAcrossSIMD(out, row, r.table, r.colour)
		for done = len(columns); done > 0 && columns[done-1].last; done-- {
		}
	}
	for x := done; x < len(columns); x++ {
		c := &columns[x]
		four := row[c.at[0]:][:4]
		p0, p1, p2, p3 := float32(four[0]), float32(four[1]), float32(four[2]), float32(four[3])
		w0, w1, w2, w3 := c.weights[0], c.weights[1], c.weights[2], c.weights[3]
		switch {
		case r.colour:
			out[x] = wheel.RoundOnce(p0, w0, float32(p3*w3)) + wheel.RoundOnce(p1, w1, float32(p2*w2))
		case c.last:
			out[x] = (float32(p0*w0) + float32(p2*w2)) + (float32(p1*w1) + float32(p3*w3))
		default:
			out[x] = (float32(p0*w0) + float32(p1*w1)) + (float32(p2*w2) + float32(p3*w3))
		}
	}
}

// blendCubicDown makes pixels of four lines.
func blendCubicDown(out []byte, lines *[4][]float32, weights *[4]float32) {
	done := 0
	if canFilter {
		done = blendCubicDownSIMD(out, lines, weights)
	}
	for x := done; x < len(out); x++ {
		upper := wheel.RoundOnce(lines[0][x], weights[0], float32(lines[1][x]*weights[1]))
		lower := wheel.RoundOnce(lines[2][x], weights[2], float32(lines[3][x]*weights[3]))
		out[x] = roundToByte(upper + lower)
	}
}

// roundToByte rounds into even.
func roundToByte(v float32) uint8 { return uint8(int32(min(max(v, 0), 255) + intoEven)) }

// drawBorder makes some columns of a row as near the border.
func (r *cubicResize) drawBorder(out, in []byte, row *cubicPlace, begin, end int) {
	if begin == end {
		return
	}
	var lines [4][]byte
	for i, at := range row.at {
		lines[i] = in[at*r.width:][:r.width]
	}
	w := &row.weights
	for x := begin; x < end; x++ {
		c := &r.columns[x]
		near := 0.0
		for i := range lines {
			near += float64(c.sumNear(lines[i]) * float64(w[i]))
		}
		if part := near - math.Floor(near); math.Abs(part-0.5) > cubicDoubt {
			out[x] = uint8(min(max(near, 0), 255) + 0.5)
			continue
		}
		v := [4]float32{
			c.sumBorder(lines[0], 0), c.sumBorder(lines[1], 1),
			c.sumBorder(lines[2], 1), c.sumBorder(lines[3], 0),
		}
		out[x] = roundToByte((float32(v[0]*w[0]) + float32(v[2]*w[2])) + (float32(v[1]*w[1]) + float32(v[3]*w[3])))
	}
}

// cubicDoubt is more than single precision adds to a sum of sixteen: so near the middle between two bytes each step is
// rounded as it is there.
const cubicDoubt = 0x1p-10

// sumNear is the sum without roundings.
func (p *cubicPlace) sumNear(line []byte) float64 {
	sum := float64(float64(line[p.at[0]])*float64(p.weights[0])) + float64(float64(line[p.at[1]])*float64(p.weights[1]))
	sum += float64(float64(line[p.at[2]]) * float64(p.weights[2]))
	return sum + float64(float64(line[p.at[3]])*float64(p.weights[3]))
}

// sumBorder begins with the first or the second pixel of a line: with the first in the outer two of four lines.
func (p *cubicPlace) sumBorder(line []byte, begin int) float32 {
	next := 1 - begin
	sum := float32(float32(line[p.at[begin]]) * p.weights[begin])
	sum = wheel.RoundOnce(float32(line[p.at[next]]), p.weights[next], sum)
	sum = wheel.RoundOnce(float32(line[p.at[2]]), p.weights[2], sum)
	return wheel.RoundOnce(float32(line[p.at[3]]), p.weights[3], sum)
}
