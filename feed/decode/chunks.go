package decode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// pngChunks is what Pillow remembers of a PNG's chunks: of those before the image data when it
// opens the file, of those after when it loads the pixels. Pillow raises an error for some
// faults that image/png ignores, or that lenientPNG cuts off.
type pngChunks struct {
	width  uint32
	height uint32
	kind   byte  // colour type
	frames int64 // number that the file declares; 0: none, or an invalid declaration
	frame  int64 // sequence number of the last frame chunk, -1: none so far
	shown  bool  // the image data are a frame of the animation
	text   int   // bytes
}

const (
	maxText    = 1 << 20 // limit on the size of a compressed chunk after decompression
	maxAllText = 64 * maxText
)

// shortest lists the chunks for which Pillow raises an error if they are shorter.
var shortest = map[string]int{"gAMA": 4, "cHRM": 32, "sRGB": 1, "pHYs": 9, "acTL": 8, "fcTL": 26, "fdAT": 4}

// checkChunks returns why some Pillow since version 10 would refuse the pixels in a PNG's first
// run of IDAT chunks, or nil if none would.
func checkChunks(data []byte) error {
	c := pngChunks{frame: -1}
	behind := false // after the image data
	for at := 8; ; {
		if len(data)-at < 8 || !isChunkName(data[at+4:at+8]) {
			if behind {
				return nil
			}
			return damagedPNG("ends, or goes on with no name of a chunk, before its image data")
		}
		name, size := string(data[at+4:at+8]), int(binary.BigEndian.Uint32(data[at:]))
		body := data[at+8:]
		whole := size <= len(body)
		body = body[:min(size, len(body))]
		switch {
		case name == "IEND" && behind, name == "fcTL" && behind && c.isAnimated():
			return nil
		case name == "IEND":
			return damagedPNG("has no image data")
		case name == "IDAT" && !behind:
			if behind = true; !whole { // the rest of the file is image data
				return nil
			}
		case !whole:
			return &SampleError{Truncated, -1, "the PNG file ends within its chunk " + name}
		default:
			if err := c.read(name, body, behind); err != nil {
				return err
			}
		}
		at += 12 + size
	}
}

// isAnimated reports whether Pillow reads only the first frame at this point.
func (c *pngChunks) isAnimated() bool { return c.frames > 1 || c.frames == 1 && !c.shown }

func (c *pngChunks) read(name string, body []byte, behind bool) error {
	if len(body) < shortest[name] {
		return damagedPNG("has a chunk " + name + " that is too short")
	}
	switch name {
	case "IHDR":
		return c.readHeader(body)
	case "tRNS":
		if c.kind == 0 && len(body) < 2 || c.kind == 2 && len(body) < 6 {
			return damagedPNG("has a chunk tRNS that is too short")
		}
	case "cHRM":
		if len(body)%4 != 0 { // Pillow 13 reads as many numbers as it needs
			return damagedPNG("has a chunk cHRM with part of a number")
		}
	case "acTL", "fcTL", "fdAT":
		return c.readFrame(name, body, behind)
	case "iCCP", "tEXt", "zTXt", "iTXt":
		return c.readText(name, body)
	}
	return nil
}

func (c *pngChunks) readHeader(body []byte) error {
	if c.width > 0 {
		return newUnsupported("a PNG with two headers")
	}
	if len(body) < 13 {
		return damagedPNG("has a header that is too short")
	}
	c.width, c.height = binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	c.kind = body[9]
	return nil
}

// readFrame checks a chunk of an animation.
func (c *pngChunks) readFrame(name string, body []byte, behind bool) error {
	number := int64(binary.BigEndian.Uint32(body))
	if name == "acTL" {
		switch {
		case behind: // the first declaration counts
		case c.frames > 0:
			c.frames = 0 // a second declaration makes both invalid
		case number <= 1<<31:
			c.frames = number
		}
		return nil
	}
	if number != c.frame+1 || name == "fdAT" && c.frame < 0 {
		return damagedPNG("has frames in the wrong order")
	}
	c.frame = number
	if name == "fdAT" {
		if !behind {
			return newUnsupported("a PNG whose first frame comes before its picture")
		}
		return nil
	}
	var box [4]uint64 // width, height, left, top
	for i := range box {
		box[i] = uint64(binary.BigEndian.Uint32(body[4+4*i:]))
	}
	width, height := uint64(c.width), uint64(c.height)
	switch {
	case box[0]+box[2] > width || box[1]+box[3] > height:
		return damagedPNG("has a frame that leaves the picture")
	case !behind && (box[0] != width || box[1] != height):
		return newUnsupported("a PNG whose first frame is smaller than the picture")
	}
	c.shown = c.shown || !behind
	return nil
}

// readText checks a chunk of text or with a colour profile, which it decompresses as far as
// Pillow would.
func (c *pngChunks) readText(name string, body []byte) error {
	key := bytes.IndexByte(body, 0) // -1 if missing; as in Pillow, the byte after it is then the first
	var packed []byte
	switch name {
	case "iCCP":
		if key+1 >= len(body) || body[key+1] != 0 {
			return damagedPNG("has a profile that is packed in an unknown way")
		}
		packed = body[key+2:]
	case "zTXt":
		if key < 0 || key+1 == len(body) {
			return nil
		}
		if body[key+1] != 0 {
			return damagedPNG("has text that is packed in an unknown way")
		}
		packed = body[key+2:]
	case "iTXt":
		if key >= 0 && len(body)-key > 2 && body[key+1] != 0 && body[key+2] == 0 {
			if parts := bytes.SplitN(body[key+3:], []byte{0}, 3); len(parts) == 3 {
				packed = parts[2]
			}
		}
	}
	size := unpackedSize(packed)
	if size >= maxText {
		return &SampleError{TooLarge, -1, "the PNG file has text or a profile of a mebibyte or more, when it is unpacked"}
	}
	if name == "iCCP" {
		return nil
	}
	if c.text += max(size, len(body)); c.text > maxAllText {
		return &SampleError{TooLarge, -1, "the PNG file has more than 64 mebibytes of text"}
	}
	return nil
}

// unpackedSize returns the size of zlib data after decompression, or maxText if it is larger.
// Damaged data count as far as they can be decompressed.
func unpackedSize(packed []byte) int {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return 0
	}
	n, _ := io.CopyN(io.Discard, r, maxText)
	return int(n)
}

// isChunkName reports whether Pillow accepts four bytes as the name of a chunk.
func isChunkName(name []byte) bool {
	for _, b := range name {
		if b != '_' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
			return false
		}
	}
	return true
}

func damagedPNG(what string) error { return &SampleError{Damaged, -1, "the PNG file " + what} }
