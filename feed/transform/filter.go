package transform

import (
	"math"
	"slices"
)

// Pillow's resampling weights for 8-bit pixels (src/libImaging/Resample.c):
// floating-point weights of an antialiasing filter, normalised, then rounded to 22
// fractional bits. The products below are written float64(x * y) so that no
// compiler fuses them with an addition: the last bit decides about pixels.

// weightBits is Pillow's PRECISION_BITS: 32 bits less 8 of a pixel and 2 of
// headroom for filters that overshoot.
const weightBits = 32 - 8 - 2

// filter is an antialiasing filter: it is 0 beyond support.
type filter struct {
	support float64
	at      func(x float64) float64
}

// filters by the names that an Op gives them.
var filters = map[string]*filter{
	"":         {1, triangle},
	"bilinear": {1, triangle},
	"bicubic":  {2, cubic},
}

func triangle(x float64) float64 {
	return max(0, 1-math.Abs(x))
}

// cubic is Keys' filter with a = -0.5.
func cubic(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		y := float64((a+2)*x) - (a + 3)
		return float64(float64(y*x)*x) + 1
	case x < 2:
		y := float64((x-5)*x) + 8
		return (float64(y*x) - 4) * a
	}
	return 0
}

// weights are what one direction of a resize does: output i is the sum of count[i]
// inputs from first[i] on, with the weights values[i*size:]; behind those are zeros.
// first and first+count rise from output to output, or fall where it is mirrored.
type weights struct {
	first  []int32
	count  []int32
	size   int // of the longest sum; the shorter ones end in zeros
	values []int32
	// negative says that a weight is below 0: such sums may leave a byte's range.
	negative bool
	exact    []float64 // scratch: the weights of one output
	stride   int       // bytes of a plane of a row of outputs
}

// compute sets w to the outputs [from, to) of a resize of length inputs to size
// outputs; box is the part of the inputs that is resized, [0, length) but for
// planes of a lower resolution.
func (w *weights) compute(f *filter, length int, box [2]float64, size, from, to int) {
	scale := (box[1] - box[0]) / float64(size)
	stretch := max(scale, 1)
	support := f.support * stretch
	w.begin(to-from, int(math.Ceil(support))*2+1)
	for i := from; i < to; i++ {
		center := box[0] + float64((float64(i)+0.5)*scale)
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5))
		w.normalise(f, low, high, center, 1/stretch)
		w.append(i-from, low)
	}
	w.trim()
}

func (w *weights) begin(outputs, size int) {
	w.size = size
	w.first = grown(w.first, outputs)
	w.count = grown(w.count, outputs)
	w.values = grown(w.values, outputs*size)
	w.exact = grown(w.exact, size)
}

// normalise leaves the exact weights of the inputs [low, high) of an output.
func (w *weights) normalise(f *filter, low, high int, center, shrink float64) {
	w.exact = w.exact[:high-low]
	sum := 0.0
	for j := range w.exact {
		v := f.at((float64(low+j) - center + 0.5) * shrink)
		w.exact[j] = v
		sum += v
	}
	if sum == 0 {
		return
	}
	for j := range w.exact {
		w.exact[j] /= sum
	}
}

// append rounds the exact weights to those of output i.
func (w *weights) append(i, low int) {
	const one = 1 << weightBits
	values := w.values[i*w.size:][:w.size]
	for j, v := range w.exact {
		values[j] = int32(math.Copysign(0.5, v) + float64(v*one))
	}
	clear(values[len(w.exact):])
	w.first[i], w.count[i] = int32(low), int32(len(w.exact))
}

// trim drops the columns behind the longest sum.
func (w *weights) trim() {
	size := int(slices.Max(w.count))
	for i := range w.first {
		copy(w.values[i*size:][:size], w.values[i*w.size:])
	}
	w.size = size
	w.values = w.values[:len(w.first)*size]
	w.negative = slices.Min(w.values) < 0
}

// span is the inputs that the sums read: [low, high).
func (w *weights) span() (low, high int) {
	low, high = math.MaxInt, 0
	for i, first := range w.first {
		low = min(low, int(first))
		high = max(high, int(first+w.count[i]))
	}
	return low, high
}

// mirror turns the inputs round: input x of length becomes length-1-x. Sums of
// whole numbers do not depend on their order, so that the result is to the bit that
// of resizing the mirrored image.
func (w *weights) mirror(length int) {
	for i, first := range w.first {
		slices.Reverse(w.values[i*w.size:][:w.count[i]])
		w.first[i] = int32(length) - first - w.count[i]
	}
}

// reverse turns the outputs round.
func (w *weights) reverse() {
	for a, b := 0, len(w.first)-1; a < b; a, b = a+1, b-1 {
		w.first[a], w.first[b] = w.first[b], w.first[a]
		w.count[a], w.count[b] = w.count[b], w.count[a]
		x, y := w.values[a*w.size:][:w.size], w.values[b*w.size:][:w.size]
		for j := range x {
			x[j], y[j] = y[j], x[j]
		}
	}
}

// move counts the inputs from another origin on.
func (w *weights) move(by int) {
	for i := range w.first {
		w.first[i] += int32(by)
	}
}

// grown is s with length n, in new memory where it is too short. What is in it is
// not kept.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
