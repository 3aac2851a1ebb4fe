//go:build amd64 || arm64

package transform

// convertPixels converts all pixels except the last n%8, and returns how many it has converted.
func (a *scaleShift) convertPixels(dst, pixels []byte, channel int, dtype string) int {
	n := len(pixels) &^ 7
	if n == 0 {
		return 0
	}
	unit, constants := &a.unit[0], &a.constants[channel][0][0]
	switch dtype {
	case "float32":
		_ = dst[4*n-1]
		affine32(&dst[0], &pixels[0], n, unit, constants)
	case "float16":
		_ = dst[2*n-1]
		affineHalf(&dst[0], &pixels[0], n, unit, constants)
	case "bfloat16":
		_ = dst[2*n-1]
		affineBrain(&dst[0], &pixels[0], n, unit, constants)
	}
	return n
}

// interleaveSIMD returns how many pixels it has interleaved.
func interleaveSIMD(dst, red, green, blue []byte) int {
	n := len(red) &^ 15
	if n > 0 {
		_, _, _ = dst[3*n-1], green[n-1], blue[n-1]
		interleave(&dst[0], &red[0], &green[0], &blue[0], n)
	}
	return n
}
