package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
)

// pixmap is an image of three bytes a pixel: a portable pixmap as stoker pack and Pillow write
// it, with a header of three lines, or a plain PNG.
type pixmap struct {
	pix           []byte
	width, height int
	stride        int // bytes
}

var errPixmap = errors.New("portable pixmaps are read with P6, width and height, and 255 in a line each")

// mostSide keeps the product of two sides within 64 bits, for any header.
const mostSide = 1 << 24

// pixmapHeader returns the size in the header and where the pixels begin.
func pixmapHeader(data []byte) (width, height, begin int, err error) {
	const most = 64 // bytes of a header
	lines := bytes.SplitN(data[:min(len(data), most)], []byte{'\n'}, 4)
	if len(lines) != 4 || string(lines[2]) != "255" {
		return 0, 0, 0, errPixmap
	}
	var rest string
	n, _ := fmt.Sscanf(string(lines[1])+" .", "%d %d %s", &width, &height, &rest)
	if n != 3 || rest != "." || min(width, height) < 1 || max(width, height) > mostSide {
		return 0, 0, 0, errPixmap
	}
	return width, height, len(lines[0]) + len(lines[1]) + len(lines[2]) + 3, nil
}

func pixmapConfig(r io.Reader) (image.Config, error) {
	var head [64]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && n == 0 {
		return image.Config{}, err
	}
	width, height, _, err := pixmapHeader(head[:n])
	return image.Config{ColorModel: color.RGBAModel, Width: width, Height: height}, err
}

func readPixmap(data []byte) (*pixmap, error) {
	width, height, begin, err := pixmapHeader(data)
	if err == nil && len(data)-begin < 3*width*height {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return &pixmap{data[begin:], width, height, 3 * width}, nil
}

// ColorModel implements image.Image.
func (p *pixmap) ColorModel() color.Model { return color.RGBAModel }

// Bounds implements image.Image.
func (p *pixmap) Bounds() image.Rectangle { return image.Rect(0, 0, p.width, p.height) }

// At implements image.Image.
func (p *pixmap) At(x, y int) color.Color {
	at := p.pix[y*p.stride+3*x:]
	return color.RGBA{at[0], at[1], at[2], 0xff}
}
