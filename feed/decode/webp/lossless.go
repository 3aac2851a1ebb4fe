package webp

import (
	"encoding/binary"
	"image"
)

// Pixels of a lossless picture are ARGB, alpha in the highest byte.

const (
	losslessSign   = 0x2f
	losslessHeader = 5
)

// losslessSize reads the header of a lossless picture.
func losslessSize(data []byte, at int) (width, height int, alpha bool, err error) {
	if len(data) < losslessHeader {
		return 0, 0, false, ErrCut
	}
	bits := binary.LittleEndian.Uint32(data[1:])
	if data[0] != losslessSign || bits>>29 != 0 {
		return 0, 0, false, damageAt(at+chunkHeader, "a lossless picture without its sign, or of a later version")
	}
	return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), bits>>28&1 == 1, nil
}

func decodeLossless(data []byte, width, height int) (image.Image, error) {
	r := &bitReader{data: data}
	for range losslessHeader {
		r.read(8)
	}
	pixels, err := decodePixels(r, width, height)
	if err != nil {
		return nil, err
	}
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i, p := range pixels {
		binary.BigEndian.PutUint32(m.Pix[4*i:], p<<8|p>>24)
	}
	return m, nil
}

// decodePixels decodes a picture with its transforms.
func decodePixels(r *bitReader, width, height int) ([]uint32, error) {
	var all []transform
	var seen [transforms]bool
	narrow := width
	for r.read(1) == 1 {
		kind := r.read(2)
		if seen[kind] {
			return nil, damageAt(-1, "a transform that comes twice")
		}
		seen[kind] = true
		t := transform{kind: kind, width: narrow}
		if err := t.read(r, narrow, height); err != nil {
			return nil, err
		}
		if kind == indexed {
			narrow = divideUp(narrow, t.bits)
		}
		all = append(all, t)
	}
	pixels, err := decodeImage(r, narrow, height, true)
	if err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		pixels = all[i].undo(pixels, height)
	}
	return pixels, nil
}

// read reads the data of a transform.
func (t *transform) read(r *bitReader, width, height int) (err error) {
	switch t.kind {
	case predicted, crossed:
		t.bits = r.read(3) + 2
		t.pixels, err = decodeImage(r, divideUp(width, t.bits), divideUp(height, t.bits), false)
	case indexed:
		colours := r.read(8) + 1
		switch {
		case colours <= 2:
			t.bits = 3
		case colours <= 4:
			t.bits = 2
		case colours <= 16:
			t.bits = 1
		}
		var palette []uint32
		if palette, err = decodeImage(r, colours, 1, false); err != nil {
			return err
		}
		t.pixels = make([]uint32, 256) // an index beyond the palette is transparent black
		for i, p := range palette {
			if i > 0 {
				p = addPixels(p, t.pixels[i-1])
			}
			t.pixels[i] = p
		}
	}
	return err
}

// codes are the prefix codes for a pixel: green with lengths and cache, red, blue, alpha,
// distances.
type codes [5]prefixCode

const (
	literals  = 256
	lengths   = 24
	distances = 40
)

// decodeImage decodes the pixels of a picture, or of data of a transform or of the choice of
// codes. Only a whole picture may have several groups of codes.
func decodeImage(r *bitReader, width, height int, whole bool) ([]uint32, error) {
	cacheBits := 0
	if r.read(1) == 1 {
		if cacheBits = r.read(4); cacheBits < 1 || cacheBits > 11 {
			return nil, damageAt(-1, "a cache of 2^%d colours: 2^1 to 2^11 are possible", cacheBits)
		}
	}
	p := &pixelReader{bitReader: r, width: width, pixels: make([]uint32, width*height)}
	if cacheBits > 0 {
		p.cache, p.cacheShift = make([]uint32, 1<<cacheBits), 32-cacheBits
	}
	groups := 1
	if whole && r.read(1) == 1 {
		p.bits = r.read(3) + 2
		p.across = divideUp(width, p.bits)
		var err error
		if p.groups, err = decodeImage(r, p.across, divideUp(height, p.bits), false); err != nil {
			return nil, err
		}
		for i, g := range p.groups {
			p.groups[i] = g >> 8 & 0xffff
			groups = max(groups, int(p.groups[i])+1)
		}
	}
	if r.overrun() {
		return nil, ErrCut
	}
	if err := p.readCodes(groups); err != nil {
		return nil, err
	}
	if err := p.decode(); err != nil {
		return nil, err
	}
	return p.pixels, nil
}

// pixelReader decodes the pixels of one image.
type pixelReader struct {
	*bitReader
	width      int
	pixels     []uint32
	cache      []uint32
	cacheShift int

	all    []codes
	groups []uint32 // by tile: index into all; nil if there is one group
	bits   int      // log2 of a tile's side
	across int      // tiles in a row
}

// mostGroups limits the groups of codes that are kept, at 6 kB or more each. libwebp's encoder
// makes at most 2,600.
const mostGroups = 2600

// readCodes reads the codes of all groups, and keeps those that tiles use.
func (p *pixelReader) readCodes(groups int) error {
	place := make([]int32, groups) // index of a kept group plus one; 0: not kept
	kept := int32(0)
	for i, g := range p.groups {
		if place[g] == 0 {
			kept++
			place[g] = kept
		}
		p.groups[i] = uint32(place[g] - 1)
	}
	if p.groups == nil {
		place[0], kept = 1, 1
	}
	if kept > mostGroups {
		return damageAt(-1, "a picture of %d codes: at most %d are kept", kept, mostGroups)
	}
	p.all = make([]codes, kept)
	var unused codes
	var room [literals + lengths + 1<<11]uint8
	for _, at := range place {
		c := &unused
		if at > 0 {
			c = &p.all[at-1]
		}
		for i, symbols := range [...]int{literals + lengths + len(p.cache), literals, literals, literals, distances} {
			if !readLengths(p.bitReader, room[:symbols]) || !c[i].build(room[:symbols]) {
				return p.explainEnd("a prefix code that is none")
			}
		}
	}
	return nil
}

// explainEnd returns why decoding failed: at the end of the data, zeros look like damage.
func (r *bitReader) explainEnd(text string) error {
	if r.overrun() {
		return ErrCut
	}
	return damageAt(-1, "%s", text)
}

// lengthOrder is the order in which the lengths of the length code are stored.
var lengthOrder = [19]int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// readLengths reads the lengths of a prefix code.
func readLengths(r *bitReader, lengths []uint8) bool {
	clear(lengths)
	if r.read(1) == 1 { // one or two symbols
		two, wide := r.read(1), r.read(1)
		setLength(lengths, r.read(1+7*wide))
		if two == 1 {
			setLength(lengths, r.read(8))
		}
		return true
	}
	var of [len(lengthOrder)]uint8
	for _, i := range lengthOrder[:4+r.read(4)] {
		of[i] = uint8(r.read(3))
	}
	var code prefixCode
	if !code.build(of[:]) {
		return false
	}
	left := len(lengths)
	if r.read(1) == 1 {
		if left = 2 + r.read(2+2*r.read(3)); left > len(lengths) {
			return false
		}
	}
	before := uint8(8)
	for at := 0; at < len(lengths) && left > 0; left-- {
		n := code.next(r)
		if n < 16 {
			lengths[at] = uint8(n)
			at++
			if n > 0 {
				before = uint8(n)
			}
			continue
		}
		repeat, value := 0, uint8(0)
		switch n {
		case 16:
			repeat, value = 3+r.read(2), before
		case 17:
			repeat = 3 + r.read(3)
		default:
			repeat = 11 + r.read(7)
		}
		if at+repeat > len(lengths) {
			return false
		}
		for range repeat {
			lengths[at] = value
			at++
		}
	}
	return !r.overrun()
}

// setLength gives a symbol a code of one bit, and ignores a symbol outside of the alphabet.
func setLength(lengths []uint8, symbol int) {
	if symbol < len(lengths) {
		lengths[symbol] = 1
	}
}

// decode decodes the pixels.
func (p *pixelReader) decode() error {
	c := &p.all[0]
	cached, mask := 0, 1<<p.bits-1
	x, y := 0, 0
	for at := 0; at < len(p.pixels); {
		if p.groups != nil && x&mask == 0 {
			c = p.codesAt(x, y)
		}
		symbol := c[0].next(p.bitReader)
		switch {
		case symbol < literals:
			red, blue, alpha := c[1].next(p.bitReader), c[2].next(p.bitReader), c[3].next(p.bitReader)
			p.pixels[at] = uint32(alpha)<<24 | uint32(red)<<16 | uint32(symbol)<<8 | uint32(blue)
		case symbol < literals+lengths:
			length := p.readNumber(symbol - literals)
			distance := p.pixelDistance(p.readNumber(c[4].next(p.bitReader)))
			if distance > at || length > len(p.pixels)-at {
				return p.explainEnd("pixels that are copied from outside of the picture")
			}
			for i := range length {
				p.pixels[at+i] = p.pixels[at+i-distance]
			}
			at += length
			y, x = y+(x+length)/p.width, (x+length)%p.width
			if p.groups != nil && at < len(p.pixels) {
				c = p.codesAt(x, y)
			}
			continue
		default:
			for ; cached < at; cached++ {
				p.cache[p.cachePlace(p.pixels[cached])] = p.pixels[cached]
			}
			p.pixels[at] = p.cache[symbol-literals-lengths]
		}
		at++
		if x++; x == p.width {
			x, y = 0, y+1
			if p.overrun() {
				return ErrCut
			}
		}
	}
	if p.overrun() {
		return ErrCut
	}
	return nil
}

func (p *pixelReader) codesAt(x, y int) *codes { return &p.all[p.groups[y>>p.bits*p.across+x>>p.bits]] }

func (p *pixelReader) cachePlace(pixel uint32) uint32 { return pixel * 0x1e35a7bd >> p.cacheShift }

// readNumber reads a length or a distance.
func (r *bitReader) readNumber(symbol int) int {
	if symbol < 4 {
		return symbol + 1
	}
	bits := (symbol - 2) >> 1
	return (2+symbol&1)<<bits + r.read(bits) + 1
}

// near are the distances to nearby pixels, as 16 x rows up plus 8 minus columns to the left.
var near = [120]uint8{
	0x18, 0x07, 0x17, 0x19, 0x28, 0x06, 0x27, 0x29, 0x16, 0x1a, 0x26, 0x2a, 0x38, 0x05, 0x37,
	0x39, 0x15, 0x1b, 0x36, 0x3a, 0x25, 0x2b, 0x48, 0x04, 0x47, 0x49, 0x14, 0x1c, 0x35, 0x3b,
	0x46, 0x4a, 0x24, 0x2c, 0x58, 0x45, 0x4b, 0x34, 0x3c, 0x03, 0x57, 0x59, 0x13, 0x1d, 0x56,
	0x5a, 0x23, 0x2d, 0x44, 0x4c, 0x55, 0x5b, 0x33, 0x3d, 0x68, 0x02, 0x67, 0x69, 0x12, 0x1e,
	0x66, 0x6a, 0x22, 0x2e, 0x54, 0x5c, 0x43, 0x4d, 0x65, 0x6b, 0x32, 0x3e, 0x78, 0x01, 0x77,
	0x79, 0x53, 0x5d, 0x11, 0x1f, 0x64, 0x6c, 0x42, 0x4e, 0x76, 0x7a, 0x21, 0x2f, 0x75, 0x7b,
	0x31, 0x3f, 0x63, 0x6d, 0x52, 0x5e, 0x00, 0x74, 0x7c, 0x41, 0x4f, 0x10, 0x20, 0x62, 0x6e,
	0x30, 0x73, 0x7d, 0x51, 0x5f, 0x40, 0x72, 0x7e, 0x61, 0x6f, 0x50, 0x71, 0x7f, 0x60, 0x70,
}

// pixelDistance returns how many pixels back a distance code points.
func (p *pixelReader) pixelDistance(number int) int {
	if number > len(near) {
		return number - len(near)
	}
	n := int(near[number-1])
	return max(1, n>>4*p.width+8-n&15)
}
