package transform

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// Pillow's resampling weights for 8-bit pixels (src/libImaging/Resample.c): weights of an
// antialiasing filter in floating point, normalised, then rounded to 22 fractional bits. Sums
// of products use feed/wheel, as the last bit decides pixels.

// weightBits is Pillow's PRECISION_BITS: 32 bits minus 8 of a pixel and 2 of headroom for
// filters that overshoot.
const weightBits = 32 - 8 - 2

// filter is an antialiasing filter. It is 0 beyond support.
type filter struct {
	support float64
	at      func(x float64) float64
	short   bool // weights have 16 bits, as in torch
}

// filters maps the names in an Op to filters.
var filters = map[string]*filter{
	"":         {support: 1, at: triangle},
	"bilinear": {support: 1, at: triangle},
	"bicubic":  {support: 2, at: keysCubic},
}

// Numbers for the filters of torch's resize of bytes, which Pillow does not use.
const (
	TorchBilinear = 6 + iota
	TorchBicubic
)

// resampling lists the filters by their number in PIL.Image.Resampling. Nearest, 0, is missing
// because it needs no weights.
var resampling = [...]*filter{
	1:             {support: 3, at: lanczos},
	2:             filters["bilinear"],
	3:             filters["bicubic"],
	4:             {support: 0.5, at: boxFilter},
	5:             {support: 1, at: hamming},
	TorchBilinear: {support: 1, at: triangle, short: true},
	TorchBicubic:  {support: 2, at: keysCubic, short: true},
}

func boxFilter(x float64) float64 {
	if x > -0.5 && x <= 0.5 {
		return 1
	}
	return 0
}

// hamming uses Pillow's constants, which have 32 bits.
func hamming(x float64) float64 {
	x = math.Abs(x)
	switch {
	case x == 0:
		return 1
	case x >= 1:
		return 0
	}
	x *= math.Pi
	return math.Sin(x) / x * wheel.Sum(math.Cos(x), float64(float32(0.46)), float64(float32(0.54)))
}

func lanczos(x float64) float64 {
	if -3 <= x && x < 3 {
		return sinc(x) * sinc(x/3)
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

func triangle(x float64) float64 {
	return max(0, 1-math.Abs(x))
}

// keysCubic is Keys' filter with a = -0.5.
func keysCubic(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		y := wheel.Sum(a+2, x, -(a + 3))
		return wheel.Sum(float64(y*x), x, 1)
	case x < 2:
		y := wheel.Sum(x-5, x, 8)
		return wheel.Sum(y, x, -4) * a
	}
	return 0
}

// weights describe one direction of a resize. Output i is the sum of count[i] inputs from
// first[i] on, with the weights values[i*size:]; zeros follow those. first and first+count rise
// from output to output, or fall if the direction is mirrored.
type weights struct {
	first  []int32
	count  []int32
	size   int // of the longest sum; shorter ones end in zeros
	values []int32
	// negative means that a weight is below 0. Then a sum may leave the range of a byte.
	negative bool
	exact    []float64 // scratch: the exact weights of one output
	stride   int       // of the outputs' rows: bytes per plane
}

// compute sets w to the outputs [from, to) of a resize of length inputs to size outputs. box is
// the part of the inputs that is resized, by default [0, length). It has 32 bits, as in Pillow.
func (w *weights) compute(f *filter, length int, box [2]float32, size, from, to int) {
	scale := float64(box[1]-box[0]) / float64(size)
	stretch := max(scale, 1)
	support := float64(f.support * stretch)
	w.makeRoom(to-from, int(math.Ceil(support))*2+1)
	if f.short {
		w.computeShort(f, length, size, from, to)
		return
	}
	for i := from; i < to; i++ {
		center := wheel.Sum(float64(i)+0.5, scale, float64(box[0]))
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5))
		w.normalise(f, low, high, center, 1/stretch)
		w.append(i-from, low)
	}
	w.trimColumns()
}

func (w *weights) makeRoom(outputs, size int) {
	w.size = size
	w.first = planes.MakeRoom(w.first, outputs)
	w.count = planes.MakeRoom(w.count, outputs)
	w.values = planes.MakeRoom(w.values, outputs*size)
	w.exact = planes.MakeRoom(w.exact, size)
}

// normalise computes the exact weights of the inputs [low, high) of an output.
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

// append rounds the exact weights and stores them for output i.
func (w *weights) append(i, low int) {
	const one = 1 << weightBits
	values := w.values[i*w.size:][:w.size]
	for j, v := range w.exact {
		values[j] = int32(math.Copysign(0.5, v) + float64(v*one))
	}
	clear(values[len(w.exact):])
	w.first[i], w.count[i] = int32(low), int32(len(w.exact))
}

// mostShort is torch's limit: weights must fit into 16 bits.
const mostShort = 1 << 15

// computeShort is compute as torch does it for bytes (UpSampleKernel.cpp). These are Pillow's
// weights, rounded to as many bits as keep the largest one of the whole direction within 16,
// for any requested outputs. They are scaled to weights of 22 bits; the rounding and the
// shift scale alike, so the sums give the same bytes.
func (w *weights) computeShort(f *filter, length, size, from, to int) {
	scale := float64(length) / float64(size)
	stretch := max(scale, 1)
	support, most := float64(f.support*stretch), w.size
	all, largest := make([]float64, 0, (to-from)*most), 0.0
	for i := range size {
		center := float64(scale * (float64(i) + 0.5))
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5), low+most)
		w.exact = w.exact[:most]
		w.normalise(f, low, max(low, high), center, 1/stretch)
		for _, v := range w.exact {
			largest = max(largest, v)
		}
		if from <= i && i < to {
			w.first[i-from], w.count[i-from] = int32(low), int32(len(w.exact))
			all = append(all, w.exact...)
		}
	}
	w.roundShort(all, largest)
	w.trimColumns()
}

// roundShort rounds the exact weights of consecutive outputs.
func (w *weights) roundShort(exact []float64, largest float64) {
	bits := 0
	for bits < weightBits && int(0.5+float64(largest*float64(int(2)<<bits))) < mostShort {
		bits++
	}
	for i, n := range w.count {
		values := w.values[i*w.size:][:w.size]
		clear(values)
		for j, v := range exact[:n] {
			half := 0.5
			if v < 0 {
				half = -0.5
			}
			values[j] = int32(half+float64(v*float64(int(1)<<bits))) << (weightBits - bits)
		}
		exact = exact[n:]
	}
}

// trimColumns drops the columns after the longest sum.
func (w *weights) trimColumns() {
	size := int(slices.Max(w.count))
	for i := range w.first {
		copy(w.values[i*size:][:size], w.values[i*w.size:])
	}
	w.size = size
	w.values = w.values[:len(w.first)*size]
	w.negative = slices.Min(w.values) < 0
}

// inputSpan returns the range [low, high) of inputs that the sums read.
func (w *weights) inputSpan() (low, high int) {
	low, high = math.MaxInt, 0
	for i, first := range w.first {
		low = min(low, int(first))
		high = max(high, int(first+w.count[i]))
	}
	return low, high
}

// mirror reverses the inputs: input x of length becomes length-1-x. Sums of integers do not
// depend on their order, so the result is exactly that of resizing the mirrored image.
func (w *weights) mirror(length int) {
	for i, first := range w.first {
		slices.Reverse(w.values[i*w.size:][:w.count[i]])
		w.first[i] = int32(length) - first - w.count[i]
	}
}

// reverse reverses the outputs.
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

// moveOrigin adds an offset to the positions of the inputs.
func (w *weights) moveOrigin(by int) {
	for i := range w.first {
		w.first[i] += int32(by)
	}
}
