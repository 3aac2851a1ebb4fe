package transform

// sumRowsSIMD computes n bytes, a multiple of Vector, from the rows of the pairs.
func sumRowsSIMD(dst, src []byte, stride int, pairs []rowWeight, n int) {
	_, _ = dst[n-1], src[(2*len(pairs)-1)*stride+n-1]
	sumPairs(&dst[0], &src[0], stride, (*uint64)(&pairs[0]), len(pairs), n)
}

// sumGroupsSIMD computes whole groups of stripRows rows.
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

// sumChunksSIMD computes whole groups of stripRows rows.
func sumChunksSIMD(dst []byte, dstStride int, src []byte, srcStride int, t *kernelTable) {
	groups := len(t.origins) / 2
	_, _ = dst[(stripRows-1)*dstStride+2*t.beside*groups-1], src[(stripRows-1)*srcStride+t.reach-1]
	kernel := sumChunks4
	switch t.beside {
	case 2:
		kernel = sumChunks2
	case 1:
		kernel = sumChunks1
	}
	kernel(&dst[0], dstStride, &src[0], srcStride, &t.origins[0], &t.cells[0], t.chunks, groups)
}

// streamSIMD copies src to dst, which is at least as long, without filling the caches.
func streamSIMD(dst, src []byte) {
	n := len(src) &^ 31
	_ = dst[:len(src)]
	if n > 0 {
		stream(&dst[0], &src[0], n)
	}
	copy(dst[n:], src[n:])
}
