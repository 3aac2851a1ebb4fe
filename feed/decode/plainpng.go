package decode

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"

	"github.com/klauspost/compress/zlib"
)

// plainPNG reads a PNG as most are written: grey of 8 or 16 bits or colour of 8, not
// interlaced, without a transparent colour, whose checksums are right. It gives what
// image/png gives, in half of the time; nil: that is to read it, whatever it says.
func plainPNG(data []byte) image.Image {
	if len(data) < 33 || !hasPlainPixels(data[24], data[25]) {
		return nil
	}
	packed := packedPixels(data)
	if packed == nil {
		return nil
	}
	width, height := int(binary.BigEndian.Uint32(data[16:])), int(binary.BigEndian.Uint32(data[20:]))
	screen := image.Rect(0, 0, width, height)
	in := bytes.NewReader(packed)
	rows, err := zlib.NewReader(in)
	if err != nil {
		return nil
	}
	var whole image.Image
	ok := false
	switch depth, kind := data[24], data[25]; {
	case depth == 8 && kind == 0:
		m := image.NewGray(screen)
		whole, ok = m, readRows(rows, m.Pix, m.Stride, 1)
	case depth == 16 && kind == 0:
		m := image.NewGray16(screen)
		whole, ok = m, readRows(rows, m.Pix, m.Stride, 2)
	case depth == 8 && kind == 6:
		m := image.NewNRGBA(screen)
		whole, ok = m, readRows(rows, m.Pix, m.Stride, 4)
	case depth == 8 && kind == 2:
		m := image.NewRGBA(screen)
		whole, ok = m, readColours(rows, m.Pix, width)
	}
	// Behind the pixels a checksum is expected, and nothing else.
	if n, err := rows.Read(make([]byte, 1)); !ok || n != 0 || err != io.EOF || in.Len() != 0 {
		return nil
	}
	return whole
}

// hasPlainPixels comes first, as palettes and their like would be unpacked for nothing.
func hasPlainPixels(depth, kind byte) bool {
	return depth == 8 && (kind == 0 || kind == 2 || kind == 6) || depth == 16 && kind == 0
}

// packedPixels is what the IDAT chunks hold; nil where there is something else than such
// chunks in a row, ancillary ones around them and the end.
func packedPixels(data []byte) []byte {
	if string(data[12:16]) != "IHDR" || data[26] != 0 || data[27] != 0 || data[28] != 0 {
		return nil
	}
	var packed []byte
	behind := false
	for at := 8; at+12 <= len(data); {
		size, name := int(binary.BigEndian.Uint32(data[at:])), data[at+4:at+8]
		end := at + 8 + size
		if end+4 > len(data) || binary.BigEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[at+4:end]) {
			return nil
		}
		switch {
		case string(name) == "IEND":
			if size != 0 {
				return nil
			}
			return packed
		case string(name) == "IHDR":
			if at != 8 || size != 13 {
				return nil
			}
		case string(name) == "IDAT":
			if behind {
				return nil
			}
			packed = append(packed, data[at+8:end]...)
		case name[0]&32 == 0 || string(name) == "tRNS":
			return nil
		default:
			behind = packed != nil
		}
		at = end + 4
	}
	return nil
}

// readRows unpacks rows into pixels of so many bytes; false: they end before, or have a
// filter that there is none of.
func readRows(in io.Reader, pixels []byte, stride, each int) bool {
	above := make([]byte, stride)
	for ; len(pixels) > 0; pixels = pixels[stride:] {
		if !readFiltered(in, pixels[:stride], above, each) {
			return false
		}
		above = pixels[:stride]
	}
	return true
}

// readColours is the same for three bytes a pixel, which become four.
func readColours(in io.Reader, pixels []byte, width int) bool {
	row, above := make([]byte, 3*width), make([]byte, 3*width)
	for ; len(pixels) > 0; pixels = pixels[4*width:] {
		if !readFiltered(in, row, above, 3) {
			return false
		}
		for i := range width {
			p, to := row[3*i:][:3], pixels[4*i:][:4]
			to[0], to[1], to[2], to[3] = p[0], p[1], p[2], 255
		}
		row, above = above, row
	}
	return true
}

func readFiltered(in io.Reader, row, above []byte, each int) bool {
	var filter [1]byte
	if _, err := io.ReadFull(in, filter[:]); err != nil || filter[0] > 4 {
		return false
	}
	if _, err := io.ReadFull(in, row); err != nil {
		return false
	}
	unfilter(filter[0], row, above, each)
	return true
}

// unfilter adds to a row what its filter took off.
func unfilter(filter byte, row, above []byte, each int) {
	switch filter {
	case 1:
		for i := each; i < len(row); i++ {
			row[i] += row[i-each]
		}
	case 2:
		for i, v := range above {
			row[i] += v
		}
	case 3:
		for i := range each {
			row[i] += above[i] / 2
		}
		for i := each; i < len(row); i++ {
			row[i] += uint8((int(row[i-each]) + int(above[i])) / 2)
		}
	case 4:
		if each == 3 {
			paethOfColours(row, above)
			return
		}
		for band := range each {
			paeth(row[band:], above[band:], each)
		}
	}
}

// paeth is the filter of that name, for one byte of each pixel.
func paeth(row, above []byte, each int) {
	left, corner := 0, 0
	for i := 0; i < len(row); i += each {
		up := int(above[i])
		left = (nearestOf(left, up, corner) + int(row[i])) & 255
		row[i], corner = uint8(left), up
	}
}

// paethOfColours does three bytes of each pixel at once: none waits for another.
func paethOfColours(row, above []byte) {
	var r, g, b, cornerR, cornerG, cornerB int
	for len(row) >= 3 && len(above) >= 3 {
		upR, upG, upB := int(above[0]), int(above[1]), int(above[2])
		r = (nearestOf(r, upR, cornerR) + int(row[0])) & 255
		g = (nearestOf(g, upG, cornerG) + int(row[1])) & 255
		b = (nearestOf(b, upB, cornerB) + int(row[2])) & 255
		row[0], row[1], row[2] = uint8(r), uint8(g), uint8(b)
		cornerR, cornerG, cornerB = upR, upG, upB
		row, above = row[3:], above[3:]
	}
}

// nearestOf is which of three is nearest to left + up - corner, the first of equals. It has
// no jump: which one it is cannot be foreseen.
func nearestOf(left, up, corner int) int {
	toLeft, toUp := up-corner, left-corner
	toCorner := toLeft + toUp
	toLeft, toUp, toCorner = max(toLeft, -toLeft), max(toUp, -toUp), max(toCorner, -toCorner)
	nearest, distance := left, toLeft
	if toUp < distance {
		nearest = up
	}
	distance = min(distance, toUp)
	if toCorner < distance {
		nearest = corner
	}
	return nearest
}
