package decode

// YCbCr to RGB with the 16-bit fixed-point numbers of libjpeg (jdcolor.c), and the
// horizontal half of upsampling, which is done on the way.
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

// rowWeights are those of two chroma rows.
type rowWeights struct{ near, far int16 }

// doubling is how two pixels come from chroma sums a, b, c: (a + 3b + even) >> shift
// and (3b + c + odd) >> shift.
type doubling struct{ even, odd, shift int32 }

// weigh writes n weighted sums of two rows.
func (r *Rows) weigh(dst []int16, near, far []byte, n int, w rowWeights) {
	if r.SIMD {
		weighAVX2(dst, near, far, n, w)
		return
	}
	near, far, dst = near[:n], far[:n], dst[:n]
	for x := range dst {
		dst[x] = int16(near[x])*w.near + int16(far[x])*w.far
	}
}

// convertDoubled writes a row from luma and the chroma sums.
func (r *Rows) convertDoubled(dst []byte, stride int, luma []byte, d doubling) {
	if r.SIMD {
		convertDoubledAVX2(dst, stride, luma, r.sums[0], r.sums[1], r.width, d)
		return
	}
	pairs := r.chromaWidth
	red, green, blue := planes(dst, stride, 2*pairs)
	cb, cr := r.sums[0][:pairs+2], r.sums[1][:pairs+2]
	luma = luma[:2*pairs]
	shift := d.shift & 31
	for i := range pairs {
		y, b, r := luma[2*i:][:2], cb[i:][:3], cr[i:][:3]
		b3, r3 := 3*int32(b[1]), 3*int32(r[1])
		toRed, toGreen, toBlue := offsets((b3+int32(b[0])+d.even)>>shift, (r3+int32(r[0])+d.even)>>shift)
		v := int32(y[0])
		red[2*i], green[2*i], blue[2*i] = clip(v+toRed), clip(v+toGreen), clip(v+toBlue)
		toRed, toGreen, toBlue = offsets((b3+int32(b[2])+d.odd)>>shift, (r3+int32(r[2])+d.odd)>>shift)
		v = int32(y[1])
		red[2*i+1], green[2*i+1], blue[2*i+1] = clip(v+toRed), clip(v+toGreen), clip(v+toBlue)
	}
}

// convert writes a row from luma and chroma of the same resolution.
func (r *Rows) convert(dst []byte, stride int, luma, cb, cr []byte) {
	if r.SIMD {
		convertAVX2(dst, stride, luma, cb, cr, r.width)
		return
	}
	red, green, blue := planes(dst, stride, r.width)
	luma, cb, cr = luma[:r.width], cb[:r.width], cr[:r.width]
	for x := range red {
		toRed, toGreen, toBlue := offsets(int32(cb[x]), int32(cr[x]))
		v := int32(luma[x])
		red[x], green[x], blue[x] = clip(v+toRed), clip(v+toGreen), clip(v+toBlue)
	}
}

// Convert writes n pixels, red at dst, green at dst[stride:], blue at
// dst[2*stride:], from luma and chroma of the same resolution. All have room for n
// rounded up to Vector.
func Convert(dst []byte, stride int, luma, cb, cr []byte, n int, simd bool) {
	(&Rows{SIMD: simd, width: n}).convert(dst, stride, luma, cb, cr)
}

func planes(dst []byte, stride, n int) (red, green, blue []byte) {
	return dst[:n], dst[stride:][:n], dst[2*stride:][:n]
}

// offsets are what is added to luma.
func offsets(cb, cr int32) (red, green, blue int32) {
	b, r := &chroma[uint8(cb)], &chroma[uint8(cr)]
	return r.red, (b.greenBlue + r.greenRed) >> 16, b.blue
}

// chroma are the products, by the value of Cb or Cr.
var chroma = func() (t [256]struct{ red, greenRed, greenBlue, blue int32 }) {
	for i := range t {
		v := int32(i) - 128
		t[i].red = (crToRed*v + half) >> 16
		t[i].greenRed = -crToGreen * v
		t[i].greenBlue = half - cbToGreen*v
		t[i].blue = (cbToBlue*v + half) >> 16
	}
	return t
}()

// clip limits v, which lies in -256..767, to a byte: a table, as saturated colours
// would make a branch unpredictable.
func clip(v int32) uint8 { return clipped[uint32(v+256)&1023] }

var clipped = func() (t [1024]uint8) {
	for i := range t {
		t[i] = uint8(max(0, min(i-256, 255)))
	}
	return t
}()
