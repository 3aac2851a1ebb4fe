package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"slices"
)

// bitmap is the header of a BMP, as Pillow reads it.
type bitmap struct {
	width, height int
	topDown       bool
	bits          int
	palette       []byte // entries of blue, green, red and usually a fourth byte
	entry         int    // bytes of an entry
	colours       int
	grey          bool // the palette runs from black to white: Pillow then reads the indices as shades
	order         byteOrder
	begin         int // offset of the pixels
}

// byteOrder says where the channels of a pixel are: in which bytes, or in which bits of two
// bytes.
type byteOrder struct {
	red, green, blue int
	bits             [3]int // of red, green and blue in two bytes
}

// orders are the masks of red, green, blue and alpha that Pillow knows, by bits per pixel.
var orders = map[int]map[[4]uint32]byteOrder{
	32: {
		{0xff0000, 0xff00, 0xff, 0}:          {red: 2, green: 1, blue: 0},
		{0xff0000, 0xff00, 0xff, 0xff000000}: {red: 2, green: 1, blue: 0},
		{0xff000000, 0xff0000, 0xff00, 0}:    {red: 3, green: 2, blue: 1},
		{0xff000000, 0xff0000, 0xff00, 0xff}: {red: 3, green: 2, blue: 1},
		{0xff000000, 0xff00, 0xff, 0}:        {red: 3, green: 1, blue: 0},
		{0xff000000, 0xff00, 0xff, 0xff0000}: {red: 3, green: 1, blue: 0},
		{0xff, 0xff00, 0xff0000, 0xff000000}: {red: 0, green: 1, blue: 2},
		{}:                                   {red: 2, green: 1, blue: 0},
	},
	24: {{0xff0000, 0xff00, 0xff}: {red: 2, green: 1, blue: 0}},
	16: {{0xf800, 0x7e0, 0x1f}: {bits: [3]int{5, 6, 5}}, {0x7c00, 0x3e0, 0x1f}: {bits: [3]int{5, 5, 5}}},
}

// plainOrder returns the order of pixels without masks.
func plainOrder(bits int) byteOrder {
	if bits == 16 {
		return byteOrder{bits: [3]int{5, 5, 5}}
	}
	return byteOrder{red: 2, green: 1, blue: 0}
}

const (
	bmpFile  = 14 // size of the file header, before that of the picture
	bmpRaw   = 0
	bmpMasks = 3

	mostColours = 1 << 16 // limit on the entries of a palette, even if pixels have fewer bits
)

// bmpHeaders are the possible lengths of a picture header: OS/2's, and those of Windows'
// versions.
var bmpHeaders = []int{12, 40, 52, 56, 64, 108, 124}

// readBMP reads the header of a BMP.
func readBMP(data []byte) (*bitmap, error) {
	if len(data) < bmpFile+4 {
		return nil, io.ErrUnexpectedEOF
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	header := number(bmpFile)
	if !slices.Contains(bmpHeaders, header) {
		return nil, newUnsupported("a BMP whose header has %d bytes: those of %v are read", header, bmpHeaders)
	}
	behind := bmpFile + header
	if len(data) < behind {
		return nil, io.ErrUnexpectedEOF
	}
	b := &bitmap{begin: number(10), entry: 4}
	compression := bmpRaw
	if header == bmpHeaders[0] {
		b.width, b.height = int(binary.LittleEndian.Uint16(data[18:])), int(binary.LittleEndian.Uint16(data[20:]))
		b.bits, b.entry = int(binary.LittleEndian.Uint16(data[24:])), 3
	} else {
		b.width, b.height, b.topDown = number(18), number(22), data[25] == 0xff
		if b.topDown {
			b.height = 1<<32 - b.height
		}
		b.bits, compression, b.colours = int(binary.LittleEndian.Uint16(data[28:])), number(30), number(46)
	}
	if b.bits <= 8 && b.colours == 0 {
		b.colours = 1 << b.bits
	}
	if b.bits <= 8 && b.begin == behind {
		b.begin += b.entry * b.colours
	}
	return b, b.readColours(data, behind, compression)
}

// readColours reads the masks or the palette after the header.
func (b *bitmap) readColours(data []byte, at, compression int) error {
	if compression != bmpRaw && compression != bmpMasks {
		return newUnsupported("a BMP of compression %d: 0 (none) and 3 (masks) are read", compression)
	}
	switch b.bits {
	case 1, 4, 8:
		if compression == bmpMasks {
			return &SampleError{Damaged, bmpFile, "a BMP with a palette and with masks"}
		}
		return b.readPalette(data, at)
	case 16, 24, 32:
	default:
		return &SampleError{Damaged, bmpFile, fmt.Sprintf("a BMP of %d bits a pixel: 1, 4, 8, 16, 24 and 32 are possible", b.bits)}
	}
	b.order = plainOrder(b.bits)
	if compression == bmpMasks {
		var masks [4]uint32
		masksAt, n := bmpFile+40, 3
		if at >= bmpFile+56 {
			n = 4
		}
		if len(data) < masksAt+4*n {
			return io.ErrUnexpectedEOF
		}
		for i := range n {
			masks[i] = binary.LittleEndian.Uint32(data[masksAt+4*i:])
		}
		if at == bmpFile+40 {
			at += 4 * n
		}
		if b.bits < 32 {
			masks[3] = 0
		}
		order, found := orders[b.bits][masks]
		if !found {
			return &SampleError{Damaged, bmpFile, fmt.Sprintf("a BMP of %d bits with masks %x, which are not known", b.bits, masks)}
		}
		b.order = order
	}
	if b.begin == 0 {
		b.begin = at
	}
	return nil
}

// readPalette reads the palette after the header.
func (b *bitmap) readPalette(data []byte, at int) error {
	end := min(len(data), at+b.entry*b.colours)
	b.palette = data[at:end]
	if b.colours > mostColours || len(b.palette)/b.entry > 256 {
		return &SampleError{Damaged, bmpFile, fmt.Sprintf("a BMP palette of %d colours: %d are possible", b.colours, mostColours)}
	}
	if b.begin == 0 {
		b.begin = end
	}
	b.grey = true
	for i := range b.colours {
		shade := byte(i)
		if b.colours == 2 {
			shade = byte(255 * i)
		}
		at := i * b.entry
		b.grey = b.grey && at+3 <= len(b.palette) && bytes.Equal(b.palette[at:at+3], []byte{shade, shade, shade})
	}
	return nil
}

func bmpConfig(r io.Reader) (image.Config, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return image.Config{}, err
	}
	b, err := readBMP(data)
	if err != nil {
		return image.Config{}, err
	}
	return image.Config{Width: b.width, Height: b.height}, nil
}

// decodeBMP decodes a BMP. Its header has been checked before.
func decodeBMP(data []byte) (image.Image, error) {
	b, err := readBMP(data)
	if err != nil {
		return nil, err
	}
	row := (b.width*b.bits + 31) / 32 * 4 // with padding
	read := (b.width*b.readBits() + 7) / 8
	if read > row {
		return nil, &SampleError{Damaged, bmpFile, "a BMP whose rows are shorter than its grey palette makes them"}
	}
	last := read
	if b.bits == 8 { // Pillow may map these without a copy
		last = row
	}
	if b.begin > len(data) || len(data)-b.begin < row*(b.height-1)+last {
		return nil, io.ErrUnexpectedEOF
	}
	at := func(y int) []byte {
		if !b.topDown {
			y = b.height - 1 - y
		}
		return data[b.begin+y*row:][:read]
	}
	if b.grey {
		return b.decodeGrey(at), nil
	}
	m := &pixmap{make([]byte, 3*b.width*b.height), b.width, b.height, 3 * b.width}
	for y := range b.height {
		out := m.pix[y*m.stride:][:m.stride]
		switch {
		case b.bits <= 8:
			b.lookUp(out, at(y))
		case b.bits == 16:
			b.splitBits(out, at(y))
		default:
			for size, from := b.bits/8, at(y); len(out) > 0; out, from = out[3:], from[size:] {
				out[0], out[1], out[2] = from[b.order.red], from[b.order.green], from[b.order.blue]
			}
		}
	}
	return m, nil
}

// readBits returns how many bits of a row Pillow takes for a pixel: 1 with a grey palette of
// two colours, 8 with a larger grey palette, regardless of the header.
func (b *bitmap) readBits() int {
	switch {
	case b.grey && b.colours <= 2:
		return 1
	case b.grey:
		return 8
	}
	return b.bits
}

func (b *bitmap) decodeGrey(at func(y int) []byte) *image.Gray {
	m := image.NewGray(image.Rect(0, 0, b.width, b.height))
	for y := range b.height {
		row, from := m.Pix[y*m.Stride:][:b.width], at(y)
		if b.colours > 2 {
			copy(row, from)
			continue
		}
		for x := range row {
			row[x] = 255 * (from[x/8] >> (7 - x%8) & 1)
		}
	}
	return m
}

// lookUp replaces palette indices by colours. An index beyond the palette is black.
func (b *bitmap) lookUp(out, from []byte) {
	for x := 0; 3*x < len(out); x++ {
		bit := x * b.bits
		n := int(from[bit/8]>>(8-b.bits-bit%8)) & (1<<b.bits - 1)
		if at := n * b.entry; at+b.entry <= len(b.palette) {
			out[3*x], out[3*x+1], out[3*x+2] = b.palette[at+2], b.palette[at+1], b.palette[at]
		}
	}
}

// splitBits splits pixels of two bytes into colours.
func (b *bitmap) splitBits(out, from []byte) {
	for ; len(out) > 0; out, from = out[3:], from[2:] {
		v := int(binary.LittleEndian.Uint16(from))
		for i := 2; i >= 0; i-- {
			most := 1<<b.order.bits[i] - 1
			out[i] = byte(v & most * 255 / most)
			v >>= b.order.bits[i]
		}
	}
}
