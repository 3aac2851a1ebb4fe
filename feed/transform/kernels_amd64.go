package transform

// sumRowsSIMD makes n bytes, a multiple of Vector, from the rows of the pairs.
func sumRowsSIMD(dst, src []byte, stride int, pairs []rowWeight, n int) {
	_, _ = dst[n-1], src[(2*len(pairs)-1)*stride+n-1]
	sumPairs(&dst[0], &src[0], stride, (*uint64)(&pairs[0]), len(pairs), n)
}

// sumGroupsSIMD makes whole groups of stripRows rows.
func sumGroupsSIMD(dst []byte, dstStride int, src []byte, srcStride int, t *kernelTable) {
	groups := len(t.origins) / 2
	_, _ = dst[(stripRows-1)*dstStride+groups*group-1], src[(stripRows-1)*srcStride+t.reach-1]
	origins, cells := &t.origins[0], &t.cells[0]
	switch t.steps {
	case 1:
		sumGroups1(&dst[0], dstStride, &src[0], srcStride, origins, cells, groups)
	case 2:
		sumGroups2(&dst[0], dstStride, &src[0], srcStride, origins, cells, groups)
	default:
		sumGroups3(&dst[0], dstStride, &src[0], srcStride, origins, cells, groups)
	}
}

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

// streamSIMD copies src to dst, which is at least as long.
func streamSIMD(dst, src []byte) {
	n := len(src) &^ 31
	_ = dst[:len(src)]
	if n > 0 {
		stream(&dst[0], &src[0], n)
	}
	copy(dst[n:], src[n:])
}

// interleaveSIMD mixes n pixels; all have room for n rounded up to 16.
func interleaveSIMD(dst, row []byte, stride, n int) {
	n = (n + 15) &^ 15
	_, _ = dst[3*n-1], row[2*stride+n-1]
	interleave(&dst[0], &row[0], &row[stride], &row[2*stride], n)
}
