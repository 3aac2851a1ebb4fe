package transform

import (
	"image"

	"github.com/stoker-dev/stoker/feed/decode"
)

// The fast mode resizes the planes of a YCbCr picture in their own resolution and
// converts colour at the size of the result only. Chroma is then interpolated once,
// by the resize, instead of by libjpeg's upsampling first, and weights have 7 bits
// (narrow.go); that is its whole error. The vertical pass comes first, as it can read
// the planes where the decoder left them:
//
//	4 rows of luma, Cb, Cr from the planes -> down -> across -> colour -> tensor

// fastMargin is how many pixels more than in the exact mode are decoded around the
// kept part of a crop: a filter that spans 4 samples of chroma subsampled by 4 reaches
// no farther.
const fastMargin = 16

// fastPlanes is a Worker's memory for the fast mode.
type fastPlanes struct {
	luma, chroma fastAxes
	quads        []uint32
	lines        []byte   // a strip of a plane after the vertical pass
	packed       []uint64 // the same, without vectors
	planes       [3][]byte
	joined       []uint64 // scratch of the colours
	rgb          []byte   // one row
}

// fastAxes is how planes of one resolution are resized.
type fastAxes struct {
	across, down narrow
	steps        narrowSteps // of across
	columns      []column    // of across, without vectors
	width        int
}

// planFast sets the weights; it says false where the exact mode is to be used: with
// negative weights, or so many that 7 bits are too few.
func (w *Worker) planFast(s *stage, p *decode.Picture) bool {
	if !w.program.fast || s.filter == nil || p.Model != decode.YCbCr {
		return false
	}
	return w.planAxes(&w.fast.luma, s, 1, 1) && w.planAxes(&w.fast.chroma, s, p.SubX, p.SubY)
}

func (w *Worker) planAxes(a *fastAxes, s *stage, subX, subY int) bool {
	s.x.weights(&w.across, &w.program.cache, s.filter, subX)
	s.y.weights(&w.down, &w.program.cache, s.filter, subY)
	return a.across.build(&w.across) && a.down.build(&w.down)
}

func (w *Worker) runFast(s *stage, p *decode.Picture, out put) error {
	f := &w.fast
	var samples [3][]byte
	axes := [3]*fastAxes{&f.luma, &f.chroma, &f.chroma}
	stride := pad(s.x.kept)
	for c, a := range axes {
		need := image.Rect(a.across.low, a.down.low, a.across.high, a.down.high)
		var err error
		if samples[c], err = p.Samples(c, need); err != nil {
			return err
		}
		f.planes[c] = grown(f.planes[c], stripRows*stride)
	}
	f.luma.begin(w.simd)
	f.chroma.begin(w.simd)
	f.rgb, f.joined = grown(f.rgb, 3*stride), grown(f.joined, s.x.kept)
	for y := 0; y < s.y.kept; y += stripRows {
		n := min(stripRows, s.y.kept-y)
		for c, a := range axes {
			w.strip4(f.planes[c], stride, samples[c], p.Stride[c], a, y, n)
		}
		for i := range n {
			at := i * stride
			decode.Convert(f.rgb, stride, f.planes[0][at:], f.planes[1][at:], f.planes[2][at:], f.joined, w.simd)
			out(y+i, f.rgb, stride)
		}
	}
	return nil
}

// begin counts inputs from the first that is read on.
func (a *fastAxes) begin(simd bool) {
	a.across.move()
	a.down.move()
	a.width = a.across.high
	if simd {
		a.steps.build(&a.across)
	} else {
		a.columns = a.across.appendColumns(a.columns[:0])
	}
}

// strip4 makes n rows of a plane from row y on.
func (w *Worker) strip4(dst []byte, dstStride int, src []byte, srcStride int, a *fastAxes, y, n int) {
	f := &w.fast
	stride := pad(a.width + a.across.size + lane)
	f.lines = grown(f.lines, stripRows*stride)
	for i := range n {
		rows := src[int(a.down.first[y+i])*srcStride:]
		f.quads = a.down.appendQuads(f.quads[:0], y+i)
		line := f.lines[i*stride:][:a.width]
		if !w.simd || !sumNarrowRowsAVX2(line, rows, srcStride, f.quads) {
			a.down.sumRows(line, rows, srcStride, y+i)
		}
	}
	if w.simd {
		sumNarrowAVX2(dst, dstStride, f.lines, stride, &a.steps)
		return
	}
	f.packed = grown(f.packed, a.width+a.across.size)
	packNarrow(f.packed, f.lines, stride)
	a.across.sumColumns(dst, dstStride, f.packed, a.columns)
}
