package picture

import "image"

// weighGreySIMD returns how many pixels it has computed.
func weighGreySIMD(grey, red, green, blue []byte) int {
	n := len(grey) &^ 15
	if n > 0 {
		_, _, _ = red[n-1], green[n-1], blue[n-1]
		luma16(&grey[0], &red[0], &green[0], &blue[0], n)
	}
	return n
}

// findSpotsSIMD finds the spots of a row. numbers and bounds are described at the kernel.
func findSpotsSIMD(l *lanes, numbers *[11]float64, bounds *[5]int32, divides bool) {
	n := len(l.at)
	if n == 0 {
		return
	}
	_, _, _ = l.dx[n-1], l.dy[n-1], l.rest[n/4-1]
	kernel := findSpots4
	if divides {
		kernel = findSpotsDivided4
	}
	kernel(&l.at[0], &l.dx[0], &l.dy[0], &l.rest[0], n, &numbers[0], &bounds[0])
}

// mixSIMD computes the pixels of a row that have lanes.
func mixSIMD(row, plane []byte, width int, l *lanes) {
	first, n := l.first, l.end-l.first
	if n == 0 {
		return
	}
	_, _, _, _ = row[l.end-1], l.at[l.end-1], l.dx[l.end-1], l.dy[l.end-1]
	kernel := mixTwo4
	if l.taps == 4 {
		kernel = mixFour4
	}
	kernel(&row[first], &plane[0], width, &l.at[first], &l.dx[first], &l.dy[first], n)
}

// blendSIMD returns how many pixels it has computed.
func blendSIMD(plane, other []byte, factor float32) int {
	n := len(plane) &^ 7
	if n > 0 {
		_ = other[n-1]
		blend8(&plane[0], &other[0], &factor, n)
	}
	return n
}

// lookUpSIMD applies a table and returns how many bytes it has replaced.
func lookUpSIMD(plane []byte, t *lookUp) int {
	n := len(plane) &^ 63
	if n > 0 {
		lookUp64(&plane[0], (*[256]uint8)(t), n)
	}
	return n
}

// turnHueSIMD returns how many pixels it has computed.
func turnHueSIMD(red, green, blue []byte, by uint8) int {
	n := len(red) &^ 7
	if n > 0 {
		_, _ = green[n-1], blue[n-1]
		turnHue8(&red[0], &green[0], &blue[0], int32(by), n)
	}
	return n
}

// smoothSIMD computes all of out if it has at least 16 bytes, and returns how many it has
// computed. in are three rows, each with one more pixel on either side.
func smoothSIMD(out, in []byte) int {
	n := len(out) &^ 15
	if n == 0 {
		return 0
	}
	stride := len(out) + 2
	_ = in[3*stride-1]
	smooth16(&out[0], &in[0], stride, n)
	if n < len(out) {
		last := len(out) - 16
		smooth16(&out[last], &in[last], stride, 16)
	}
	return len(out)
}

// blurColumnsSIMD returns how many pixels of a row of n it has computed. If the planes continue
// after the row, it also writes some pixels of the next row, which are computed again later.
func (b *blur) blurColumnsSIMD(out []byte, sums []uint32, left, right, beyond []byte, n int) int {
	made := (n + 7) &^ 7
	if made > min(len(out), len(left), len(right), len(beyond)) {
		made -= 8
	}
	if made > 0 {
		_ = sums[made-1]
		blurColumns8(&out[0], &sums[0], &left[0], &right[0], &beyond[0], &b.shares[0], made)
	}
	return made
}

// transposeSIMD is transposeImage for pictures of at least 8 x 8 pixels. The last blocks
// overlap those before.
func transposeSIMD(out, in []byte, size image.Point, up, left bool) {
	const block = 8
	_, _ = out[size.X*size.Y-1], in[size.X*size.Y-1]
	to, from := size.Y, size.X
	if up {
		to = -to
	}
	if left {
		from = -from
	}
	draw := func(x, y, n int) {
		line, row, at := x, y, y
		if up {
			line = size.X - 1 - x
		}
		if left {
			row, at = y+block-1, size.Y-block-y
		}
		transpose8(&out[line*size.Y+at], &in[row*size.X+x], to, from, n)
	}
	for y := 0; y < size.Y; y += block {
		y := min(y, size.Y-block)
		draw(0, y, size.X&^(block-1))
		if size.X%block != 0 {
			draw(size.X-block, y, block)
		}
	}
}
