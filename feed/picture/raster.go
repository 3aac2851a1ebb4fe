package picture

import (
	"image"
	"slices"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/transform"
)

// Worker has the memory of one thread. It is not safe for concurrent use.
type Worker struct {
	decoder   *decode.Decoder
	transform *transform.Worker

	picture raster // the current picture
	free    [][]byte
	sums    []uint32 // sums of columns, for a blur
	spots   []spot   // spots of a row, for a warp
	lanes   lanes    // those of them that a kernel mixes
}

// raster is a picture in memory: a plane per band, rows without gaps.
type raster struct {
	size   image.Point
	planes [][]byte
}

// bands is the number of bands of each mode that a picture can have.
var bands = map[string]int{"L": 1, "RGB": 3}

// newRaster returns a picture with undefined pixels.
func (w *Worker) newRaster(size image.Point, bands int) raster {
	out := raster{size, make([][]byte, bands)}
	for c := range out.planes {
		out.planes[c] = w.takePlane(size.X * size.Y)
	}
	return out
}

// replace makes r the current picture. Planes that are no longer used are freed.
func (w *Worker) replace(r raster) {
	for _, plane := range w.picture.planes {
		if !r.hasPlane(plane) {
			w.givePlane(plane)
		}
	}
	w.picture = r
}

func (r *raster) hasPlane(plane []byte) bool {
	for _, p := range r.planes {
		if &p[0] == &plane[0] {
			return true
		}
	}
	return false
}

// mostFree is how many planes are kept for reuse: two pictures of three, and some for
// intermediate results.
const mostFree = 12

// takePlane returns n bytes of memory, from the smallest free plane that has them.
func (w *Worker) takePlane(n int) []byte {
	best := -1
	for i, plane := range w.free {
		if cap(plane) >= n && (best < 0 || cap(plane) < cap(w.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, n)
	}
	plane := w.free[best][:n]
	w.free = slices.Delete(w.free, best, best+1)
	return plane
}

// givePlane frees a plane. If there are too many, the smallest one is dropped.
func (w *Worker) givePlane(plane []byte) {
	w.free = append(w.free, plane)
	if len(w.free) > mostFree {
		least := 0
		for i, plane := range w.free {
			if cap(plane) < cap(w.free[least]) {
				least = i
			}
		}
		w.free = slices.Delete(w.free, least, least+1)
	}
}

// asPicture returns the picture as a planes.Picture.
func (r *raster) asPicture() *planes.Picture {
	p := &planes.Picture{Size: r.size, Bounds: image.Rectangle{Max: r.size}, Model: planes.Grey, SubX: 1, SubY: 1}
	if len(r.planes) == 3 {
		p.Model = planes.RGB
	}
	for c, plane := range r.planes {
		p.Planes[c], p.Stride[c] = plane, r.size.X
	}
	return p
}

// together interleaves the bands.
func together(pixels []byte, planes [][]byte) {
	if len(planes) == 1 {
		copy(pixels, planes[0])
		return
	}
	r, g, b := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
	for i := transform.Interleave(pixels, r, g, b); i < len(r); i++ {
		p := pixels[3*i:][:3]
		p[0], p[1], p[2] = r[i], g[i], b[i]
	}
}
