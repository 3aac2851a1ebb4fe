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

// cubicPlace is where a pixel of a line comes from: four neighbours, of which some may lie beyond the ends.
type cubicPlace struct {
	first   int
	weights [4]float32
	holds   bool // double precision holds a byte times a weight, and what is summed of such, without rounding
}

// cubicPlacesOf has IPP's weights: each is a polynomial in double precision, of a distance in single precision.
func cubicPlacesOf(from, to int) []cubicPlace {
	scale, out := scaleOf(from, to), make([]cubicPlace, to)
	for i := range out {
		at := float64((float64(i)+0.5)*scale) - 0.5
		floor := math.Floor(at)
		part := float32(at - floor)
		before, behind := 1+part, 2-part
		p := cubicPlace{
			int(floor) - 1,
			[4]float32{weighFar(before), weighNear(before - 1), weighNear(behind - 1), weighFar(behind)},
			true,
		}
		for _, weight := range p.weights {
			p.holds = p.holds && wheel.SumsOfBytes(weight)
		}
		out[i] = p
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

// liesWithin says whether all four are among n.
func (p *cubicPlace) liesWithin(n int) bool { return p.first >= 0 && p.first+4 <= n }

// cubicResize is OpenCV's cubic resize by IPP, where one instruction multiplies and adds: in single precision, across,
// then down. Pixels that lie near the border are summed in another order than those within.
type cubicResize struct {
	from          image.Point
	columns, rows []cubicPlace
	within        [2]int      // the columns that lie within; the last few of a grey picture are summed otherwise
	colour        bool        // of three bands
	table         *cubicTable // of the columns within; nil: plain Go does it
}

func newCubicResize(from, to image.Point, colour bool) *cubicResize {
	r := &cubicResize{from: from, colour: colour}
	r.columns, r.rows = cubicPlacesOf(from.X, to.X), cubicPlacesOf(from.Y, to.Y)
	isWithin := func(p cubicPlace) bool { return p.liesWithin(from.X) }
	if first := slices.IndexFunc(r.columns, isWithin); first >= 0 {
		last := first
		for last < to.X && r.columns[last].liesWithin(from.X) {
			last++
		}
		r.within = [2]int{first, last}
	}
	r.table = newCubicTable(r.columns[r.within[0]:r.within[1]], from.X)
	return r
}

func (r *cubicResize) draw(w *Worker, out, in []byte) {
	width, first, last := len(r.columns), r.within[0], r.within[1]
	lines := w.takeCubicLines(last - first)
	held := [4]int{-1, -1, -1, -1}
	for y := range r.rows {
		row, line := &r.rows[y], out[y*width:][:width]
		if first == last || !row.liesWithin(r.from.Y) {
			r.drawBorder(line, in, row, 0, width)
			continue
		}
		var four [4][]float32
		for i := range four {
			slot := (row.first + i) & 3
			if held[slot] != row.first+i {
				held[slot] = row.first + i
				r.blendAcross(lines[slot], in[held[slot]*r.from.X:][:r.from.X])
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
		done = len(columns)
	}
	if !r.colour {
		done = min(done, len(columns)&^3)
	}
	for x := done; x < len(columns); x++ {
		c := &columns[x]
		four := row[c.first:][:4]
		p0, p1, p2, p3 := float32(four[0]), float32(four[1]), float32(four[2]), float32(four[3])
		w0, w1, w2, w3 := c.weights[0], c.weights[1], c.weights[2], c.weights[3]
		switch {
		case r.colour:
			out[x] = wheel.RoundOnce(p0, w0, float32(p3*w3)) + wheel.RoundOnce(p1, w1, float32(p2*w2))
		case x < len(columns)&^3:
			out[x] = (float32(p0*w0) + float32(p1*w1)) + (float32(p2*w2) + float32(p3*w3))
		default: // of the last of a row, which do not fill a vector
			out[x] = (float32(p0*w0) + float32(p2*w2)) + (float32(p1*w1) + float32(p3*w3))
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

// drawBorder makes some columns of a row, of which the pixels at the border stand for those beyond.
func (r *cubicResize) drawBorder(out, in []byte, row *cubicPlace, begin, end int) {
	if begin == end {
		return
	}
	var lines [4][]byte
	for i, at := range row.clamped(r.from.Y) {
		lines[i] = in[at*r.from.X:][:r.from.X]
	}
	w := &row.weights
	for x := begin; x < end; x++ {
		c := &r.columns[x]
		at := c.clamped(r.from.X)
		v := [4]float32{
			c.sumBorder(lines[0], &at, 0), c.sumBorder(lines[1], &at, 1),
			c.sumBorder(lines[2], &at, 1), c.sumBorder(lines[3], &at, 0),
		}
		out[x] = roundToByte((float32(v[0]*w[0]) + float32(v[2]*w[2])) + (float32(v[1]*w[1]) + float32(v[3]*w[3])))
	}
}

// clamped are the places of the four among n.
func (p *cubicPlace) clamped(n int) [4]int {
	at := func(i int) int { return min(max(p.first+i, 0), n-1) }
	return [4]int{at(0), at(1), at(2), at(3)}
}

// sumBorder begins with the first or the second pixel of a line: with the first in the outer two of four lines.
func (p *cubicPlace) sumBorder(line []byte, at *[4]int, begin int) float32 {
	next := 1 - begin
	sum := float32(float32(line[at[begin]]) * p.weights[begin])
	if !p.holds {
		sum = wheel.RoundOnce(float32(line[at[next]]), p.weights[next], sum)
		sum = wheel.RoundOnce(float32(line[at[2]]), p.weights[2], sum)
		return wheel.RoundOnce(float32(line[at[3]]), p.weights[3], sum)
	}
	sum = float32(float64(float64(line[at[next]])*float64(p.weights[next])) + float64(sum))
	sum = float32(float64(float64(line[at[2]])*float64(p.weights[2])) + float64(sum))
	return float32(float64(float64(line[at[3]])*float64(p.weights[3])) + float64(sum))
}
