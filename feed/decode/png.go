package decode

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// lenientPNG rebuilds a PNG that image/png refuses from what Pillow reads of it: the chunks up
// to the end of the image data, with correct checksums, and nothing after them. It returns nil
// if there are no image data.
func lenientPNG(data []byte) []byte {
	const signature = 8
	var out []byte
	for at := signature; at+8 <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		end := min(at+8+size, len(data))
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

// deepGrey reads 16-bit shades that are step bytes apart. Pillow limits them to 255; it does
// not scale them.
func deepGrey(pixels []byte, step int, row []byte) {
	for i := range row {
		row[i] = uint8(min(binary.BigEndian.Uint16(pixels[step*i:]), 255))
	}
}
