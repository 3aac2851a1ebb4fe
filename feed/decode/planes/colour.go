package planes

// YCbCr to RGB with the 16-bit fixed-point numbers of libjpeg (jdcolor.c), and the horizontal
// half of upsampling, which is done in the same step.
//
//	R = Y                 + 1.40200 Cr
//	G = Y - 0.34414 Cb    - 0.71414 Cr
//	B = Y + 1.77200 Cb
const (
	crToRed   = 91881 // 1.40200 * 65536
	cbToGreen = 22554
	crToGreen = 46802
	cbToBlue  = 116130
	half      = 1 << 15
)

// chromaDoubling says how two pixels are computed from chroma sums a, b, c: as (a + 3b + even)
// >> 4 and (3b + c + odd) >> 4.
type chromaDoubling struct{ even, odd int32 }

// joinDoubled computes two pixels from each chroma sample except the first and the last.
func joinDoubled(joined []uint64, luma []byte, near, far []uint32, d chromaDoubling) {
	luma, far = luma[:len(joined)], far[:len(near)]
	even, odd := uint32(d.even)*bothPlanes, uint32(d.odd)*bothPlanes
	sum := func(i int) uint32 { return 3*near[i] + far[i] }
	before, here := sum(0), sum(1)
	for i := 0; i < len(joined)-1; i += 2 {
		after := sum(i/2 + 2)
		left, right := (3*here+before+even)>>4, (3*here+after+odd)>>4
		joined[i] = joinPixel(luma[i], uint8(left), uint8(left>>16))
		joined[i+1] = joinPixel(luma[i+1], uint8(right), uint8(right>>16))
		before, here = here, after
	}
}

// bothPlanes has a 1 in both halves of a word of mixed chroma.
const bothPlanes = 1<<16 | 1

// Without vectors, a pixel is one sum of 64 bits with red at bit 0, blue at bit 11, and green
// at bit 48 with its fraction below. 256 is added to each, so that no sum is negative and none
// borrows from the next.
const (
	blueAt  = 11
	greenAt = 48
	eachRGB = 1 | 1<<blueAt | 1<<greenAt
)

// joinPixel returns the sum of one pixel.
func joinPixel(y, cb, cr uint8) uint64 { return uint64(y)*eachRGB + fromCb[cb] + fromCr[cr] }

// partColours writes the colours of the sums. It is a separate loop so that both loops fit into
// registers.
func partColours(dst []byte, stride int, joined []uint64) {
	n := len(joined)
	red, green, blue := dst[:n], dst[stride:][:n], dst[2*stride:][:n]
	for x, sum := range joined {
		red[x] = clipped[sum&1023]
		green[x] = clipped[sum>>greenAt&1023]
		blue[x] = clipped[sum>>blueAt&1023]
	}
}

// fromCb and fromCr are what chroma adds to a pixel's sum.
var fromCb, fromCr = func() (b, r [256]uint64) {
	for i := range b {
		v := i - 128
		b[i] = uint64(256+(cbToBlue*v+half)>>16)<<blueAt + uint64(half-cbToGreen*v)<<(greenAt-16)
		r[i] = uint64(256+(crToRed*v+half)>>16) + uint64(256<<16-crToGreen*v)<<(greenAt-16)
	}
	return b, r
}()

// clipped limits a sum of -256 to 767 to a byte. It is a table because saturated colours make a
// branch unpredictable.
var clipped = func() (t [1024]uint8) {
	for i := range t {
		t[i] = uint8(max(0, min(i-256, 255)))
	}
	return t
}()

// Part splits pixels of three bytes into channels, as many as red has room for.
func Part(red, green, blue, pixels []byte) {
	done := 0
	if HasSIMD {
		done = partSIMD(red, green, blue, pixels)
	}
	for i := done; i < len(red); i++ {
		p := pixels[3*i:][:3]
		red[i], green[i], blue[i] = p[0], p[1], p[2]
	}
}
