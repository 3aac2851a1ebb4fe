package transform

import (
	"encoding/binary"
	"image"
	"math/bits"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// A resize is two passes, each rounding to 8 bits, as in Pillow. The order follows Pillow too
// (verticalFirst):
//
//	rows of the Picture -> across -> window -> down -> finished rows
//	rows of the Picture -> window -> down -> across -> finished rows
//
// The window holds as many rows as one sum of the vertical pass needs and a few more, so that
// pixels are still in the first-level cache when they are needed again. Each row holds red,
// then green, then blue, with room for whole vectors; the extra bytes are never used.

// rowSink takes a finished row: red, green, blue at row, row[stride:], row[2*stride:].
type rowSink func(y int, row []byte, stride int)

// imageBehind returns the image after stage s, which is stage number i.
func (w *Worker) imageBehind(i int, s *stage) *stageImage {
	for len(w.images) <= i {
		w.images = append(w.images, new(stageImage))
	}
	p := &w.images[i].picture
	p.Size = image.Point{s.x.canvas, s.y.canvas}
	p.Bounds = image.Rectangle{Max: p.Size}
	p.Model = planes.RGB
	for c := range p.Planes {
		p.Stride[c] = p.Size.X
		p.Planes[c] = planes.MakeRoom(p.Planes[c], p.Size.X*p.Size.Y)
	}
	return w.images[i]
}

func (b *stageImage) putRow(y int, row []byte, stride int) {
	for c, plane := range b.picture.Planes {
		n := b.picture.Size.X
		copy(plane[y*n:][:n], row[c*stride:])
	}
}

// runStage applies one stage to a picture.
func (w *Worker) runStage(s *stage, p *planes.Picture, out rowSink) error {
	if s.x.isPadded() || s.y.isPadded() {
		out = w.onCanvas(s, out)
	}
	if s.x.kept == 0 || s.y.kept == 0 {
		return nil
	}
	need := w.planStage(s)
	w.rows.SIMD = w.simd
	left, width, err := w.rows.Begin(p, need)
	if err != nil {
		return err
	}
	channels := w.rows.Channels()
	source := reader{
		first: need.Min.Y, rows: need.Dy(), left: left, width: width, channels: channels,
		across: s.x.isResized(), down: s.y.isResized(), verticalFirst: w.program.verticalFirst(s), read: w.rows.Read,
	}
	w.runPasses(s, &source, func(y int, row []byte, stride int) {
		if channels == 1 {
			row = w.triplePlane(row, stride)
		}
		out(y, row, stride)
	})
	return nil
}

// planStage sets the weights of both directions, and returns the part of the image that they
// read.
func (w *Worker) planStage(s *stage) image.Rectangle {
	var r image.Rectangle
	r.Min.X, r.Max.X = s.x.planPass(&w.across, &w.program.cache, s.filter)
	r.Min.Y, r.Max.Y = s.y.planPass(&w.down, &w.program.cache, s.filter)
	return r
}

// planPass sets the weights if a pass is needed, and returns the range that is read.
func (a *axis) planPass(w *weights, cache *weightCache, f *filter) (low, high int) {
	if !a.isResized() {
		return a.keptSource()
	}
	a.setWeights(w, cache, f)
	return w.inputSpan()
}

// verticalFirst is Pillow's rule since 13.0: the vertical pass comes first if it removes more
// than twice as many rows as the horizontal one removes columns. Earlier versions always begin
// with the horizontal pass, and so does torch.
func (p *Program) verticalFirst(s *stage) bool {
	if p.pillow != 0 && p.pillow < 13 || s.filter != nil && s.filter.short {
		return false
	}
	return s.x.isResized() && s.y.size < s.y.length && s.y.length-s.y.size > 2*(s.x.length-s.x.size)
}

// reader is the source of rows for the passes, and says which passes are needed.
type reader struct {
	first, rows   int // rows to read
	left, width   int // columns in a row
	channels      int
	across, down  bool
	verticalFirst bool
	read          func(y int, dst []byte, stride int)
}

func (v *rowWindow) beginRows(r *reader, stride, keep int) {
	v.stride, v.row = stride, stride*r.channels
	v.first, v.next, v.end = r.first, r.first, r.first+r.rows
	v.capacity = min(2*keep+4*stripRows, r.rows+stripRows)
	v.rows = planes.MakeRoom(v.rows, (v.capacity+keep)*v.row) // weights of 0 may reach past the last row
}

// slideTo makes room for stripRows more rows, and drops those above first.
func (v *rowWindow) slideTo(first int) {
	if first > v.next { // no sum needs the rows in between
		v.first, v.next = first, first
		return
	}
	if v.next+stripRows-v.first <= v.capacity {
		return
	}
	copy(v.rows, v.rows[(first-v.first)*v.row:(v.next-v.first)*v.row])
	v.first = first
}

// runPasses runs the passes that are needed, in the order in which rows are read. Without a
// pass in a direction it flips the rows itself.
func (w *Worker) runPasses(s *stage, from *reader, out rowSink) {
	keep := w.beginPass(s, from)
	low, _ := s.y.keptSource()
	for i := range s.y.kept {
		y := i
		if s.y.isTurned() {
			y = s.y.kept - 1 - i
		}
		first := low + i
		if from.down {
			first = int(w.down.first[y])
		}
		w.loadRows(from, first, min(first+keep, w.window.end))
		rows := w.window.rows[(first-w.window.first)*w.window.row:]
		if from.down {
			line := w.line
			if from.verticalFirst {
				line = w.strip[len(w.waiting)*w.window.row:]
			}
			w.sumRows(line, rows, w.window.row, y)
			rows = line
		}
		if !from.verticalFirst {
			out(y, w.turnRow(s, from, rows, w.window.stride), w.window.stride)
			continue
		}
		if w.waiting = append(w.waiting, y); len(w.waiting) == stripRows || i == s.y.kept-1 {
			w.flushRows(from, out)
		}
	}
}

// beginPass allocates memory, and returns how many rows a finished row is computed from.
func (w *Worker) beginPass(s *stage, from *reader) (keep int) {
	keep = 1
	if from.down {
		keep = w.down.size
	}
	w.source = padRow(from.width)
	stride := w.source
	if from.across {
		w.across.moveOrigin(-from.left)
		_, w.reach = w.across.inputSpan()
		if w.simd {
			w.table.buildTable(&w.across)
		} else {
			w.columns = appendColumns(w.columns[:0], &w.across)
		}
		w.source += padRow(w.across.size + 2*planes.Vector)
		w.strip = planes.MakeRoom(w.strip, stripRows*w.source*from.channels)
		w.across.stride = padRow(s.x.kept)
		stride = w.across.stride
		if from.verticalFirst {
			stride = w.source
			w.lines = planes.MakeRoom(w.lines, stripRows*w.across.stride*from.channels)
		}
	} else {
		low, _ := s.x.keptSource()
		w.offset = low - from.left
	}
	w.window.beginRows(from, stride, keep+1)
	w.line = planes.MakeRoom(w.line, w.window.row)
	w.waiting = w.waiting[:0]
	return keep
}

// loadRows reads rows until the window holds all rows before end.
func (w *Worker) loadRows(from *reader, first, end int) {
	for v := &w.window; v.next < end; {
		v.slideTo(first)
		n := min(stripRows, v.end-v.next)
		to := v.rows[(v.next-v.first)*v.row:]
		if !from.across || from.verticalFirst {
			for i := range n {
				from.read(v.next+i, to[i*v.row:], v.stride)
			}
		} else {
			row := w.source * from.channels
			for i := range n {
				from.read(v.next+i, w.strip[i*row:], w.source)
			}
			w.sumPlanes(to, v.stride, w.strip, w.source, from.channels)
		}
		v.next += n
	}
}

// flushRows runs the horizontal pass over the waiting rows.
func (w *Worker) flushRows(from *reader, out rowSink) {
	stride := w.across.stride
	w.sumPlanes(w.lines, stride, w.strip, w.source, from.channels)
	for i, y := range w.waiting {
		out(y, w.lines[i*stride*from.channels:], stride)
	}
	w.waiting = w.waiting[:0]
}

// sumPlanes is the horizontal pass over a strip of rows.
func (w *Worker) sumPlanes(dst []byte, dstStride int, src []byte, srcStride, channels int) {
	for c := range channels {
		w.sumColumns(dst[c*dstStride:], dstStride*channels, src[c*srcStride:], srcStride*channels)
	}
}

// turnRow mirrors a row if that is needed and no pass has done it.
func (w *Worker) turnRow(s *stage, from *reader, row []byte, stride int) []byte {
	if from.across {
		return row
	}
	row = row[w.offset:]
	if !s.x.isTurned() {
		return row
	}
	n := s.x.kept
	w.turned = planes.MakeRoom(w.turned, stride*from.channels)
	for c := range from.channels {
		reverseBytes(w.turned[c*stride:][:n], row[c*stride:][:n])
	}
	return w.turned
}

// reverseBytes copies bytes in reverse order, eight at a time.
func reverseBytes(to, from []byte) {
	n := len(from)
	i := 0
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(to[n-8-i:], bits.ReverseBytes64(binary.LittleEndian.Uint64(from[i:])))
	}
	for ; i < n; i++ {
		to[n-1-i] = from[i]
	}
}

// triplePlane returns a row with three copies of a plane.
func (w *Worker) triplePlane(row []byte, stride int) []byte {
	w.triple = planes.MakeRoom(w.triple, 3*stride)
	for c := range 3 {
		copy(w.triple[c*stride:][:stride], row)
	}
	return w.triple
}

// onCanvas returns a sink that puts rows on the canvas of a padded stage. It writes the rows
// above and below immediately.
func (w *Worker) onCanvas(s *stage, out rowSink) rowSink {
	stride := padRow(s.x.canvas)
	w.canvas = planes.MakeRoom(w.canvas, 3*stride)
	for c := range 3 {
		line := w.canvas[c*stride:][:stride]
		for x := range line {
			line[x] = s.fill[c]
		}
	}
	for y := range s.y.canvas {
		if s.x.kept == 0 || y < s.y.at || y >= s.y.at+s.y.kept {
			out(y, w.canvas, stride)
		}
	}
	return func(y int, row []byte, from int) {
		for c := range 3 {
			copy(w.canvas[c*stride+s.x.at:][:s.x.kept], row[c*from:])
		}
		out(s.y.at+y, w.canvas, stride)
	}
}

// sumColumns is the horizontal pass for one plane.
func (w *Worker) sumColumns(dst []byte, dstStride int, src []byte, srcStride int) {
	if w.simd {
		w.table.sumStrip(dst, dstStride, src, srcStride)
		return
	}
	w.packed = planes.MakeRoom(w.packed, w.reach+w.across.size)
	packRows(w.packed, src, srcStride, w.reach)
	sumColumns(dst, dstStride, w.packed, &w.across, w.columns)
}

// sumRows is the vertical pass for row y of the result. src is its first source row.
func (w *Worker) sumRows(dst, src []byte, stride, y int) {
	values := w.down.values[y*w.down.size:][:w.down.size]
	if w.simd {
		w.rowWeights = appendRowWeights(w.rowWeights[:0], values)
		sumRowsSIMD(dst, src, stride, w.rowWeights, stride)
		return
	}
	sumRows(dst[:stride], src, values[:w.down.count[y]], w.down.negative)
}
