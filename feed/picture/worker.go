package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

// NewWorker returns a Worker for any Program.
func NewWorker(limits decode.Limits) *Worker {
	return &Worker{decoder: decode.New(limits), transform: transform.NewWorker()}
}

// UseMarks makes the worker use marks, which others may share.
func (w *Worker) UseMarks(m *decode.Marks) { w.decoder.UseMarks(m) }

// Source is where a picture comes from. One of the fields is set.
type Source struct {
	File   []byte // an image file
	Pixels []byte // rows of pixels with interleaved bands, a byte each; as from Image.tobytes, except for mode "1"
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

// Run writes the result of the program for the source to dst, which has p.Output.Bytes() bytes.
func (w *Worker) Run(p *Program, source Source, dst []byte) error {
	if n := p.Output.Bytes(); len(dst) != n {
		return fmt.Errorf("run program: %d bytes are given for a picture of %d", len(dst), n)
	}
	if err := w.loadSource(p, source); err != nil {
		return err
	}
	if err := w.runSteps(p.steps); err != nil {
		return err
	}
	p.end.writeTensor(dst, &w.picture)
	return nil
}

func (w *Worker) runSteps(steps []step) error {
	for _, s := range steps {
		if err := s(w); err != nil {
			return err
		}
	}
	return nil
}

// loadSource makes the source the current picture, after the first crops and resizes of the
// program.
func (w *Worker) loadSource(p *Program, source Source) error {
	if (source.File == nil) == (source.Pixels == nil) {
		return errors.New("run program: a file or pixels are expected as the source")
	}
	picture, err := w.openSource(p, source)
	if err != nil {
		return err
	}
	return w.drawSegment(p.first, picture)
}

func (w *Worker) openSource(p *Program, source Source) (*planes.Picture, error) {
	if source.File == nil {
		return nil, w.splitBands(p, source.Pixels)
	}
	info, err := w.decoder.ReadHeader(source.File)
	if err != nil {
		return nil, err
	}
	if size := (image.Point{info.Width, info.Height}); size != p.size {
		return nil, fmt.Errorf("run program: it is for a picture of %v, the file has one of %v", p.size, size)
	}
	if info.Mode != p.mode && (info.Mode != "" || !p.turned) {
		return nil, &RefusalError{-1, fmt.Sprintf("a file of mode %q that is said to have mode %q", info.Mode, p.mode)}
	}
	if p.veils && info.Format == "png" && bytes.Contains(source.File, []byte("tRNS")) {
		return nil, &RefusalError{-1, "a colour of a PNG that becomes transparent"}
	}
	need := p.first.colour.SourceArea()
	if p.readsWhole() {
		need = image.Rectangle{Max: p.size}
	}
	picture, err := w.decoder.Decode(need)
	if err != nil {
		return nil, err
	}
	if why := w.decoder.ImageInfo().Inexact; why != "" {
		return nil, &RefusalError{-1, why}
	}
	if p.readsWhole() {
		return nil, w.keepDecoded(p.mode, picture)
	}
	if grey := picture.Model == planes.Grey; !p.turned && grey != (p.mode == "L") {
		return nil, &RefusalError{-1, fmt.Sprintf("a file of mode %q that was decoded as another", p.mode)}
	}
	return picture, nil
}

// keepDecoded makes a decoded file the current picture if its mode does not fit into a
// planes.Picture.
func (w *Worker) keepDecoded(mode string, picture *planes.Picture) error {
	out := w.newRaster(picture.Size, bands[mode])
	colours := out.planes
	if alpha(mode) || mode == "P" {
		last := len(colours) - 1
		if err := w.decoder.LastBand(colours[last]); err != nil {
			return err
		}
		colours = colours[:last]
	}
	w.palette = nil
	if mode == "P" {
		palette := w.decoder.Palette()
		w.palette = &palette
	}
	for c := range colours {
		for y := range picture.Size.Y {
			copy(colours[c][y*picture.Size.X:][:picture.Size.X], picture.Planes[c][y*picture.Stride[c]:])
		}
	}
	w.replace(out)
	return nil
}

// splitBands splits pixels into the planes of the picture.
func (w *Worker) splitBands(p *Program, pixels []byte) error {
	n := bands[p.mode]
	if n == 0 || p.mode == "P" && p.turned {
		return &RefusalError{-1, fmt.Sprintf("pixels of mode %q", p.mode)}
	}
	if area := p.size.X * p.size.Y; area > mostPixels || len(pixels) != n*area {
		return fmt.Errorf("run program: %d bytes of pixels are not a picture of %v in mode %q", len(pixels), p.size,
			p.mode)
	}
	w.palette = nil
	out := w.newRaster(p.size, n)
	partBands(out.planes, pixels)
	if p.mode == "1" {
		for i, v := range out.planes[0] {
			if v != 0 {
				out.planes[0][i] = 255
			}
		}
	}
	w.replace(out)
	if p.turned && p.mode != "RGB" {
		return conversions[[2]string{p.mode, "RGB"}](w)
	}
	return nil
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
