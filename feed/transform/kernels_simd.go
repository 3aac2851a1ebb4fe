//go:build amd64 || arm64

package transform

// sumChunksSIMD makes all outputs of stripRows rows.
func sumChunksSIMD(dst []byte, dstStride int, src []byte, srcStride int, t *kernelTable) {
	_, _ = dst[(stripRows-1)*dstStride+t.outputs-1], src[(stripRows-1)*srcStride+t.reach-1]
	sumChunks(&dst[0], dstStride, &src[0], srcStride, &t.origins[0], &t.cells[0], t.chunks, t.outputs)
}

// convertPixels converts all pixels but for the last n%8 and returns how many.
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

// interleaveSIMD mixes n pixels; all have room for n rounded up to 16.
func interleaveSIMD(dst, row []byte, stride, n int) {
	n = (n + 15) &^ 15
	_, _ = dst[3*n-1], row[2*stride+n-1]
	interleave(&dst[0], &row[0], &row[stride], &row[2*stride], n)
}
