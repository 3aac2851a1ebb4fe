//go:build amd64 || arm64

package planes

// weighSIMD writes n sums. The slices have room for n rounded up to 16.
func weighSIMD(dst []int16, near, far []byte, n int) {
	n = (n + 15) &^ 15
	_, _, _ = dst[n-1], near[n-1], far[n-1]
	weigh(&dst[0], &near[0], &far[0], n)
}

// partSIMD splits pixels if there are at least 16, and returns how many it has split.
func partSIMD(red, green, blue, pixels []byte) int {
	n := len(red) &^ 15
	if n == 0 {
		return 0
	}
	_, _, _ = green[len(red)-1], blue[len(red)-1], pixels[3*len(red)-1]
	part(&red[0], &green[0], &blue[0], &pixels[0], n)
	if last := len(red) - 16; last > n-16 {
		part(&red[last], &green[last], &blue[last], &pixels[3*last], 16)
	}
	return len(red)
}

// convertSIMD writes n pixels. All slices have room for n rounded up to Vector.
func convertSIMD(dst []byte, stride int, luma, cb, cr []byte, n int) {
	all := (n + Vector - 1) &^ (Vector - 1)
	_, _, _, _ = dst[2*stride+all-1], luma[all-1], cb[all-1], cr[all-1]
	convert(&dst[0], &dst[stride], &dst[2*stride], &luma[0], &cb[0], &cr[0], n)
}
