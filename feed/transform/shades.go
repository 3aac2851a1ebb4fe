package transform

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// Narrow says whether a filter of PIL.Image.Resampling has no weight below 0, so that no
// result lies beyond what it is made of, and weighs by sums and products alone.
func Narrow(filter int) bool { return filter == 2 || filter == 4 }

// ResizeShades is Pillow's resize of whole numbers of 32 bits, of which none is beyond 16,
// with a Narrow filter: sums in double precision, rounded after each pass. pillow is as in
// NewGeometry.
func ResizeShades(shades []uint16, from, to image.Point, filter, pillow int) []uint16 {
	f := resampling[filter]
	if fewer := from.Y - to.Y; (pillow == 0 || pillow >= 13) && fewer > 0 && fewer > 2*(from.X-to.X) {
		return shadesAcross(f, shadesDown(f, shades, from.Y, to.Y), from.X, to.X)
	}
	return shadesDown(f, shadesAcross(f, shades, from.X, to.X), from.Y, to.Y)
}

// exactSum is the weights of one result, and the first that they are of.
type exactSum struct {
	first   int
	weights []float64
}

func exactWeights(f *filter, length, size int) []exactSum {
	var w weights
	scale := float64(length) / float64(size)
	stretch := max(scale, 1)
	support := float64(f.support * stretch)
	w.makeRoom(1, int(math.Ceil(support))*2+1)
	sums := make([]exactSum, size)
	for i := range sums {
		center := wheel.Sum(float64(i)+0.5, scale, 0)
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5))
		w.normalise(f, low, high, center, 1/stretch)
		sums[i] = exactSum{low, append([]float64(nil), w.exact...)}
	}
	return sums
}

// shadesAcross makes rows of length shades rows of size.
func shadesAcross(f *filter, in []uint16, length, size int) []uint16 {
	if length == size {
		return in
	}
	sums, out := exactWeights(f, length, size), make([]uint16, 0, len(in)/length*size)
	for ; len(in) > 0; in = in[length:] {
		for _, s := range sums {
			sum := 0.0
			for i, v := range in[s.first:][:len(s.weights)] {
				sum = wheel.Sum(float64(v), s.weights[i], sum)
			}
			out = append(out, rounded(sum))
		}
	}
	return out
}

// shadesDown makes size rows of length rows.
func shadesDown(f *filter, in []uint16, length, size int) []uint16 {
	if length == size {
		return in
	}
	width := len(in) / length
	line, out := make([]float64, width), make([]uint16, 0, width*size)
	for _, s := range exactWeights(f, length, size) {
		clear(line)
		for i, weight := range s.weights {
			for x, v := range in[(s.first+i)*width:][:width] {
				line[x] = wheel.Sum(float64(v), weight, line[x])
			}
		}
		for _, sum := range line {
			out = append(out, rounded(sum))
		}
	}
	return out
}

func rounded(sum float64) uint16 { return uint16(math.Floor(sum + 0.5)) }
