package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"runtime/debug"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/picture"
)

// magic begins a PPM file; size in text and pixels follow.
const magic = "P6\n"

// maker makes the packed form of a file. It is not safe for concurrent use.
type maker struct {
	Form
	header *decode.Decoder
	worker *picture.Worker
}

func newMaker(f Form) *maker {
	return &maker{f, decode.New(decode.Limits{}), picture.NewWorker(decode.Limits{})}
}

// makeImage returns the bytes to pack for a file, and the field under which they are packed.
func (m *maker) makeImage(file []byte, was string) (made []byte, now string, err error) {
	if m.Form == (Form{}) {
		return file, was, nil
	}
	defer m.catchPanic(&err)
	debug.SetPanicOnFault(true)
	info, err := m.header.ReadHeader(file)
	if err != nil {
		return nil, "", err
	}
	width, height := m.resizedSides(info.Width, info.Height)
	if !m.Decoded && width == info.Width {
		return file, was, nil
	}
	pixels, err := m.makePixels(file, info, width, height)
	switch {
	case err != nil:
		return nil, "", err
	case m.Decoded:
		return append(fmt.Appendf(nil, magic+"%d %d\n255\n", width, height), pixels...), "ppm", nil
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, imageOf(pixels, width, height), &jpeg.Options{Quality: quality}); err != nil {
		return nil, "", err
	}
	return b.Bytes(), "jpg", nil
}

// catchPanic turns a panic in a decoder into an error: it is Stoker's fault and not the file's.
func (m *maker) catchPanic(err *error) {
	if fault := recover(); fault != nil {
		*m = *newMaker(m.Form)
		*err = fmt.Errorf("%w: %v: please report it with this file", ErrFault, fault)
	}
}

// resizedSides returns the size after torchvision's Resize, or the same size if Resize would
// enlarge the picture.
func (m *maker) resizedSides(width, height int) (int, int) {
	short := min(width, height)
	if m.Resize == 0 || short <= m.Resize {
		return width, height
	}
	return width * m.Resize / short, height * m.Resize / short // one of them equals Resize
}

// makePixels returns the pixels of convert("RGB"), resized if necessary with the filter of
// torchvision's Resize.
func (m *maker) makePixels(file []byte, info decode.Info, width, height int) ([]byte, error) {
	ops := [][]any{{"convert", "RGB"}}
	if info.Mode == "RGB" {
		ops = nil
	}
	const bilinear = 2
	if width != info.Width || height != info.Height {
		ops = append(ops, []any{"resize", width, height, bilinear, nil})
	}
	text, err := json.Marshal(map[string]any{
		"mode": info.Mode, "size": []int{info.Width, info.Height},
		"ops": ops,
	})
	if err != nil {
		return nil, err
	}
	program, err := picture.Parse(text)
	var refusal *picture.RefusalError
	if errors.As(err, &refusal) {
		return nil, fmt.Errorf("its pixels are not made as Pillow makes them: %s", refusal.Text)
	}
	if err != nil {
		return nil, err
	}
	pixels := make([]byte, program.Output.Bytes())
	return pixels, m.worker.Run(program, picture.Source{File: file}, pixels)
}

// decode decodes a file and discards the pixels, to measure the time. A PPM is only copied.
func (m *maker) decode(file []byte) (err error) {
	defer m.catchPanic(&err)
	if bytes.HasPrefix(file, []byte(magic)) {
		bytes.Clone(file)
		return nil
	}
	info, err := m.header.ReadHeader(file)
	if err == nil {
		_, err = m.makePixels(file, info, info.Width, info.Height)
	}
	return err
}

// imageOf converts pixels to Go's image type.
func imageOf(pixels []byte, width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		copy(img.Pix[4*i:], pixels[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	return img
}
