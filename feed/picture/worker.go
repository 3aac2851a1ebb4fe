package picture

import (
	"bytes"
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
