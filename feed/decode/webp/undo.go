package webp

// transform is a transform that the encoder applied and that must be undone.
type transform struct {
	kind   int
	bits   int // log2 of a tile's side; for a palette, log2 of the pixels in a value
	width  int // of the picture before the encoder applied the transform
	pixels []uint32
}

const (
	predicted = iota
	crossed
	greenless
	indexed
	transforms
)

// undo undoes a transform: in place, except for a palette.
func (t *transform) undo(pixels []uint32, height int) []uint32 {
	switch t.kind {
	case predicted:
		t.unpredict(pixels, height)
	case crossed:
		t.uncross(pixels, height)
	case greenless:
		for i, p := range pixels {
			green := p >> 8 & 0xff
			pixels[i] = p&0xff00ff00 | (p&0x00ff00ff+green<<16+green)&0x00ff00ff
		}
	case indexed:
		return t.lookUp(pixels, height)
	}
	return pixels
}

// lookUp replaces palette indices, of which a value's green holds several, by colours.
func (t *transform) lookUp(pixels []uint32, height int) []uint32 {
	out := make([]uint32, t.width*height)
	narrow, size := divideUp(t.width, t.bits), 8>>t.bits
	for y := range height {
		row, from := out[y*t.width:][:t.width], pixels[y*narrow:]
		value := uint32(0)
		for x := range row {
			if x&(1<<t.bits-1) == 0 {
				value = from[x>>t.bits] >> 8
			}
			row[x] = t.pixels[value&(1<<size-1)]
			value >>= size
		}
	}
	return out
}

// uncross adds to red and blue what the encoder subtracted because of green and red.
func (t *transform) uncross(pixels []uint32, height int) {
	across := divideUp(t.width, t.bits)
	for y := range height {
		row, tiles := pixels[y*t.width:][:t.width], t.pixels[y>>t.bits*across:]
		for x, p := range row {
			factors := tiles[x>>t.bits]
			red, blue := int32(p>>16), int32(p)
			red += multiplyShare(factors, p>>8)
			blue += multiplyShare(factors>>8, p>>8) + multiplyShare(factors>>16, uint32(red))
			row[x] = p&0xff00ff00 | uint32(red)&0xff<<16 | uint32(blue)&0xff
		}
	}
}

// multiplyShare returns the product of two signed bytes, divided by 32.
func multiplyShare(factor, colour uint32) int32 {
	return int32(int8(factor)) * int32(int8(colour)) >> 5
}

func addPixels(a, b uint32) uint32 {
	return (a&0xff00ff00+b&0xff00ff00)&0xff00ff00 | (a&0x00ff00ff+b&0x00ff00ff)&0x00ff00ff
}

// averagePixels returns the mean of each channel, rounded down.
func averagePixels(a, b uint32) uint32 { return (a^b)&0xfefefefe>>1 + a&b }

const black = 0xff000000

// unpredict adds the prediction to each pixel. The first row is predicted from the left, the
// first column from above.
func (t *transform) unpredict(pixels []uint32, height int) {
	pixels[0] = addPixels(pixels[0], black)
	for x := 1; x < t.width; x++ {
		pixels[x] = addPixels(pixels[x], pixels[x-1])
	}
	across := divideUp(t.width, t.bits)
	for y := 1; y < height; y++ {
		at := y * t.width
		pixels[at] = addPixels(pixels[at], pixels[at-t.width])
		tiles := t.pixels[y>>t.bits*across:]
		for x := 1; x < t.width; {
			end := min(t.width, (x>>t.bits+1)<<t.bits)
			unpredictRun(pixels, at+x, at+end, t.width, tiles[x>>t.bits]>>8&15)
			x = end
		}
	}
}

// unpredictRun adds the prediction of one predictor to the pixels from from to to.
func unpredictRun(pixels []uint32, from, to, width int, predictor uint32) {
	for i := from; i < to; i++ {
		left, top, corner, next := pixels[i-1], pixels[i-width], pixels[i-width-1], pixels[i-width+1]
		var by uint32
		switch predictor {
		case 1:
			by = left
		case 2:
			by = top
		case 3:
			by = next
		case 4:
			by = corner
		case 5:
			by = averagePixels(averagePixels(left, next), top)
		case 6:
			by = averagePixels(left, corner)
		case 7:
			by = averagePixels(left, top)
		case 8:
			by = averagePixels(corner, top)
		case 9:
			by = averagePixels(top, next)
		case 10:
			by = averagePixels(averagePixels(left, corner), averagePixels(top, next))
		case 11:
			by = selectNearer(left, top, corner)
		case 12:
			by = eachChannel(left, top, corner, func(l, t, c int) int { return l + t - c })
		case 13:
			by = eachChannel(averagePixels(left, top), 0, corner, func(a, _, c int) int { return a + (a-c)/2 })
		default:
			by = black
		}
		pixels[i] = addPixels(pixels[i], by)
	}
}

// selectNearer returns left or top, whichever is nearer to left + top - corner.
func selectNearer(left, top, corner uint32) uint32 {
	nearer := 0
	for shift := 0; shift < 32; shift += 8 {
		l, t, c := int(left>>shift&255), int(top>>shift&255), int(corner>>shift&255)
		nearer += max(l-c, c-l) - max(t-c, c-t)
	}
	if nearer <= 0 {
		return top
	}
	return left
}

// eachChannel applies f to each channel, and limits the results to 0 to 255.
func eachChannel(a, b, c uint32, f func(a, b, c int) int) (out uint32) {
	for shift := 0; shift < 32; shift += 8 {
		v := f(int(a>>shift&255), int(b>>shift&255), int(c>>shift&255))
		out |= uint32(min(max(v, 0), 255)) << shift
	}
	return out
}

// divideUp returns how many tiles of side 2^bits cover a length.
func divideUp(length, bits int) int { return (length + 1<<bits - 1) >> bits }
