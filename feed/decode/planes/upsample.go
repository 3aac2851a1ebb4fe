package planes

import (
	"image"
)

// RowReader reads a Picture as rows of red, green and blue, with the same result as
// libjpeg-turbo. It upsamples chroma with libjpeg's "fancy" (triangle) filter in the cases
// where libjpeg does, and by repetition in the others (jdsample.c). A row is computed when it
// is requested, so that no RGB image is ever in memory.
//
// How a pixel's chroma is computed, in each direction of 4:2:0: each pixel is inside one chroma
// sample (near) and next to another (far), and takes 3/4 of the near and 1/4 of the far one.
// Rows are summed first, to 16 bits, then columns.
//
//	chroma        |    c0     |    c1     |
//	pixels        | p0  |  p1 | p2  |  p3 |     p1 = (3 c0 + c1) / 4
type RowReader struct {
	SIMD bool // use vector instructions; they give the same bytes

	picture     *Picture
	planes      [3]plane
	left, width int // columns to write
	upsample    func(r *RowReader, y int, dst []byte, stride int)

	chromaLeft   int
	chromaWidth  int // samples that cover the columns
	low, high    int // samples that are summed: those and the existing ones next to them
	chromaHeight int // number of chroma rows in the image
	sums         [2][]int16
	both         [2]bothRow // without vectors: the latest chroma rows
	joined       []uint64   // without vectors: the sums of pixels
	wide         [2][]byte  // chroma at the resolution of luma
	copies       [3][]byte  // of the ends of rows at the end of a plane
}

// plane is a plane of a Picture with the position of its first sample.
type plane struct {
	bytes       []byte
	stride      int
	left, above int
}

// Begin prepares to read the part need of the picture, whose planes must hold it with the
// chroma samples around it. It returns the first column that Read writes, which may be left of
// need, and the number of columns.
func (r *RowReader) Begin(p *Picture, need image.Rectangle) (left, width int, err error) {
	if err := p.checkPart(need); err != nil {
		return 0, 0, err
	}
	r.picture = p
	r.left, r.width = need.Min.X, need.Dx()
	r.upsample = (*RowReader).readPlain
	for c := range r.planes {
		subX, subY := p.subsampling(c)
		r.planes[c] = plane{p.Planes[c], p.Stride[c], p.Bounds.Min.X / subX, p.Bounds.Min.Y / subY}
	}
	if p.Model == YCbCr {
		r.left = need.Min.X - need.Min.X%p.SubX
		r.width = need.Max.X - r.left
		r.openChroma()
	}
	return r.left, r.width, nil
}

func (r *RowReader) openChroma() {
	p := r.picture
	real := (p.Size.X + p.SubX - 1) / p.SubX
	r.chromaHeight = (p.Size.Y + p.SubY - 1) / p.SubY
	r.chromaLeft = r.left / p.SubX
	r.chromaWidth = (r.width + p.SubX - 1) / p.SubX
	r.low = max(r.chromaLeft-1, p.Bounds.Min.X/p.SubX)
	r.high = min(r.chromaLeft+r.chromaWidth+1, real, (p.Bounds.Max.X+p.SubX-1)/p.SubX)
	r.chooseUpsampling(real)
	for i := range r.both {
		r.both[i] = bothRow{-1, MakeRoom(r.both[i].samples, r.chromaWidth+2)}
	}
	r.joined = MakeRoom(r.joined, r.width+p.SubX)
	for i := range r.sums {
		r.sums[i] = MakeRoom(r.sums[i], r.chromaWidth+2+Vector)
		r.wide[i] = MakeRoom(r.wide[i], r.width+p.SubX+Vector)
	}
}

// Channels returns how many planes Read writes: 1 if the picture is grey, else 3.
func (r *RowReader) Channels() int {
	if r.picture.Model == Grey {
		return 1
	}
	return 3
}

// Read writes row y of the picture: red at dst, green at dst[stride:], blue at dst[2*stride:].
func (r *RowReader) Read(y int, dst []byte, stride int) { r.upsample(r, y, dst, stride) }

// chooseUpsampling follows jinit_upsampler of jdsample.c.
func (r *RowReader) chooseUpsampling(real int) {
	p, wide := r.picture, real > 2
	switch {
	case p.SubX == 1 && p.SubY == 1:
		r.upsample = (*RowReader).readFull
	case p.SubX == 2 && p.SubY <= 2 && wide:
		r.upsample = (*RowReader).readDoubled
	case p.SubX == 1 && p.SubY == 2:
		r.upsample = (*RowReader).readTall
	default:
		r.upsample = (*RowReader).readRepeated
	}
}

// readPlain copies the planes of a grey or RGB picture.
func (r *RowReader) readPlain(y int, dst []byte, stride int) {
	for c := range r.Channels() {
		copy(dst[c*stride:], r.planes[c].rowOf(y, r.left, r.width))
	}
}

// readFull reads 4:4:4.
func (r *RowReader) readFull(y int, dst []byte, stride int) {
	cb := r.paddedRow(1, 1, y, r.left, r.width)
	cr := r.paddedRow(2, 2, y, r.left, r.width)
	r.convert(dst, stride, r.lumaRow(y), cb, cr)
}

// readDoubled reads 4:2:0 and 4:2:2 with fancy upsampling.
func (r *RowReader) readDoubled(y int, dst []byte, stride int) {
	near, far := r.chromaRows(y)
	h := chromaDoubling{even: 8, odd: 7}
	if r.picture.SubY == 1 { // one row with weight four
		h = chromaDoubling{even: 4, odd: 8}
	}
	if r.SIMD {
		r.sumRows(near, far)
		convertDoubledSIMD(dst, stride, r.lumaRow(y), r.sums[0], r.sums[1], r.width, h)
		return
	}
	joined := r.joined[:2*r.chromaWidth]
	joinDoubled(joined, r.lumaRow(y), r.chromaRow(near), r.chromaRow(far), h)
	partColours(dst, stride, joined)
}

// readTall reads 4:4:0, where only rows are mixed (h1v2_fancy_upsample).
func (r *RowReader) readTall(y int, dst []byte, stride int) {
	near, far := r.chromaRows(y)
	bias := 1 + y%2
	for i := range r.wide {
		a := r.planes[1+i].rowOf(near, r.chromaLeft, r.chromaWidth)
		b := r.planes[1+i].rowOf(far, r.chromaLeft, r.chromaWidth)
		out := r.wide[i][:len(a)]
		b = b[:len(a)]
		for x := range out {
			out[x] = uint8((3*int(a[x]) + int(b[x]) + bias) >> 2)
		}
	}
	r.convert(dst, stride, r.lumaRow(y), r.wide[0], r.wide[1])
}

// convert writes a row from luma and chroma of the same resolution: red at dst, green at
// dst[stride:], blue at dst[2*stride:]. All slices have room for the width rounded up to
// Vector.
func (r *RowReader) convert(dst []byte, stride int, luma, cb, cr []byte) {
	n := r.width
	if r.SIMD {
		convertSIMD(dst, stride, luma, cb, cr, n)
		return
	}
	r.joined = MakeRoom(r.joined, n)
	luma, cb, cr = luma[:n], cb[:n], cr[:n]
	for x := range r.joined {
		r.joined[x] = joinPixel(luma[x], cb[x], cr[x])
	}
	partColours(dst, stride, r.joined)
}

// readRepeated reads any other subsampling.
func (r *RowReader) readRepeated(y int, dst []byte, stride int) {
	sub := r.picture.SubX
	for i := range r.wide {
		out := r.wide[i]
		for x, v := range r.planes[1+i].rowOf(y/r.picture.SubY, r.chromaLeft, r.chromaWidth) {
			for j := range sub {
				out[x*sub+j] = v
			}
		}
	}
	r.convert(dst, stride, r.lumaRow(y), r.wide[0], r.wide[1])
}

// chromaRows returns the chroma row that covers pixel row y, and the adjacent one. At the edges
// of the image both are the same.
func (r *RowReader) chromaRows(y int) (near, far int) {
	if r.picture.SubY == 1 {
		return y, y
	}
	near = y / 2
	far = near - 1 + 2*(y%2)
	return near, max(0, min(far, r.chromaHeight-1))
}

// sumRows sums two rows of chroma, the near one with weight three. The sums include the sample
// at each end that horizontal upsampling needs. At the edges of the image that is the last
// existing sample again.
func (r *RowReader) sumRows(near, far int) {
	n, begin := r.high-r.low, r.low-(r.chromaLeft-1)
	for i, sums := range r.sums {
		weighSIMD(sums[begin:], r.paddedRow(1, 1+i, near, r.low, n), r.paddedRow(2, 1+i, far, r.low, n), n)
		repeatEnds(sums[:r.chromaWidth+2], begin, n)
	}
}

// bothRow is a row of both chroma planes: Cb in the lower half of each word, Cr in the upper
// half, so that one multiplication serves both.
type bothRow struct {
	y       int
	samples []uint32
}

// chromaRow returns row y. Four consecutive rows of pixels use it.
func (r *RowReader) chromaRow(y int) []uint32 {
	row := &r.both[y%2]
	if row.y != y {
		row.y = y
		n, begin := r.high-r.low, r.low-(r.chromaLeft-1)
		cb, cr := r.planes[1].rowOf(y, r.low, n), r.planes[2].rowOf(y, r.low, n)
		samples := row.samples[begin:][:n]
		for x := range samples {
			samples[x] = uint32(cb[x]) | uint32(cr[x])<<16
		}
		repeatEnds(row.samples, begin, n)
	}
	return row.samples
}

// repeatEnds copies the first and the last of n samples or sums to their outer neighbours.
func repeatEnds[T any](sums []T, begin, n int) {
	if begin == 1 {
		sums[0] = sums[1]
	}
	if end := begin + n; end < len(sums) {
		sums[end] = sums[end-1]
	}
}

func (r *RowReader) lumaRow(y int) []byte { return r.paddedRow(0, 0, y, r.left, r.width) }

// paddedRow returns n bytes of a row of plane c, followed by Vector bytes that may be read: the
// plane itself, or a copy near its end.
func (r *RowReader) paddedRow(scratch, c, y, x, n int) []byte {
	p := &r.planes[c]
	from := p.offset(y, x)
	if end := from + n + Vector; end <= len(p.bytes) {
		return p.bytes[from:end]
	}
	r.copies[scratch] = MakeRoom(r.copies[scratch], n+Vector)
	copy(r.copies[scratch], p.bytes[from:from+n])
	return r.copies[scratch]
}

func (p *plane) offset(y, x int) int { return (y-p.above)*p.stride + x - p.left }

func (p *plane) rowOf(y, x, n int) []byte {
	from := p.offset(y, x)
	return p.bytes[from : from+n]
}
