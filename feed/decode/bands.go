package decode

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
)

// pngModes are Pillow's by a PNG's colour type.
var pngModes = map[byte]string{0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}

// pillowMode is Pillow's mode of an image that a library decodes; what it opens GIFs and
// small BMPs as hangs on more than their headers.
func pillowMode(data []byte, format string) string {
	switch format {
	case "ppm":
		return "RGB"
	case "png":
		switch depth, kind := data[24], data[25]; {
		case kind == 0 && depth == 1:
			return "1"
		case kind == 0 && depth == 16:
			return "I;16"
		case kind == 4 && depth == 16:
			return "RGBA"
		default:
			return pngModes[kind]
		}
	case "bmp":
		if len(data) > 29 && data[14] >= 40 && data[28] == 24 {
			return "RGB"
		}
	}
	return ""
}

// LastBand writes to dst what a Picture leaves out: the transparency of an image of mode
// "LA" or "RGBA", the numbers of colours of mode "P". It is of the whole image, and comes
// after a Decode.
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

// Shades writes to low and high the two bytes of each shade of an image of mode "I;16". It
// is of the whole image, and comes after a Decode.
func (d *Decoder) Shades(low, high []byte) error {
	if size := d.info.Width * d.info.Height; d.way != fromLibrary || len(low) != size || len(high) != size {
		return fmt.Errorf("decode: %d and %d bytes for the shades of an image of mode %q and %d pixels", len(low),
			len(high), d.info.Mode, size)
	}
	m, ok := d.library.whole.(*image.Gray16)
	if !ok {
		return fmt.Errorf("decode: an image of mode %q has come as %T", d.info.Mode, d.library.whole)
	}
	for y, width := 0, d.info.Width; y < d.info.Height; y++ {
		splitPairs(high[y*width:][:width], low[y*width:][:width], m.Pix[y*m.Stride:][:2*width])
	}
	return nil
}

// splitPairs takes the two bytes of shades apart, four shades at once.
func splitPairs(first, second, pairs []byte) {
	i := 0
	for ; i+4 <= len(first) && i+4 <= len(second); i += 4 {
		v := binary.LittleEndian.Uint64(pairs[2*i:])
		binary.LittleEndian.PutUint32(first[i:], gather(v))
		binary.LittleEndian.PutUint32(second[i:], gather(v>>8))
	}
	for ; i < len(first); i++ {
		first[i], second[i] = pairs[2*i], pairs[2*i+1]
	}
}

// gather is every other byte of eight.
func gather(v uint64) uint32 {
	v &= 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16)
}

// copyEach takes every step-th byte of rows, from the one at first on.
func (l *library) copyEach(dst, pixels []byte, stride, first, step int) {
	for y := range l.info.Height {
		row := dst[y*l.info.Width:][:l.info.Width]
		from := pixels[y*stride+first:]
		for x := range row {
			row[x] = from[x*step]
		}
	}
}

// Palette is the colours of an image of mode "P".
func (d *Decoder) Palette() (colours [256][3]uint8) {
	if m, ok := d.library.whole.(*image.Paletted); ok {
		for i := range colours {
			colours[i][0], colours[i][1], colours[i][2] = paletteColour(color.Palette(m.Palette), uint8(i))
		}
	}
	return colours
}
