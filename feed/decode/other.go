package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"strings"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// sniff names the format by content, as Pillow does: a PNG that is called .JPEG
// is a PNG. "" is none that is read here.
func sniff(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "jpeg"
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "gif"
	case bytes.HasPrefix(data, []byte("BM")):
		return "bmp"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "webp"
	}
	return ""
}

// known are images that Pillow reads and Stoker does not: naming them says more
// than "wrong type".
var known = []struct {
	name, prefix string
	at           int
}{
	{"TIFF", "II*\x00", 0}, {"TIFF", "MM\x00*", 0}, {"AVIF or HEIF", "ftyp", 4},
	{"JPEG 2000", "\x00\x00\x00\x0cjP  ", 0}, {"JPEG 2000", "\xff\x4f\xff\x51", 0},
	{"portable pixmap", "P6", 0}, {"portable greymap", "P5", 0}, {"Windows icon", "\x00\x00\x01\x00", 0},
}

// unread is the error for data that sniff does not know.
func unread(data []byte) *Error {
	const reads = "JPEG, PNG, WebP, BMP and GIF are read"
	if len(data) == 0 {
		return &Error{Empty, -1, "the file has 0 bytes"}
	}
	for _, k := range known {
		if len(data) >= k.at && bytes.HasPrefix(data[k.at:], []byte(k.prefix)) {
			return &Error{Unsupported, 0, "a " + k.name + " image; " + reads}
		}
	}
	return &Error{WrongType, 0, fmt.Sprintf("begins with % x, which is no image; %s", data[:min(len(data), 8)], reads)}
}

// other is an image in a format that a library decodes as a whole.
type other struct {
	info    Info
	data    []byte
	limits  Limits
	whole   image.Image // what the library returned; nil until the first picture
	planes  [3][]byte
	picture Picture
}

// open reads the header and checks the caps before a library allocates.
func (o *other) open(data []byte, format string, limits Limits) (Info, error) {
	*o = other{data: data, limits: limits, planes: o.planes}
	if format == "webp" && webpFlag(data, 1<<1) {
		return Info{}, &Error{Unsupported, -1, "an animated WebP; only still ones are read"}
	}
	config, err := configs[format](bytes.NewReader(data))
	if err != nil {
		return Info{}, libraryError(format, err)
	}
	o.info = Info{Width: config.Width, Height: config.Height, Format: format}
	if config.Width <= 0 || config.Height <= 0 {
		return Info{}, &Error{Damaged, -1, fmt.Sprintf("%s header says %d x %d pixels", names[format], config.Width, config.Height)}
	}
	if err := limits.checkPixels(config.Width, config.Height); err != nil {
		return Info{}, err
	}
	if err := o.checkDensity(); err != nil {
		return Info{}, err
	}
	if err := limits.checkMemory(o.info.Width * o.info.Height * (o.pixelBytes() + 3)); err != nil {
		return Info{}, err
	}
	return o.info, nil
}

var configs = map[string]func(io.Reader) (image.Config, error){
	"png": png.DecodeConfig, "gif": gif.DecodeConfig, "bmp": bmp.DecodeConfig, "webp": webp.DecodeConfig,
}

var names = map[string]string{"png": "PNG", "gif": "GIF", "bmp": "BMP", "webp": "WebP"}

// checkDensity refuses headers that promise more pixels than the bytes behind
// them can hold: the libraries allocate what the header says before they read.
func (o *other) checkDensity() error {
	pixels, bytes := o.info.Width*o.info.Height, len(o.data)
	var most int // pixels that these bytes can hold
	switch o.info.Format {
	case "png":
		// Deflate expands at most 1,032 times, and a byte holds up to 8 pixels.
		most = bytes * 1032 * 8
	case "gif":
		// A 12-bit LZW code stands for at most 4,096 pixels; a smaller frame may
		// stand on a larger screen, which Pillow fills.
		if most = maxScreen; bytes*2731 > most {
			most = bytes * 2731
		}
	case "bmp":
		most = bytes * 8
	case "webp":
		// Nothing bounds what a byte of WebP expands to, nor can its library be
		// stopped when time is up.
		if pixels > maxWebP {
			return &Error{TooLarge, -1, fmt.Sprintf("WebP of %d x %d pixels; at most %d pixels are read in this format",
				o.info.Width, o.info.Height, maxWebP)}
		}
		return nil
	}
	if pixels > most {
		return &Error{Truncated, -1, fmt.Sprintf("%d bytes cannot hold the %d x %d pixels that the %s header says",
			bytes, o.info.Width, o.info.Height, names[o.info.Format])}
	}
	return nil
}

// pixelBytes is what the library's image takes per pixel.
func (o *other) pixelBytes() int {
	switch o.info.Format {
	case "gif":
		return 2 // the frame and the screen
	case "bmp":
		return 4
	case "webp":
		return 8
	}
	n := 4
	if kind := o.data[25]; kind == 0 || kind == 3 {
		n = 1
		if kind == 0 && bytes.Contains(o.data[:min(len(o.data), 4096)], []byte("tRNS")) {
			n = 4
		}
	}
	if o.data[24] == 16 {
		n *= 2
	}
	if o.data[28] != 0 { // interlaced: a pass is an image of its own
		n += n / 2
	}
	return n
}

const (
	maxScreen = 1 << 24
	maxWebP   = 1 << 24
)

// webpFlag reports whether an extended WebP header has one of its flags set.
func webpFlag(data []byte, flag byte) bool {
	return len(data) > 20 && string(data[12:16]) == "VP8X" && data[20]&flag != 0
}

// decode returns the part need of the image. The library's image is kept until
// the next open, so that several crops cost one decode.
func (o *other) decode(need image.Rectangle) (*Picture, error) {
	if o.whole == nil {
		if err := o.read(); err != nil {
			return nil, err
		}
	}
	o.fill(need)
	return &o.picture, nil
}

func (o *other) read() (err error) {
	in := &timedReader{data: bytes.NewReader(o.data), end: time.Now().Add(o.limits.time()), limits: o.limits}
	var whole image.Image
	switch o.info.Format {
	case "png":
		if whole, err = png.Decode(in); err != nil {
			if tolerant := lenientPNG(o.data); tolerant != nil {
				in.data = bytes.NewReader(tolerant)
				whole, err = png.Decode(in)
			}
		}
	case "gif":
		whole, err = readGIF(o.data, in)
	case "bmp":
		whole, err = bmp.Decode(in)
	case "webp":
		whole, err = webp.Decode(in)
	}
	if err != nil {
		return libraryError(o.info.Format, err)
	}
	screen := image.Rect(0, 0, o.info.Width, o.info.Height)
	if o.info.Format != "gif" && whole.Bounds() != screen {
		return &Error{Damaged, -1, fmt.Sprintf("%s image is %v inside, its header says %v", names[o.info.Format], whole.Bounds().Size(), screen.Size())}
	}
	o.whole = whole
	return nil
}

// timedReader ends a library's decode when the time for one image is up.
//
// It is no io.ByteReader, so that libraries read in blocks and the clock is asked
// once per block.
type timedReader struct {
	data   *bytes.Reader
	end    time.Time
	limits Limits
}

func (t *timedReader) Read(p []byte) (int, error) {
	if time.Now().After(t.end) {
		return 0, t.limits.tooSlow()
	}
	return t.data.Read(p[:min(len(p), 4096)])
}

// libraryError gives a library's error its kind.
func libraryError(format string, err error) error {
	var ours *Error
	var unsupported png.UnsupportedError
	kind := Damaged
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.HasSuffix(err.Error(), "not enough pixel data"), strings.HasSuffix(err.Error(), "not enough image data"):
		return &Error{Truncated, -1, names[format] + " file ends before the image does"}
	case errors.As(err, &unsupported), errors.Is(err, bmp.ErrUnsupported):
		kind = Unsupported
	}
	return &Error{kind, -1, err.Error()}
}

// lenientPNG makes a PNG anew out of what Pillow looks at in one that image/png
// refuses: the chunks before the image data and these, whose checksums it passes
// over, and nothing behind them. nil: there are no image data.
func lenientPNG(data []byte) []byte {
	const signature = 8
	var out []byte
	for at := signature; at+12 <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		end := min(at+8+size, len(data)-4)
		switch name := data[at+4 : at+8]; {
		case string(name) == "IDAT":
			if out == nil {
				out = bytes.Clone(data[:at])
			}
			chunk := append(bytes.Clone(name), data[at+8:end]...)
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4)), chunk...)
			out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
		case out != nil:
			return append(out, endOfPNG...)
		}
		at = end + 4
	}
	if out == nil {
		return nil
	}
	return append(out, endOfPNG...)
}

const endOfPNG = "\x00\x00\x00\x00IEND\xae\x42\x60\x82"

// readGIF returns the first frame with the colours of its palette. image/gif
// replaces the transparent colour, which Pillow keeps when it converts to RGB, so
// the flag that says which one it is gets cleared first.
func readGIF(data []byte, in *timedReader) (image.Image, error) {
	at, transparent := gifTransparency(data)
	if at > 0 {
		clean := bytes.Clone(data)
		clean[at] &^= 1
		in.data = bytes.NewReader(clean)
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

// fill writes the part need of the whole image into planes. Transparency is
// dropped, not composed, as Pillow's convert("RGB") does.
func (o *other) fill(need image.Rectangle) {
	grey := o.grey()
	o.picture = Picture{Size: image.Pt(o.info.Width, o.info.Height), Bounds: need, Model: RGB, SubX: 1, SubY: 1}
	n := 3
	if grey {
		o.picture.Model, n = Grey, 1
	}
	width, size := need.Dx(), need.Dx()*need.Dy()
	for i := range n {
		if cap(o.planes[i]) < size {
			o.planes[i] = make([]byte, size)
		}
		o.picture.Planes[i], o.picture.Stride[i] = o.planes[i][:size], width
	}
	for y := range need.Dy() {
		row := [3][]byte{}
		for i := range n {
			row[i] = o.picture.Planes[i][y*width:][:width]
		}
		readRow(o.whole, need.Min.X, need.Min.Y+y, row)
	}
}

// grey reports whether one plane is enough. A 16-bit grey PNG with a transparent
// shade comes from the library in colour.
func (o *other) grey() bool {
	switch o.whole.(type) {
	case *image.Gray, *image.Gray16:
		return true
	case *image.NRGBA64:
		return o.info.Format == "png" && o.data[25]&2 == 0 && o.data[25]&4 == 0
	}
	return false
}

// readRow copies pixels of row y from x on: as many as the planes' row holds.
func readRow(m image.Image, x, y int, row [3][]byte) {
	width := len(row[0])
	switch m := m.(type) {
	case *image.Gray:
		copy(row[0], m.Pix[m.PixOffset(x, y):])
	case *image.Gray16:
		deepGrey(m.Pix[m.PixOffset(x, y):], 2, row[0])
	case *image.NRGBA:
		split(m.Pix[m.PixOffset(x, y):][:4*width], 1, row)
	case *image.RGBA: // of the libraries here only opaque images are of this type
		split(m.Pix[m.PixOffset(x, y):][:4*width], 1, row)
	case *image.NRGBA64: // the high bytes are Pillow's
		if row[1] == nil {
			deepGrey(m.Pix[m.PixOffset(x, y):], 8, row[0])
			return
		}
		split(m.Pix[m.PixOffset(x, y):][:8*width], 2, row)
	case *image.RGBA64:
		split(m.Pix[m.PixOffset(x, y):][:8*width], 2, row)
	case *image.Paletted:
		for i, index := range m.Pix[m.PixOffset(x, y):][:width] {
			row[0][i], row[1][i], row[2][i] = entry(m.Palette, index)
		}
	case *image.YCbCr:
		webpRow(m, x, y, row)
	case *image.NYCbCrA:
		webpRow(&m.YCbCr, x, y, row)
	}
}

// deepGrey reads 16-bit shades that lie step bytes apart. Pillow cuts them off at
// 255, it does not scale them.
func deepGrey(pixels []byte, step int, row []byte) {
	for i := range row {
		row[i] = uint8(min(binary.BigEndian.Uint16(pixels[step*i:]), 255))
	}
}

// split takes apart four-channel pixels of which each channel has size bytes.
func split(pixels []byte, size int, row [3][]byte) {
	for i := range row[0] {
		p := pixels[4*size*i:][:4*size]
		row[0][i], row[1][i], row[2][i] = p[0], p[size], p[2*size]
	}
}

// entry is a palette's colour without its transparency; an index behind the end
// is black.
func entry(p color.Palette, index uint8) (r, g, b uint8) {
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

// webpRow converts a row of a lossy WebP as libwebp does: chroma is interpolated
// with weights 9, 3, 3, 1, then fixed-point BT.601 with 14 bits.
func webpRow(m *image.YCbCr, x, y int, row [3][]byte) {
	height := (m.Rect.Dy() + 1) / 2
	near := y / 2
	far := near - 1 + y%2*2
	if far < 0 || far >= height {
		far = near
	}
	width := (m.Rect.Dx() + 1) / 2
	luma := m.Y[y*m.YStride:]
	cb0, cb1 := m.Cb[near*m.CStride:][:width], m.Cb[far*m.CStride:][:width]
	cr0, cr1 := m.Cr[near*m.CStride:][:width], m.Cr[far*m.CStride:][:width]
	for i := range row[0] {
		column := x + i
		side := column/2 - 1 + column%2*2
		if side < 0 || side >= width {
			side = column / 2
		}
		u := mix(cb0[column/2], cb0[side], cb1[column/2], cb1[side])
		v := mix(cr0[column/2], cr0[side], cr1[column/2], cr1[side])
		row[0][i], row[1][i], row[2][i] = webpRGB(luma[column], u, v)
	}
}

// mix is libwebp's fancy upsampling of one sample, with its rounding: the
// diagonals are averaged first.
func mix(near, side, far, corner uint8) int {
	a, b, c, d := int(near), int(side), int(far), int(corner)
	diagonal := (a + b + c + d + 8 + 2*(b+c)) >> 3
	return (diagonal + a) >> 1
}

func webpRGB(luma uint8, u, v int) (r, g, b uint8) {
	y := int(luma) * 19077 >> 8
	return webpClip(y + v*26149>>8 - 14234),
		webpClip(y - u*6419>>8 - v*13320>>8 + 8708),
		webpClip(y + u*33050>>8 - 17685)
}

func webpClip(v int) uint8 { return uint8(max(0, min(v>>6, 255))) }
