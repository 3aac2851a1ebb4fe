package decode

import (
	"fmt"
	"image"
	"image/color"
)

// LastBand writes to dst the band that a Picture leaves out: the transparency of an image of
// mode "LA" or "RGBA", the palette indices of mode "P". It covers the whole image. Call it
// after Decode.
func (d *Decoder) LastBand(dst []byte) error {
	if size := d.info.Width * d.info.Height; d.way != fromLibrary || len(dst) != size {
		return fmt.Errorf("decode: %d bytes for the last of several bands of an image of mode %q and %d pixels",
			len(dst), d.info.Mode, size)
	}
	return d.library.lastBand(dst)
}

func (l *library) lastBand(dst []byte) error {
	switch m := l.whole.(type) {
	case *image.Paletted:
		l.copyEach(dst, m.Pix, m.Stride, 0, 1)
	case *image.NRGBA:
		l.copyEach(dst, m.Pix, m.Stride, 3, 4)
	case *image.NRGBA64:
		l.copyEach(dst, m.Pix, m.Stride, 6, 8)
	case *image.NYCbCrA:
		l.copyEach(dst, m.A, m.AStride, 0, 1)
	default:
		return fmt.Errorf("decode: an image of mode %q has come as %T", l.info.Mode, m)
	}
	return nil
}

// copyEach copies every step-th byte of each row, beginning with byte first.
func (l *library) copyEach(dst, pixels []byte, stride, first, step int) {
	for y := range l.info.Height {
		row := dst[y*l.info.Width:][:l.info.Width]
		from := pixels[y*stride+first:]
		for x := range row {
			row[x] = from[x*step]
		}
	}
}

// Palette returns the colours of an image of mode "P".
func (d *Decoder) Palette() (colours [256][3]uint8) {
	if m, ok := d.library.whole.(*image.Paletted); ok {
		for i := range colours {
			colours[i][0], colours[i][1], colours[i][2] = paletteColour(color.Palette(m.Palette), uint8(i))
		}
	}
	return colours
}
