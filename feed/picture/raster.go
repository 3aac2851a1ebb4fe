package picture

import (
	"encoding/binary"
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

	picture raster         // the current picture
	palette *[256][3]uint8 // of the picture, if it has mode "P" and comes from a file
	free    [][]byte
	sums    []uint32 // sums of columns, for a blur
	spots   []spot   // spots of a row, for a warp
	lanes   lanes    // those of them that a kernel mixes
}

// raster is a picture in memory: a plane per band, rows without gaps. The last plane of a mode
// with transparency is its alpha. Pixels of mode "1" are 0 or 255.
type raster struct {
	size   image.Point
	planes [][]byte
}

// bands is the number of bands of each mode that a raster can have.
var bands = map[string]int{"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "HSV": 3, "RGBA": 4}

// sources are the supported modes of files and pixels.
var sources = map[string]bool{
	"1": true, "L": true, "P": true, "LA": true, "RGB": true, "RGBA": true, "CMYK": true,
}

func alpha(mode string) bool { return mode == "LA" || mode == "RGBA" }

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

// mostFree is how many planes are kept for reuse: two pictures of four, and some for
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

// asPicture returns bands of the picture as a planes.Picture: three bands, or one.
func (r *raster) asPicture(bands [][]byte) *planes.Picture {
	p := &planes.Picture{Size: r.size, Bounds: image.Rectangle{Max: r.size}, Model: planes.Grey, SubX: 1, SubY: 1}
	if len(bands) == 3 {
		p.Model = planes.RGB
	}
	for c, plane := range bands {
		p.Planes[c], p.Stride[c] = plane, r.size.X
	}
	return p
}

// partBands splits pixels into a plane per band.
func partBands(bands [][]byte, pixels []byte) {
	if len(bands) == 3 {
		planes.Part(bands[0], bands[1], bands[2], pixels)
		return
	}
	for c, plane := range bands {
		for i := range plane {
			plane[i] = pixels[i*len(bands)+c]
		}
	}
}

// together interleaves the bands.
func together(pixels []byte, planes [][]byte) {
	if len(planes) == 3 {
		r, g, b := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
		for i := transform.Interleave(pixels, r, g, b); i < len(r); i++ {
			p := pixels[3*i:][:3]
			p[0], p[1], p[2] = r[i], g[i], b[i]
		}
		return
	}
	if len(planes) == 2 {
		joinPairs(pixels, planes[0], planes[1])
		return
	}
	for c, plane := range planes {
		for i, v := range plane {
			pixels[i*len(planes)+c] = v
		}
	}
}

// joinPairs interleaves two bands, four pixels at a time.
func joinPairs(pixels, first, second []byte) {
	i := 0
	for ; i+4 <= len(first) && i+4 <= len(second); i += 4 {
		a, b := spread(binary.LittleEndian.Uint32(first[i:])), spread(binary.LittleEndian.Uint32(second[i:]))
		binary.LittleEndian.PutUint64(pixels[2*i:], a|b<<8)
	}
	for ; i < len(first); i++ {
		pixels[2*i], pixels[2*i+1] = first[i], second[i]
	}
}

// spread inserts a zero byte after each of four bytes.
func spread(four uint32) uint64 {
	v := uint64(four)
	v = (v | v<<16) & 0x0000ffff0000ffff
	return (v | v<<8) & 0x00ff00ff00ff00ff
}
