package picture

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// planeResize makes a plane of another size.
type planeResize func(w *Worker, out, in []byte)

// newResize is a resize as OpenCV does it; nil where it is not done here.
func newResize(from, to image.Point, kind int) planeResize {
	x, y := scaleOf(from.X, to.X), scaleOf(from.Y, to.Y)
	blocks := isWhole(x) && isWhole(y) // of pixels, each of which becomes one
	switch {
	case kind == cvNearest:
		return resizeNearest(from, to)
	case kind != cvLinear && kind != cvArea || x < 1 || y < 1: // with area, enlarging is another kind of linear
		return nil
	case blocks:
		return averageBlocks(from.X, to, int(math.RoundToEven(x)), int(math.RoundToEven(y)))
	}
	return averageAreas(from.X, to, coverageOf(from.X, to.X), coverageOf(from.Y, to.Y))
}

// halves says whether each pixel is the average of four: OpenCV's linear is its area then.
func halves(from, to image.Point) bool { return from == to.Mul(2) }

// scaleOf is how many pixels become one, in OpenCV's double precision.
func scaleOf(from, to int) float64 { return 1 / (float64(to) / float64(from)) }

func isWhole(scale float64) bool { return math.Abs(scale-math.RoundToEven(scale)) < 0x1p-52 }

func resizeNearest(from, to image.Point) planeResize {
	columns, rows := nearestOf(from.X, to.X), nearestOf(from.Y, to.Y)
	return func(_ *Worker, out, in []byte) {
		for y, row := range rows {
			source, target := in[row*from.X:][:from.X], out[y*to.X:][:to.X]
			for x, column := range columns {
				target[x] = source[column]
			}
		}
	}
}

func nearestOf(from, to int) []int {
	scale, out := scaleOf(from, to), make([]int, to)
	for i := range out {
		out[i] = min(int(math.Floor(float64(i)*scale)), from-1)
	}
	return out
}

// between is a place between two neighbours, with weights of 11 bits.
type between struct {
	first, second   int
	weight, weight2 int32
}

const linearOne = 1 << 11

// betweenOf says where each pixel of a line lies. Across, one beyond the ends is that at
// the end. Down, both neighbours are, and the weights stay.
func betweenOf(from, to int, across bool) []between {
	scale, out := scaleOf(from, to), make([]between, to)
	for i := range out {
		at := float32(float64((float64(i)+0.5)*scale) - 0.5)
		floor := math.Floor(float64(at))
		first, part := int(floor), at-float32(floor)
		if across && (first < 0 || first >= from-1) {
			first, part = max(min(first, from-1), 0), 0
		}
		out[i] = between{
			min(max(first, 0), from-1), min(max(first+1, 0), from-1), weightOf(1 - part), weightOf(part),
		}
	}
	return out
}

func weightOf(part float32) int32 { return int32(math.RoundToEven(float64(part * linearOne))) }

// linearResize interpolates across to 15 bits, then down. A crop behind it leaves the columns and rows that it keeps.
type linearResize struct {
	columns, rows []between
	width         int          // of the picture in hand
	table         *acrossTable // of the columns; nil: plain Go does it
	before        *segment     // that leaves the picture in hand; nil: another step does
}

func newLinearResize(from, to image.Point, before *segment) *linearResize {
	r := &linearResize{
		columns: betweenOf(from.X, to.X, true), rows: betweenOf(from.Y, to.Y, false), width: from.X, before: before,
	}
	r.table = newAcrossTable(r.columns, r.width)
	return r
}

func (r *linearResize) size() image.Point { return image.Point{len(r.columns), len(r.rows)} }

// keepPart has a part of the picture made. Of the one in hand, what it does not need is not even decoded.
func (r *linearResize) keepPart(part image.Rectangle) {
	r.columns, r.rows = r.columns[part.Min.X:part.Max.X], r.rows[part.Min.Y:part.Max.Y]
	if r.before != nil {
		need := image.Rect(
			r.columns[0].first, r.rows[0].first, r.columns[len(r.columns)-1].second+1, r.rows[len(r.rows)-1].second+1,
		)
		r.before.keepPart(need, [3]uint8{}, [3]uint8{}) // it lies within
		r.columns, r.rows, r.width = moved(r.columns, need.Min.X), moved(r.rows, need.Min.Y), need.Dx()
	}
	r.table = newAcrossTable(r.columns, r.width)
}

// moved are places of a line that begins later.
func moved(places []between, by int) []between {
	out := make([]between, len(places))
	for i, p := range places {
		p.first, p.second = p.first-by, p.second-by
		out[i] = p
	}
	return out
}

func (r *linearResize) draw(w *Worker, out, in []byte) {
	width := len(r.columns)
	lines := w.takeLines(width)
	held := [2]int{-1, -1}
	across := func(row int, keep int) (slot int) {
		if held[0] == row {
			return 0
		}
		if held[1] == row {
			return 1
		}
		slot = 0
		if held[0] == keep {
			slot = 1
		}
		held[slot] = row
		r.blendAcross(lines[slot], in[row*r.width:][:r.width])
		return slot
	}
	for y, row := range r.rows {
		first := across(row.first, row.second)
		second := across(row.second, row.first)
		blendDown(out[y*width:][:width], lines[first], lines[second], row.weight, row.weight2)
	}
}

// takeLines are two lines of a plane between two interpolations, with whole groups of the kernel's.
func (w *Worker) takeLines(n int) [2][]int16 {
	n = (n + acrossGroup - 1) / acrossGroup * acrossGroup
	w.lines = planes.MakeRoom(w.lines, 2*n)
	return [2][]int16{w.lines[:n], w.lines[n:]}
}

// blendAcross drops the 4 bits that blendDown does not use.
func (r *linearResize) blendAcross(out []int16, in []byte) {
	if r.table != nil {
		blendAcrossSIMD(out, in, r.table)
		return
	}
	for x := range r.columns {
		c := &r.columns[x]
		out[x] = int16((int32(in[c.first])*c.weight + int32(in[c.second])*c.weight2) >> 4)
	}
}

func blendDown(out []byte, first, second []int16, weight, weight2 int32) {
	done := 0
	if canInterpolate {
		done = blendDownSIMD(out, first, second, weight, weight2)
	}
	first, second = first[:len(out)], second[:len(out)]
	for x := done; x < len(out); x++ {
		out[x] = uint8(((weight*int32(first[x]))>>16 + (weight2*int32(second[x]))>>16 + 2) >> 2)
	}
}

// averageBlocks is for whole numbers of pixels across and down.
func averageBlocks(stride int, to image.Point, across, down int) planeResize {
	scale := 1 / float32(across*down)
	return func(_ *Worker, out, in []byte) {
		for y := range to.Y {
			done := 0
			if across == 2 && down == 2 && canInterpolate {
				done = halveSIMD(out[y*to.X:][:to.X], in[2*y*stride:][:stride], in[(2*y+1)*stride:][:stride])
			}
			for x := done; x < to.X; x++ {
				sum := uint32(0)
				for row := y * down; row < (y+1)*down; row++ {
					for _, v := range in[row*stride+x*across:][:across] {
						sum += uint32(v)
					}
				}
				if across == 2 && down == 2 {
					out[y*to.X+x] = uint8((sum + 2) >> 2)
				} else {
					out[y*to.X+x] = uint8(math.RoundToEven(float64(float32(sum) * scale)))
				}
			}
		}
	}
}

// covered is a pixel, and what share of another one it is.
type covered struct {
	to, from int
	share    float32
}

// coverageOf are those of a line, one after the other.
func coverageOf(from, to int) (out []covered) {
	const least = 1e-3
	scale := scaleOf(from, to)
	for i := range to {
		begin := float64(float64(i) * scale)
		end := begin + scale
		size := min(scale, float64(from)-begin)
		last := min(int(math.Floor(end)), from-1)
		first := min(int(math.Ceil(begin)), last)
		if before := float64(first) - begin; before > least {
			out = append(out, covered{i, first - 1, float32(before / size)})
		}
		for at := first; at < last; at++ {
			out = append(out, covered{i, at, float32(1 / size)})
		}
		if behind := end - float64(last); behind > least {
			out = append(out, covered{i, last, float32(min(min(behind, 1), size) / size)})
		}
	}
	return out
}

// byteNumbers are the bytes in single precision.
var byteNumbers = func() (numbers [256]float32) {
	for i := range numbers {
		numbers[i] = float32(i)
	}
	return numbers
}()

// areaAverage sums in single precision, each product rounded by itself.
type areaAverage struct {
	stride        int
	to            image.Point
	columns, rows []covered
	table         *areaTable // of the columns; nil: plain Go does it
}

func averageAreas(stride int, to image.Point, columns, rows []covered) planeResize {
	a := &areaAverage{stride, to, columns, rows, newAreaTable(columns, stride, to.X)}
	return a.draw
}

func (a *areaAverage) draw(w *Worker, out, in []byte) {
	line, sum := w.takeSums(a.to.X)
	before := -1
	for _, r := range a.rows {
		first := r.to != before
		if first {
			roundSums(out, sum, before, a.to.X)
			before = r.to
		}
		a.addRow(sum, line, in[r.from*a.stride:][:a.stride], r.share, first)
	}
	roundSums(out, sum, before, a.to.X)
}

// addRow adds a row's share to the sums, which it begins where it is the first.
func (a *areaAverage) addRow(sum, line []float32, row []byte, share float32, first bool) {
	if a.table != nil {
		averageAcrossSIMD(sum, row, a.table, share, first)
		return
	}
	averageLine(line, row, a.columns)
	if first {
		clear(sum)
	}
	for x, v := range line[:a.to.X] {
		sum[x] += float32(v * share)
	}
}

func averageLine(line []float32, source []byte, columns []covered) {
	at, v := 0, float32(0)
	for i := range columns {
		c := &columns[i]
		if c.to != at {
			line[at] = v
			at, v = c.to, 0
		}
		v += float32(byteNumbers[source[c.from]] * c.share)
	}
	line[at] = v
}

// takeSums are those of a row, with whole groups of the kernel's.
func (w *Worker) takeSums(n int) (line, sum []float32) {
	n = (n + areaGroup - 1) / areaGroup * areaGroup
	w.shares = planes.MakeRoom(w.shares, 2*n)
	return w.shares[:n], w.shares[n:]
}

// roundSums writes a row, of which there is none before the first. Sums are not below 0.
func roundSums(out []byte, sum []float32, row, width int) {
	if row < 0 {
		return
	}
	to, done := out[row*width:][:width], 0
	if canInterpolate {
		done = roundSumsSIMD(to, sum)
	}
	for x := done; x < width; x++ {
		to[x] = uint8(int32(float32(min(sum[x], 255)) + intoEven))
	}
}
