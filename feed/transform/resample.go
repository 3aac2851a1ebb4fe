package transform

import (
	"encoding/binary"
	"image"
	"math/bits"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// A resize is two passes, each rounding to 8 bits, as in Pillow. Which comes first
// is Pillow's choice too (verticalFirst):
//
//	rows of the Picture -> across -> window -> down -> finished rows
//	rows of the Picture -> window -> down -> across -> finished rows
//
// The window holds as many rows as one sum of the vertical pass needs and a few
// more, so that pixels are in the nearest cache when they are needed again. Rows
// hold red, green, blue side by side, with room for whole vectors; what lies there is
// never looked at.

// stripRows is how many rows the horizontal pass takes at once, so that the weights
// are loaded once for all of them.
const stripRows = 4

// padRow rounds the width of a row up to whole vectors.
func padRow(n int) int { return (n + planes.Vector - 1) &^ (planes.Vector - 1) }

// rowSink takes a finished row: red, green, blue at row, row[stride:], row[2*stride:].
type rowSink func(y int, row []byte, stride int)

// stageImage is an image between two stages.
type stageImage struct {
	picture planes.Picture
}

// imageBehind returns the image behind stage s, the i-th.
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

// runStage takes a picture through one stage.
func (w *Worker) runStage(s *stage, p *planes.Picture, out rowSink) error {
	if s.x.padded() || s.y.padded() {
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
		across: s.x.resized(), down: s.y.resized(), verticalFirst: w.program.verticalFirst(s), read: w.rows.Read,
	}
	w.runPasses(s, &source, func(y int, row []byte, stride int) {
		if channels == 1 {
			row = w.triplePlane(row, stride)
		}
		out(y, row, stride)
	})
	return nil
}

// planStage sets the weights of both directions and returns what they read.
func (w *Worker) planStage(s *stage) image.Rectangle {
	var r image.Rectangle
	r.Min.X, r.Max.X = s.x.planPass(&w.across, &w.program.cache, s.filter)
	r.Min.Y, r.Max.Y = s.y.planPass(&w.down, &w.program.cache, s.filter)
	return r
}

// planPass sets the weights, if there is a pass to be done, and returns what is read.
func (a *axis) planPass(w *weights, cache *weightCache, f *filter) (low, high int) {
	if !a.resized() {
		return a.keptSource()
	}
	a.setWeights(w, cache, f)
	return w.inputSpan()
}

// verticalFirst is Pillow's rule since 13.0: the vertical pass comes first where it
// takes off more than twice as many rows as the horizontal one takes off columns.
// Earlier versions always begin with the horizontal pass, and so does torch.
func (p *Program) verticalFirst(s *stage) bool {
	if p.pillow != 0 && p.pillow < 13 || s.filter != nil && s.filter.short {
		return false
	}
	return s.x.resized() && s.y.size < s.y.length && s.y.length-s.y.size > 2*(s.x.length-s.x.size)
}

// reader is where the passes get their rows from, and which passes are done.
type reader struct {
	first, rows   int // rows that are read
	left, width   int // columns that a row has
	channels      int
	across, down  bool
	verticalFirst bool
	read          func(y int, dst []byte, stride int)
}

// rowWindow holds consecutive rows between the passes.
type rowWindow struct {
	rows        []byte
	stride      int // of a plane within a row
	row         int // bytes of a row
	first, next int // rows first to next-1 are there
	end         int // of all rows
	capacity    int
}

func (v *rowWindow) beginRows(r *reader, stride, keep int) {
	v.stride, v.row = stride, stride*r.channels
	v.first, v.next, v.end = r.first, r.first, r.first+r.rows
	v.capacity = min(2*keep+4*stripRows, r.rows+stripRows)
	v.rows = planes.MakeRoom(v.rows, (v.capacity+keep)*v.row) // weights of 0 may reach behind the last row
}

// slideTo makes room for stripRows more rows and forgets those above first.
func (v *rowWindow) slideTo(first int) {
	if first > v.next { // rows that no sum needs
		v.first, v.next = first, first
		return
	}
	if v.next+stripRows-v.first <= v.capacity {
		return
	}
	copy(v.rows, v.rows[(first-v.first)*v.row:(v.next-v.first)*v.row])
	v.first = first
}

// runPasses does what of the two passes is needed, in the order in which rows are read,
// and flips where there is no pass.
func (w *Worker) runPasses(s *stage, from *reader, out rowSink) {
	keep := w.beginPass(s, from)
	low, _ := s.y.keptSource()
	for i := range s.y.kept {
		y := i
		if s.y.turned() {
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

// beginPass lays out the memory and returns how many rows a finished one is made of.
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

// loadRows reads rows until those before end are in the window.
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

// flushRows takes the waiting rows through the horizontal pass.
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

// turnRow turns a row round that no pass has turned.
func (w *Worker) turnRow(s *stage, from *reader, row []byte, stride int) []byte {
	if from.across {
		return row
	}
	row = row[w.offset:]
	if !s.x.turned() {
		return row
	}
	n := s.x.kept
	w.turned = planes.MakeRoom(w.turned, stride*from.channels)
	for c := range from.channels {
		reverseBytes(w.turned[c*stride:][:n], row[c*stride:][:n])
	}
	return w.turned
}

// reverseBytes writes bytes from the last to the first, eight at once.
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

// triplePlane makes three planes of one.
func (w *Worker) triplePlane(row []byte, stride int) []byte {
	w.triple = planes.MakeRoom(w.triple, 3*stride)
	for c := range 3 {
		copy(w.triple[c*stride:][:stride], row)
	}
	return w.triple
}

// onCanvas puts rows on the canvas of a padded stage; it writes the rows above and
// below at once.
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

// sumColumns is the same for one plane.
func (w *Worker) sumColumns(dst []byte, dstStride int, src []byte, srcStride int) {
	if w.simd {
		w.table.sumStrip(dst, dstStride, src, srcStride)
		return
	}
	w.packed = planes.MakeRoom(w.packed, w.reach+w.across.size)
	packRows(w.packed, src, srcStride, w.reach)
	sumColumns(dst, dstStride, w.packed, &w.across, w.columns)
}

// sumRows is the vertical pass for row y of the result, whose first row is src.
func (w *Worker) sumRows(dst, src []byte, stride, y int) {
	values := w.down.values[y*w.down.size:][:w.down.size]
	if w.simd {
		w.rowWeights = appendRowWeights(w.rowWeights[:0], values)
		sumRowsSIMD(dst, src, stride, w.rowWeights, stride)
		return
	}
	sumRows(dst[:stride], src, values[:w.down.count[y]], w.down.negative)
}
