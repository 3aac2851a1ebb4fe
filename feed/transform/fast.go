package transform

import (
	"image"

	"stoker/feed/decode"
)

// The fast mode resizes the planes of a YCbCr picture in their own resolution and
// converts colour at the size of the result only. Chroma is then interpolated once,
// by the resize, instead of by libjpeg's upsampling first; that is its whole error.

// fastMargin is how many pixels more than in the exact mode are decoded around the
// kept part of a crop: a filter that spans 4 samples of chroma subsampled by 4 reaches
// no farther.
const fastMargin = 16

// fastPlanes is a Worker's memory for the fast mode.
type fastPlanes struct {
	rows   [3]decode.Rows
	chroma [2][]byte // after both passes
	rgb    []byte    // one row
}

// runFast takes chroma first, so that each row of luma goes on to its colours while
// it is in the nearest cache.
func (w *Worker) runFast(s *stage, p *decode.Picture, out put) error {
	f := &w.fast
	stride := pad(s.x.kept)
	f.rgb = grown(f.rgb, 3*stride)
	for i := range f.chroma {
		f.chroma[i] = grown(f.chroma[i], s.y.kept*stride)
	}
	err := w.resizePlanes(s, p, 1, 3, func(y int, row []byte, from int) {
		for i := range f.chroma {
			copy(f.chroma[i][y*stride:][:stride], row[i*from:])
		}
	})
	if err != nil {
		return err
	}
	return w.resizePlanes(s, p, 0, 1, func(y int, row []byte, _ int) {
		at := y * stride
		decode.Convert(f.rgb, stride, row, f.chroma[0][at:], f.chroma[1][at:], s.x.kept, w.simd)
		out(y, f.rgb, stride)
	})
}

// resizePlanes takes the planes from and up to to, which have the same resolution,
// each as if it were a grey picture.
func (w *Worker) resizePlanes(s *stage, p *decode.Picture, from, to int, out put) error {
	f := &w.fast
	subX, subY := 1, 1
	if from > 0 {
		subX, subY = p.SubX, p.SubY
	}
	s.x.weights(&w.across, &w.program.cache, s.filter, subX)
	s.y.weights(&w.down, &w.program.cache, s.filter, subY)
	var need image.Rectangle
	need.Min.X, need.Max.X = w.across.span()
	need.Min.Y, need.Max.Y = w.down.span()
	source := reader{first: need.Min.Y, rows: need.Dy(), channels: to - from,
		across: true, down: true, verticalFirst: w.program.verticalFirst(s)}
	for c := from; c < to; c++ {
		var err error
		if source.left, source.width, err = f.rows[c].Open(p.Plane(c), need); err != nil {
			return err
		}
	}
	source.read = func(y int, dst []byte, stride int) {
		for c := from; c < to; c++ {
			f.rows[c].Read(y, dst[(c-from)*stride:], stride)
		}
	}
	w.pass(s, &source, out)
	return nil
}
