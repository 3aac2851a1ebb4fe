//go:build amd64 || arm64

package transform

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

// interleaveSIMD returns how many pixels it mixed.
func interleaveSIMD(dst, red, green, blue []byte) int {
	n := len(red) &^ 15
	if n > 0 {
		_, _, _ = dst[3*n-1], green[n-1], blue[n-1]
		interleave(&dst[0], &red[0], &green[0], &blue[0], n)
	}
	return n
}

// packShadesSIMD makes doubles of stripRows rows, column by column, and returns how many columns it made.
func packShadesSIMD(packed []float64, in Shades, length int) int {
	n := length &^ 3
	if n > 0 {
		last := (stripRows-1)*length + n - 1
		_, _, _ = packed[stripRows*n-1], in[0][last], in[1][last]
		packShades(&packed[0], &in[0][0], &in[1][0], length, n)
	}
	return n
}

// sumShadesSIMD makes stripRows rows of size shades, at least shadeGroup of them. packed has room for what
// the table reads.
func sumShadesSIMD(out Shades, size int, packed []float64, t *shadeTable, widest int) {
	last := (stripRows-1)*size + size - 1
	_, _ = out[0][last], out[1][last]
	groups := size / shadeGroup
	sumShades(&out[0][0], &out[1][0], size, &packed[0], &t.origins[0], &t.cells[0], widest, groups)
	if at := size - shadeGroup; at%shadeGroup != 0 {
		sumShades(&out[0][at], &out[1][at], size, &packed[0],
			&t.origins[groups*shadeGroup], &t.cells[groups*shadeGroup*widest], widest, 1)
	}
}

// sumShadesDownSIMD makes a row of n shades, at least shadeLane.
func sumShadesDownSIMD(out, in Shades, n int, weights []float64) {
	last := (len(weights)-1)*n + n - 1
	_, _, _, _ = out[0][n-1], out[1][n-1], in[0][last], in[1][last]
	sumShadesDown(&out[0][0], &out[1][0], &in[0][0], &in[1][0], n, &weights[0], len(weights), n&^(shadeLane-1))
	if at := n - shadeLane; at%shadeLane != 0 {
		sumShadesDown(&out[0][at], &out[1][at], &in[0][at], &in[1][at], n, &weights[0], len(weights), shadeLane)
	}
}
