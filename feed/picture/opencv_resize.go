package picture

import (
	"image"
	"math"
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
	case kind == cvLinear && !(blocks && math.RoundToEven(x) == 2 && math.RoundToEven(y) == 2):
		return resizeLinear(from, to)
	case kind != cvLinear && kind != cvArea || x < 1 || y < 1: // with area, enlarging is another kind of linear
		return nil
	case blocks:
		return averageBlocks(from.X, to, int(math.RoundToEven(x)), int(math.RoundToEven(y)))
	}
	return averageAreas(from.X, to, coverageOf(from.X, to.X), coverageOf(from.Y, to.Y))
}

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

// resizeLinear interpolates across to 19 bits, then down, of which OpenCV drops some.
func resizeLinear(from, to image.Point) planeResize {
	columns, rows := betweenOf(from.X, to.X, true), betweenOf(from.Y, to.Y, false)
	return func(w *Worker, out, in []byte) {
		lines := w.takeLines(to.X)
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
			blendAcross(lines[slot], in[row*from.X:][:from.X], columns)
			return slot
		}
		for y, r := range rows {
			first := across(r.first, r.second)
			second := across(r.second, r.first)
			blendDown(out[y*to.X:][:to.X], lines[first], lines[second], r.weight, r.weight2)
		}
	}
}

// takeLines are two lines of a plane between two interpolations.
func (w *Worker) takeLines(n int) [2][]int32 {
	if len(w.lines) < 2*n {
		w.lines = make([]int32, 2*n)
	}
	return [2][]int32{w.lines[:n], w.lines[n : 2*n]}
}

// blendAcross drops the 4 bits that blendDown does not use.
func blendAcross(out []int32, in []byte, columns []between) {
	for x := range columns {
		c := &columns[x]
		out[x] = (int32(in[c.first])*c.weight + int32(in[c.second])*c.weight2) >> 4
	}
}

func blendDown(out []byte, first, second []int32, weight, weight2 int32) {
	first, second = first[:len(out)], second[:len(out)]
	for x := range out {
		out[x] = uint8(((weight*first[x])>>16 + (weight2*second[x])>>16 + 2) >> 2)
	}
}

// averageBlocks is for whole numbers of pixels across and down.
func averageBlocks(stride int, to image.Point, across, down int) planeResize {
	scale := 1 / float32(across*down)
	return func(_ *Worker, out, in []byte) {
		for y := range to.Y {
			for x := range to.X {
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

// averageAreas sums in single precision, each product rounded by itself.
func averageAreas(stride int, to image.Point, columns, rows []covered) planeResize {
	return func(w *Worker, out, in []byte) {
		line, sum := w.takeSums(to.X)
		before := -1
		for _, r := range rows {
			averageLine(line, in[r.from*stride:][:stride], columns)
			if r.to != before {
				roundSums(out, sum, before, to.X)
				before = r.to
				for x, v := range line {
					sum[x] = float32(v * r.share)
				}
				continue
			}
			for x, v := range line {
				sum[x] += float32(v * r.share)
			}
		}
		roundSums(out, sum, before, to.X)
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

func (w *Worker) takeSums(n int) (line, sum []float32) {
	if len(w.shares) < 2*n {
		w.shares = make([]float32, 2*n)
	}
	return w.shares[:n], w.shares[n : 2*n]
}

// roundSums writes a row, of which there is none before the first.
func roundSums(out []byte, sum []float32, row, width int) {
	if row < 0 {
		return
	}
	to := out[row*width:][:width]
	for x, v := range sum {
		to[x] = uint8(int32(float32(min(v, 255)) + intoEven)) // which is not below 0
	}
}
