package webp

import (
	"image"
)

// frameSize reads the header of a lossy picture.
func frameSize(data []byte, at int) (width, height int, err error) {
	if len(data) < startCode {
		return 0, 0, ErrCut
	}
	tag := int24(data)
	width, height = (int(data[6])|int(data[7])<<8)&largestSide, (int(data[8])|int(data[9])<<8)&largestSide
	switch {
	case tag&1 != 0 || tag>>1&7 > 3 || tag>>4&1 == 0 || int24(data[3:]) != 0x2a019d:
		return 0, 0, damageAt(at+chunkHeader, "a lossy picture that is no whole frame to be shown")
	case tag>>5 >= len(data):
		return 0, 0, damageAt(at+chunkHeader, "a first partition of %d bytes in a chunk of %d", tag>>5, len(data))
	case width == 0 || height == 0:
		return 0, 0, damageAt(at+chunkHeader, "a lossy picture of %d x %d pixels: neither may be 0", width, height)
	}
	return width, height, nil
}

// decodeFrame decodes a lossy picture. inexact means that libwebp's vectors may give a
// different result.
func decodeFrame(data []byte, width, height int) (m *image.YCbCr, inexact bool, err error) {
	f := &frame{
		across: (width + 15) / 16, down: (height + 15) / 16, odds: firstOdds,
		segmentOdds: [3]uint8{255, 255, 255}, absolute: true,
	}
	first := int24(data) >> 5
	rest := data[startCode:]
	if first > len(rest) {
		return nil, false, ErrCut
	}
	f.boolReader = newBoolReader(rest[:first])
	if err := f.readHeaders(rest[first:]); err != nil {
		return nil, false, err
	}
	f.makePlanes()
	for y := range f.down {
		if err := f.decodeRow(y); err != nil {
			return nil, false, err
		}
	}
	if f.level > 0 {
		f.applyFilters()
	}
	return f.image(width, height), f.inexact, nil
}
