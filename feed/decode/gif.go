package decode

import (
	"bytes"
	"image"
	"image/gif"
	"io"
)

// readGIF returns the first frame with the colours of its palette. It hides the extensions
// before that frame from image/gif, which would replace the transparent colour (Pillow keeps it
// when it converts to RGB) and reads some extensions by other rules.
func readGIF(data []byte) (image.Image, error) {
	begin, at, transparent, err := findFrame(data)
	if err != nil {
		return nil, err
	}
	in := io.MultiReader(bytes.NewReader(data[:begin]), bytes.NewReader(data[at:]))
	frame, err := gif.Decode(in)
	if err != nil {
		return nil, err
	}
	screen, err := gif.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	bounds := image.Rect(0, 0, screen.Width, screen.Height)
	paletted, ok := frame.(*image.Paletted)
	if !ok || frame.Bounds() == bounds {
		return frame, nil
	}
	// A smaller frame is drawn on a screen of the transparent colour, or of colour 0.
	canvas := image.NewPaletted(bounds, paletted.Palette)
	for i := range canvas.Pix {
		canvas.Pix[i] = transparent
	}
	inside := frame.Bounds().Intersect(bounds)
	for y := inside.Min.Y; y < inside.Max.Y; y++ {
		from := paletted.PixOffset(inside.Min.X, y)
		copy(canvas.Pix[canvas.PixOffset(inside.Min.X, y):][:inside.Dx()], paletted.Pix[from:])
	}
	return canvas, nil
}

// gifReader skips the parts of a GIF as Pillow does.
type gifReader struct {
	data        []byte
	at          int
	transparent uint8
}

// findFrame skips extensions and meaningless bytes. It returns where they begin, where the
// first frame begins, and its transparent colour or 0.
func findFrame(data []byte) (begin, at int, transparent uint8, err error) {
	const screen = 13
	begin = screen
	if len(data) >= screen && data[10]&0x80 != 0 {
		begin += 3 << (data[10]&7 + 1)
	}
	for r := (&gifReader{data: data, at: begin}); r.at < len(data); {
		r.at++
		switch data[r.at-1] {
		case ',':
			return begin, r.at - 1, r.transparent, nil
		case ';':
			return 0, 0, 0, &SampleError{Damaged, int64(r.at - 1), "the end of a GIF that has no frame"}
		case '!':
			if !r.passExtension() {
				return 0, 0, 0, &SampleError{Damaged, int64(r.at), "an incomplete GIF extension"}
			}
		}
	}
	return 0, 0, 0, io.ErrUnexpectedEOF
}

// block returns the next block of an extension, or nothing at its end.
func (r *gifReader) block() []byte {
	if r.at >= len(r.data) {
		return nil
	}
	begin := r.at + 1
	r.at = min(len(r.data), begin+int(r.data[r.at]))
	return r.data[begin:r.at]
}

// passExtension skips an extension, beginning at its label. After an empty first block, where
// other readers see the end, Pillow continues.
func (r *gifReader) passExtension() bool {
	const control, comment, application = 249, 254, 255
	if r.at >= len(r.data) {
		return false
	}
	label := r.data[r.at]
	r.at++
	block := r.block()
	switch {
	case label == control && len(block) > 0:
		if len(block) < 3 || block[0]&1 != 0 && len(block) < 4 {
			return false
		}
		if block[0]&1 != 0 {
			r.transparent = block[3]
		}
	case label == comment && len(block) == 0:
		return true
	case label == application && bytes.HasPrefix(block, []byte("NETSCAPE2.0")):
		r.block()
	}
	for len(r.block()) > 0 { // until an empty block
	}
	return true
}
