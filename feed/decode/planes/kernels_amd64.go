package planes

// convertDoubledSIMD writes n pixels. All slices have room for n rounded up to Vector, cb and
// cr for half of that and the context.
func convertDoubledSIMD(dst []byte, stride int, luma []byte, cb, cr []int16, n int, d chromaDoubling) {
	all := (n + Vector - 1) &^ (Vector - 1)
	_, _, _, _ = dst[2*stride+all-1], luma[all-1], cb[all/2+1], cr[all/2+1]
	const middle = 128 << 4
	convertDoubled(&dst[0], &dst[stride], &dst[2*stride], &luma[0], &cb[0], &cr[0], n, d.even-middle, d.odd-middle)
}
