package decode

import (
	"bytes"
	"image"
	"image/gif"
)

// readGIF returns the first frame with the colours of its palette. image/gif
// replaces the transparent colour, which Pillow keeps when it converts to RGB, so
// the flag that says which one it is gets cleared first.
func readGIF(data []byte) (image.Image, error) {
	in := bytes.NewReader(data)
	at, transparent := gifTransparency(data)
	if at > 0 {
		clean := bytes.Clone(data)
		clean[at] &^= 1
		in = bytes.NewReader(clean)
	}
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
	// A smaller frame lies on a screen of the transparent colour, else of colour 0.
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

// gifTransparency returns where the flags of the first frame's graphic control
// lie, if they name a transparent colour, and that colour; else 0.
func gifTransparency(data []byte) (at int, index uint8) {
	if len(data) < 13 {
		return 0, 0
	}
	i := 13
	if flags := data[10]; flags&0x80 != 0 {
		i += 3 << (flags&7 + 1)
	}
	for i+2 < len(data) && data[i] == 0x21 {
		control := data[i+1] == 0xf9
		i += 2
		if control && i+5 < len(data) && data[i] == 4 {
			at, index = 0, 0
			if data[i+1]&1 != 0 {
				at, index = i+1, data[i+4]
			}
		}
		for i < len(data) && data[i] != 0 {
			i += 1 + int(data[i])
		}
		i++
	}
	return at, index
}
