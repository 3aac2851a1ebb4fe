package transform

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// Narrow says whether a filter of PIL.Image.Resampling has no weight below 0, so that no
// result lies beyond what it is made of, and weighs by sums and products alone.
func Narrow(filter int) bool { return filter == 2 || filter == 4 }

// Shades are whole numbers of 16 bits: their lower and their higher bytes.
type Shades [2][]byte

// ShadeResizer holds the scratch memory of one thread; calls must not overlap.
type ShadeResizer struct {
	simd    bool
	scratch weights
	sums    []exactSum
	weights []float64 // of sums
	widest  int       // how many weights the longest sum has
	between Shades    // after the first pass
	row     []float64 // shades that are summed across, or sums
	table   shadeTable
}

// NewShadeResizer returns one that uses the kernels of this processor.
func NewShadeResizer() *ShadeResizer { return &ShadeResizer{simd: hasSIMD} }

// Resize is Pillow's resize of whole numbers of 32 bits, of which none is beyond 16,
// with a Narrow filter: sums in double precision, rounded after each pass. pillow is as in
// NewGeometry.
func (r *ShadeResizer) Resize(out, in Shades, from, to image.Point, filter, pillow int) {
	f, fewer := resampling[filter], from.Y-to.Y
	switch {
	case from.Y == to.Y:
		r.sumAcross(f, out, in, from.X, to.X)
	case from.X == to.X:
		r.sumDown(f, out, in, from.Y, to.Y)
	case (pillow == 0 || pillow >= 13) && fewer > 0 && fewer > 2*(from.X-to.X):
		r.sumDown(f, r.makeBetween(from.X*to.Y), in, from.Y, to.Y)
		r.sumAcross(f, out, r.between, from.X, to.X)
	default:
		r.sumAcross(f, r.makeBetween(to.X*from.Y), in, from.X, to.X)
		r.sumDown(f, out, r.between, from.Y, to.Y)
	}
}

func (r *ShadeResizer) makeBetween(n int) Shades {
	for i := range r.between {
		r.between[i] = planes.MakeRoom(r.between[i], n)
	}
	return r.between
}

// exactSum is the weights of one result, and the first that they are of.
type exactSum struct {
	first   int
	weights []float64
}

func (r *ShadeResizer) setWeights(f *filter, length, size int) {
	scale := float64(length) / float64(size)
	stretch := max(scale, 1)
	support := float64(f.support * stretch)
	most := int(math.Ceil(support))*2 + 1
	r.scratch.makeRoom(1, most)
	r.weights = planes.MakeRoom(r.weights, size*most)
	r.sums, r.widest = planes.MakeRoom(r.sums, size), 1
	for i := range r.sums {
		center := wheel.Sum(float64(i)+0.5, scale, 0)
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5))
		r.scratch.normalise(f, low, high, center, 1/stretch)
		own := r.weights[i*most:][:high-low]
		copy(own, r.scratch.exact)
		r.sums[i] = exactSum{low, own}
		r.widest = max(r.widest, len(own))
	}
}

// sumAcross makes rows of length shades rows of size.
func (r *ShadeResizer) sumAcross(f *filter, out, in Shades, length, size int) {
	r.setWeights(f, length, size)
	rows := len(in[0]) / length
	if r.simd && rows >= stripRows && size >= shadeGroup {
		r.sumStrips(out, in, length, size, rows)
		return
	}
	r.row = planes.MakeRoom(r.row, length)
	for y := range rows {
		high := in[1][y*length:][:length]
		for x, low := range in[0][y*length:][:length] {
			r.row[x] = shade(low, high[x])
		}
		for x, s := range r.sums {
			sum := 0.0
			for i, v := range r.row[s.first:][:len(s.weights)] {
				sum = wheel.Sum(v, s.weights[i], sum)
			}
			out.put(y*size+x, sum)
		}
	}
}

// sumDown makes size rows of length rows.
func (r *ShadeResizer) sumDown(f *filter, out, in Shades, length, size int) {
	r.setWeights(f, length, size)
	width := len(in[0]) / length
	r.row = planes.MakeRoom(r.row, width)
	for y, s := range r.sums {
		if r.simd && width >= shadeLane && len(s.weights) > 0 {
			sumShadesDownSIMD(out.behind(y*width), in.behind(s.first*width), width, s.weights)
			continue
		}
		clear(r.row)
		for i, weight := range s.weights {
			at := (s.first + i) * width
			high := in[1][at:][:width]
			for x, low := range in[0][at:][:width] {
				r.row[x] = wheel.Sum(shade(low, high[x]), weight, r.row[x])
			}
		}
		for x, sum := range r.row {
			out.put(y*width+x, sum)
		}
	}
}

func shade(low, high byte) float64 { return float64(uint16(low) | uint16(high)<<8) }

func (s Shades) behind(n int) Shades { return Shades{s[0][n:], s[1][n:]} }

// put rounds a sum.
func (s Shades) put(at int, sum float64) {
	v := uint16(math.Floor(sum + 0.5))
	s[0][at], s[1][at] = uint8(v), uint8(v>>8)
}

// The kernels make shadeGroup sums across at a time, of stripRows rows, and shadeLane down.
const (
	shadeGroup = 4
	shadeLane  = 8
)

// shadeTable is the sums of a pass in the form of the kernel: for each group where its shades
// begin, in bytes of r.row, and the weights of one after the other. Shorter sums end in zeros,
// which change none: none is below 0. The last group overlaps the one before.
type shadeTable struct {
	origins []int32
	cells   []float64
}

func (t *shadeTable) build(sums []exactSum, widest int) {
	groups := (len(sums) + shadeGroup - 1) / shadeGroup
	t.origins = planes.MakeRoom(t.origins, groups*shadeGroup)
	t.cells = planes.MakeRoom(t.cells, groups*shadeGroup*widest)
	clear(t.cells)
	for i := range t.origins {
		g, j := i/shadeGroup, i%shadeGroup
		s := sums[min(g*shadeGroup, len(sums)-shadeGroup)+j]
		t.origins[i] = int32(8 * stripRows * s.first)
		for k, weight := range s.weights {
			t.cells[(g*widest+k)*shadeGroup+j] = weight
		}
	}
}

// sumStrips takes stripRows rows at a time. The last ones may be some of those before.
func (r *ShadeResizer) sumStrips(out, in Shades, length, size, rows int) {
	r.table.build(r.sums, r.widest)
	r.row = planes.MakeRoom(r.row, stripRows*(length+r.widest)) // weights of 0 may reach behind the last shade
	for y := 0; y < rows; y += stripRows {
		y = min(y, rows-stripRows)
		strip := in.behind(y * length)
		for x := packShadesSIMD(r.row, strip, length); x < length; x++ {
			for i := range stripRows {
				r.row[stripRows*x+i] = shade(strip[0][i*length+x], strip[1][i*length+x])
			}
		}
		sumShadesSIMD(out.behind(y*size), size, r.row, &r.table, r.widest)
	}
}
