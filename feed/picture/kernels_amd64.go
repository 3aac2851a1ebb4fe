package picture

import "image"

// blendAcrossSIMD makes whole groups: out has room for them, and in is the row that the table was made for.
func blendAcrossSIMD(out []int16, in []byte, t *acrossTable) {
	groups := len(t.origins) / 4
	_ = out[acrossGroup*groups-1]
	blendAcross16(&out[0], &in[0], &t.origins[0], &t.cells[0], groups)
}

// blendDownSIMD makes all of out where it has at least 16 bytes, and returns how many it made.
func blendDownSIMD(out []byte, first, second []int16, weight, weight2 int32) int {
	n := len(out) &^ 15
	if n == 0 {
		return 0
	}
	_, _ = first[len(out)-1], second[len(out)-1]
	blendDown16(&out[0], &first[0], &second[0], n, weight, weight2)
	if n < len(out) {
		last := len(out) - 16
		blendDown16(&out[last], &first[last], &second[last], 16, weight, weight2)
	}
	return len(out)
}

// halveSIMD returns how many pixels it made of two rows.
func halveSIMD(out, upper, lower []byte) int {
	n := len(out) &^ 15
	if n > 0 {
		_, _ = upper[2*n-1], lower[2*n-1]
		halve16(&out[0], &upper[0], &lower[0], n)
	}
	return n
}

// averageAcrossSIMD adds a row, the one that the table was made for; sum has room for whole groups.
func averageAcrossSIMD(sum []float32, row []byte, t *areaTable, share float32, first bool) {
	begin := 0
	if first {
		begin = 1
	}
	_ = sum[areaGroup*t.groups-1]
	averageAcross8(&sum[0], &row[0], &t.cells[0], t.steps, t.groups, &share, begin)
}

// roundSumsSIMD returns how many pixels it made.
func roundSumsSIMD(out []byte, sum []float32) int {
	n := len(out) &^ 7
	if n > 0 {
		_ = sum[n-1]
		roundSums8(&out[0], &sum[0], n)
	}
	return n
}

// weighGreySIMD returns how many pixels it made, as Pillow weighs colours or as OpenCV does.
func weighGreySIMD(grey, red, green, blue []byte, pillow bool) int {
	n := len(grey) &^ 15
	if n == 0 {
		return 0
	}
	_, _, _ = red[n-1], green[n-1], blue[n-1]
	if pillow {
		luma16(&grey[0], &red[0], &green[0], &blue[0], n)
	} else {
		weighGrey16(&grey[0], &red[0], &green[0], &blue[0], n)
	}
	return n
}

// convertToHSVSIMD returns how many pixels it made.
func convertToHSVSIMD(red, green, blue []byte) int {
	n := len(red) &^ 7
	if n > 0 {
		_, _ = green[n-1], blue[n-1]
		toHSV8(&red[0], &green[0], &blue[0], &saturationOf[0], &hueOf[0], n)
	}
	return n
}

// convertFromHSVSIMD makes all pixels, whose number is a multiple of unhsvLane.
func convertFromHSVSIMD(hue, saturation, value []byte) {
	if n := len(hue); n > 0 {
		_, _ = saturation[n-1], value[n-1]
		fromHSV8(&hue[0], &saturation[0], &value[0], n)
	}
}

// findPlacesSIMD finds those of a row, a multiple of 8; none is of which the kernel would read beyond the plane.
func findPlacesSIMD(p *placeRow, numbers *[6]float32, width, height int, divides bool) {
	n := len(p.at)
	if n == 0 {
		return
	}
	_, _ = p.across[n-1], p.below[n-1]
	bounds := [4]int32{int32(width - 1), int32(height - 1), int32(width), int32(width*height - width - 3)}
	if divides {
		findPlacesDivided8(&p.at[0], &p.across[0], &p.below[0], n, &numbers[0], &bounds[0])
	} else {
		findPlaces8(&p.at[0], &p.across[0], &p.below[0], n, &numbers[0], &bounds[0])
	}
}

// blendFourSIMD makes what has places, of a plane that findPlacesSIMD was told the size of.
func blendFourSIMD(out, plane []byte, width int, p *placeRow) {
	n := len(p.at)
	if n == 0 {
		return
	}
	_, _ = out[n-1], plane[4+width-1]
	blendFour8(&out[0], &plane[0], width, &p.at[0], &p.across[0], &p.below[0], n)
}

// blendCubicAcrossSIMD makes whole groups of the row that the table was made for; out has room for them.
func blendCubicAcrossSIMD(out []float32, row []byte, t *cubicTable, colour bool) {
	_ = out[cubicGroup*t.groups-1]
	switch {
	case colour && t.apart:
		cubicGather8(&out[0], &row[0], &t.cells[0], t.groups)
	case colour:
		cubicAcross8(&out[0], &row[0], &t.cells[0], t.groups)
	case t.apart:
		cubicGatherGrey8(&out[0], &row[0], &t.cells[0], t.groups)
	default:
		cubicAcrossGrey8(&out[0], &row[0], &t.cells[0], t.groups)
	}
}

// blendCubicDownSIMD makes all of out where it has at least 8 bytes, and returns how many it made.
func blendCubicDownSIMD(out []byte, lines *[4][]float32, weights *[4]float32) int {
	n := len(out) &^ 7
	if n == 0 {
		return 0
	}
	for _, line := range lines {
		_ = line[len(out)-1]
	}
	draw := func(at, n int) {
		cubicDown8(&out[at], &lines[0][at], &lines[1][at], &lines[2][at], &lines[3][at], &weights[0], n)
	}
	draw(0, n)
	if n < len(out) {
		draw(len(out)-8, 8)
	}
	return len(out)
}

// blurAcrossSIMD returns how many outputs it made; line has the taps' rest behind them, and whole groups.
func blurAcrossSIMD(out []int16, line []byte, taps []uint16) int {
	n := len(out) &^ (blurGroup - 1)
	if n > 0 {
		_ = line[n+len(taps)-2]
		blurAcross16(&out[0], &line[0], &taps[0], len(taps), n)
	}
	return n
}

// blurDownSIMD makes all of out where it has at least a group, and returns how many it made.
func blurDownSIMD(out []byte, lines []int16, stride int, taps []uint16) int {
	n := len(out) &^ (blurGroup - 1)
	if n == 0 {
		return 0
	}
	_ = lines[(len(taps)-1)*stride+len(out)-1]
	blurDown16(&out[0], &lines[0], 2*stride, &taps[0], len(taps), n)
	if n < len(out) {
		last := len(out) - blurGroup
		blurDown16(&out[last], &lines[last], 2*stride, &taps[0], len(taps), blurGroup)
	}
	return len(out)
}

// addWeightedSIMD returns how many pixels it made, in place of the second picture's.
func addWeightedSIMD(second, first []byte, numbers *[3]float32) int {
	n := len(second) &^ 7
	if n > 0 {
		_ = first[n-1]
		addWeighted8(&second[0], &first[0], &numbers[0], n)
	}
	return n
}

// findSpotsSIMD finds those of a row: numbers and bounds as the kernel has them.
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

// mixSIMD makes of a row what has lanes.
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

// blendSIMD returns how many pixels it made.
func blendSIMD(plane, other []byte, factor float32) int {
	n := len(plane) &^ 7
	if n > 0 {
		_ = other[n-1]
		blend8(&plane[0], &other[0], &factor, n)
	}
	return n
}

// lookUpSIMD returns how many bytes it gave what the table has for them.
func lookUpSIMD(plane []byte, t *lookUp) int {
	n := len(plane) &^ 63
	if n > 0 {
		lookUp64(&plane[0], (*[256]uint8)(t), n)
	}
	return n
}

// turnHueSIMD returns how many pixels it made.
func turnHueSIMD(red, green, blue []byte, by uint8) int {
	n := len(red) &^ 7
	if n > 0 {
		_, _ = green[n-1], blue[n-1]
		turnHue8(&red[0], &green[0], &blue[0], int32(by), n)
	}
	return n
}

// smoothSIMD makes all of out where it has at least 16 bytes, and returns how many it made. in are three rows, each
// with a pixel more on either side.
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

// blurColumnsSIMD returns how many pixels of a row of n it made. Where planes go on behind the row, it makes
// some of the next one's as well, which is made later.
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

// transposeSIMD is transposeImage, of pictures of at least 8 x 8 pixels. The last blocks begin within those before.
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
