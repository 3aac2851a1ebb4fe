package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// library is an image in a format that is decoded as a whole.
type library struct {
	info    Info
	data    []byte
	whole   image.Image // what was decoded; nil until the first picture
	plain   *plainPNG   // nil until the first PNG
	planes  [3][]byte
	picture planes.Picture
}

// openFile reads the header, and checks the limits before a library allocates memory.
func (l *library) openFile(data []byte, format string, limits Limits) (Info, error) {
	*l = library{data: data, planes: l.planes, plain: l.plain}
	config, mode, err := l.readConfig(format)
	if err != nil {
		return Info{}, err
	}
	l.info = Info{Width: config.Width, Height: config.Height, Format: format, Mode: mode}
	if config.Width <= 0 || config.Height <= 0 {
		return Info{}, &SampleError{
			Damaged, -1,
			fmt.Sprintf("a %s header of %d x %d pixels: neither may be 0", names[format], config.Width, config.Height),
		}
	}
	if err := limits.CheckPixels(config.Width, config.Height); err != nil {
		return Info{}, err
	}
	if err := l.checkDensity(); err != nil {
		return Info{}, err
	}
	if err := limits.checkMemory(l.info.Width * l.info.Height * (l.pixelBytes() + 3)); err != nil {
		return Info{}, err
	}
	return l.info, nil
}

// pngModes maps a PNG's colour type to Pillow's mode.
var pngModes = map[byte]string{0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}

// readConfig returns the size and Pillow's mode.
func (l *library) readConfig(format string) (image.Config, string, error) {
	if format == "ppm" {
		config, err := pixmapConfig(bytes.NewReader(l.data))
		return config, "RGB", libraryError(format, err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(l.data))
	if err != nil {
		return config, "", libraryError(format, err)
	}
	switch depth, kind := l.data[24], l.data[25]; {
	case kind == 0 && depth == 1:
		return config, "1", nil
	case kind == 0 && depth == 16:
		return config, "I;16", nil
	case kind == 4 && depth == 16:
		return config, "RGBA", nil
	default:
		return config, pngModes[kind], nil
	}
}

var names = map[string]string{"png": "PNG", "ppm": "PPM"}

// checkDensity refuses headers with more pixels than the bytes can hold, because the libraries
// allocate before they read.
func (l *library) checkDensity() error {
	pixels, bytes := l.info.Width*l.info.Height, len(l.data)
	// Deflate expands at most 1,032 times, and a byte holds up to 8 pixels.
	most := bytes * mostUnpacked * 8
	if l.info.Format == "ppm" {
		most = bytes / 3
	}
	if pixels > most {
		return &SampleError{
			Truncated, -1,
			fmt.Sprintf("%d bytes cannot hold the %d x %d pixels that the %s header says",
				bytes, l.info.Width, l.info.Height, names[l.info.Format]),
		}
	}
	return nil
}

// pixelBytes returns the bytes per pixel of the library's image.
func (l *library) pixelBytes() int {
	if l.info.Format == "ppm" {
		return 0 // the file itself is used
	}
	n := 4
	if kind := l.data[25]; kind == 0 || kind == 3 {
		n = 1
		if kind == 0 && bytes.Contains(l.data[:min(len(l.data), 4096)], []byte("tRNS")) {
			n = 4
		}
	}
	if l.data[24] == 16 {
		n *= 2
	}
	if l.data[28] != 0 { // interlaced: each pass is a separate image
		n += n / 2
	}
	return n
}

// decode returns the part need of the image. The whole image is kept until the next open, so
// that several crops take one decode.
func (l *library) decode(need image.Rectangle) (*planes.Picture, error) {
	if l.whole == nil {
		if err := l.readFile(); err != nil {
			return nil, err
		}
	}
	l.fillPlanes(need)
	return &l.picture, nil
}

func (l *library) readFile() error {
	whole, err := l.readWhole()
	if err != nil {
		return libraryError(l.info.Format, err)
	}
	screen := image.Rect(0, 0, l.info.Width, l.info.Height)
	if whole.Bounds() != screen {
		return &SampleError{Damaged, -1, fmt.Sprintf("a %s image of %v, of which its header says %v",
			names[l.info.Format],
			whole.Bounds().Size(), screen.Size())}
	}
	l.whole = whole
	return nil
}

func (l *library) readWhole() (image.Image, error) {
	if l.info.Format == "ppm" {
		return readPixmap(l.data)
	}
	if err := checkChunks(l.data); err != nil {
		return nil, err
	}
	if l.plain == nil {
		l.plain = new(plainPNG)
	}
	if whole := l.plain.read(l.data); whole != nil {
		return whole, nil
	}
	whole, err := png.Decode(bytes.NewReader(l.data))
	if err != nil {
		if tolerant := lenientPNG(l.data); tolerant != nil {
			return png.Decode(bytes.NewReader(tolerant))
		}
	}
	return whole, err
}

// libraryError turns a library's error into a SampleError.
func libraryError(format string, err error) error {
	var unsupported png.UnsupportedError
	var own *SampleError
	if err == nil || errors.As(err, &own) {
		return err
	}
	kind := Damaged
	switch {
	case strings.HasSuffix(err.Error(), "EOF"), // some do not wrap it
		strings.HasSuffix(err.Error(), "not enough pixel data"),
		strings.HasSuffix(err.Error(), "not enough image data"):
		return &SampleError{Truncated, -1, "the " + names[format] + " file ends before the image does"}
	case errors.As(err, &unsupported), errors.Is(err, errPixmap):
		kind = Unsupported
	}
	return &SampleError{kind, -1, fmt.Sprintf("the %s decoder says: %v", names[format], err)}
}

// fillPlanes writes the part need of the image into planes. Transparency is dropped and not
// blended, as in Pillow's convert("RGB").
func (l *library) fillPlanes(need image.Rectangle) {
	grey := l.isGrey()
	whole := image.Pt(l.info.Width, l.info.Height)
	l.picture = planes.Picture{Size: whole, Bounds: need, Model: planes.RGB, SubX: 1, SubY: 1}
	n := 3
	if grey {
		l.picture.Model, n = planes.Grey, 1
	}
	width, size := need.Dx(), need.Dx()*need.Dy()
	for i := range n {
		l.planes[i] = planes.MakeRoom(l.planes[i], size)
		l.picture.Planes[i], l.picture.Stride[i] = l.planes[i], width
	}
	for y := range need.Dy() {
		row := [3][]byte{}
		for i := range n {
			row[i] = l.picture.Planes[i][y*width:][:width]
		}
		readRow(l.whole, need.Min.X, need.Min.Y+y, row)
	}
}

// isGrey reports whether one plane is enough. The library returns a 16-bit grey PNG with a
// transparent shade in colour.
func (l *library) isGrey() bool {
	switch l.whole.(type) {
	case *image.Gray, *image.Gray16:
		return true
	case *image.NRGBA64:
		return l.info.Format == "png" && l.data[25]&2 == 0 && l.data[25]&4 == 0
	}
	return false
}

// readRow copies pixels of row y from x on, as many as the rows hold.
func readRow(m image.Image, x, y int, row [3][]byte) {
	width := len(row[0])
	switch m := m.(type) {
	case *image.Gray:
		copy(row[0], m.Pix[m.PixOffset(x, y):])
	case *image.Gray16:
		deepGrey(m.Pix[m.PixOffset(x, y):], 2, row[0])
	case *image.NRGBA:
		splitChannels(m.Pix[m.PixOffset(x, y):][:4*width], 1, row)
	case *image.RGBA: // only opaque images of the libraries are of this type
		splitChannels(m.Pix[m.PixOffset(x, y):][:4*width], 1, row)
	case *image.NRGBA64: // Pillow uses the high bytes
		if row[1] == nil {
			deepGrey(m.Pix[m.PixOffset(x, y):], 8, row[0])
			return
		}
		splitChannels(m.Pix[m.PixOffset(x, y):][:8*width], 2, row)
	case *pixmap:
		planes.Part(row[0], row[1], row[2], m.pix[y*m.stride+3*x:])
	case *image.RGBA64:
		splitChannels(m.Pix[m.PixOffset(x, y):][:8*width], 2, row)
	case *image.Paletted:
		for i, index := range m.Pix[m.PixOffset(x, y):][:width] {
			row[0][i], row[1][i], row[2][i] = paletteColour(m.Palette, index)
		}
	}
}

// splitChannels splits pixels of four channels with size bytes each.
func splitChannels(pixels []byte, size int, row [3][]byte) {
	for i := range row[0] {
		p := pixels[4*size*i:][:4*size]
		row[0][i], row[1][i], row[2][i] = p[0], p[size], p[2*size]
	}
}

// paletteColour returns a colour of the palette without its transparency. An index beyond its
// end is black.
func paletteColour(p color.Palette, index uint8) (r, g, b uint8) {
	if int(index) >= len(p) {
		return 0, 0, 0
	}
	switch c := p[index].(type) {
	case color.RGBA:
		return c.R, c.G, c.B
	case color.NRGBA:
		return c.R, c.G, c.B
	}
	return 0, 0, 0
}
