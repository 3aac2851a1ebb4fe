package transform

// sumRowsSIMD computes n bytes, a multiple of Vector, from one row per weight.
func sumRowsSIMD(dst, src []byte, stride int, weights []rowWeight, n int) {
	_, _ = dst[n-1], src[(len(weights)-1)*stride+n-1]
	sumLines(&dst[0], &src[0], stride, (*uint32)(&weights[0]), len(weights), n)
}

// sumGroupsSIMD computes whole groups of stripRows rows.
func sumGroupsSIMD(dst []byte, dstStride int, src []byte, srcStride int, t *kernelTable) {
	groups := len(t.origins) / 2
	_, _ = dst[(stripRows-1)*dstStride+groups*group-1], src[(stripRows-1)*srcStride+t.reach-1]
	sumGroups(&dst[0], dstStride, &src[0], srcStride, &t.origins[0], &t.cells[0], t.steps, groups)
}

// sumChunksSIMD computes all outputs of stripRows rows.
func sumChunksSIMD(dst []byte, dstStride int, src []byte, srcStride int, t *kernelTable) {
	_, _ = dst[(stripRows-1)*dstStride+t.outputs-1], src[(stripRows-1)*srcStride+t.reach-1]
	sumChunks(&dst[0], dstStride, &src[0], srcStride, &t.origins[0], &t.cells[0], t.chunks, t.outputs)
}

// streamSIMD copies src to dst, which is at least as long. On arm64 bypassing the caches does
// not pay: a store that fills a line does not read it first.
func streamSIMD(dst, src []byte) { copy(dst, src) }

func fence() {}
