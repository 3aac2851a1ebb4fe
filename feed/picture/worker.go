package picture

import (
	"errors"
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/transform"
)

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
	p.end.writeTensor(dst, &w.picture, sizes[p.Output.DType])
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
	picture, err := w.decoder.Decode(p.first.geometry.SourceArea())
	if err != nil {
		return nil, err
	}
	if why := w.decoder.ImageInfo().Inexact; why != "" {
		return nil, &RefusalError{-1, why}
	}
	if grey := picture.Model == planes.Grey; !p.turned && grey != (p.mode == "L") {
		return nil, &RefusalError{-1, fmt.Sprintf("a file of mode %q that was decoded as another", p.mode)}
	}
	return picture, nil
}

// splitBands splits pixels into the planes of the picture.
func (w *Worker) splitBands(p *Program, pixels []byte) error {
	n := bands[p.mode]
	if n == 0 {
		return &RefusalError{-1, fmt.Sprintf("pixels of mode %.20q: it is read from files alone", p.mode)}
	}
	if area := p.size.X * p.size.Y; area > mostPixels || len(pixels) != n*area {
		return fmt.Errorf("run program: %d bytes of pixels are not a picture of %v in mode %q", len(pixels), p.size,
			p.mode)
	}
	out := w.newRaster(p.size, n)
	if n == 1 {
		copy(out.planes[0], pixels)
	} else {
		planes.Part(out.planes[0], out.planes[1], out.planes[2], pixels)
	}
	w.replace(out)
	if p.turned && p.mode == "L" {
		return triple(w)
	}
	return nil
}
