package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels of feed/picture: Pillow's colours and blurs, on planes of bytes.

func enhance() {
	luma()
	blend()
	lookUpBytes()
	turnHue(newSorting())
	smooth()
	blurColumns()
	transposeBlocks()
}

// luma multiplies in pairs: red with green, and blue with a constant that represents one half.
// The weight of green is 38470 of 65536. As a signed word that is 65536 too small, so green is
// added once more.
func luma() {
	begin("luma16", "func(dst *byte, red *byte, green *byte, blue *byte, n int)",
		"luma16 makes n pixels, a multiple of 16, grey as Pillow does.")
	dst, red, green, blue, n := pointer("dst"), pointer("red"), pointer("green"), pointer("blue"), pointer("n")
	weights, weights2 := constant(longs("luma16RedGreen", 38470<<16|19595)), constant(longs("luma16BlueHalf", 1<<14<<16|7471))
	ones := constant(words("luma16Half", 2))
	Label("pixels")
	r, g, b := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: red}, r)
	VPMOVZXBW(Mem{Base: green}, g)
	VPMOVZXBW(Mem{Base: blue}, b)
	var sums [2]VecVirtual
	for i := range sums {
		sum, more := YMM(), YMM()
		if i == 0 {
			VPUNPCKLWD(g, r, sum)
			VPUNPCKLWD(ones, b, more)
		} else {
			VPUNPCKHWD(g, r, sum)
			VPUNPCKHWD(ones, b, more)
		}
		VPMADDWD(weights, sum, sum)
		VPMADDWD(weights2, more, more)
		VPADDD(more, sum, sum)
		VPSRAD(Imm(16), sum, sum)
		sums[i] = sum
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VPADDW(g, sums[0], sums[0])
	VPACKUSWB(sums[0], sums[0], sums[0])
	VPERMQ(Imm(0b1000), sums[0], sums[0])
	VMOVDQU(sums[0].AsX(), Mem{Base: dst})
	advance(16, dst, red, green, blue)
	closeLoop("pixels", n, 16)
}

// blend rounds both the product and the sum, as Pillow's wheels for this architecture do.
func blend() {
	begin("blend8", "func(dst *byte, other *byte, factor *float32, n int)",
		"blend8 makes n pixels, a multiple of 8, from what they are and from others: a factor of 0 gives the others.")
	dst, other, n := pointer("dst"), pointer("other"), pointer("n")
	factor := YMM()
	VBROADCASTSS(Mem{Base: pointer("factor")}, factor)
	Label("pixels")
	from, to := YMM(), YMM()
	VPMOVZXBD(Mem{Base: other}, from)
	VPMOVZXBD(Mem{Base: dst}, to)
	VPSUBD(from, to, to)
	VCVTDQ2PS(to, to)
	VCVTDQ2PS(from, from)
	VMULPS(factor, to, to)
	VADDPS(from, to, to)
	VCVTTPS2DQ(to, to)
	ADDQ(Imm(8), other)
	storeBytes(to, dst)
	closeLoop("pixels", n, 8)
}

// lookUpBytes uses a shuffle for each sixteenth of the table. A byte outside of the sixteenth
// gets an index above 127, for which a shuffle gives 0.
func lookUpBytes() {
	begin("lookUp64", "func(plane *byte, table *[256]uint8, n int)", "lookUp64 replaces n bytes, a multiple of 64, by their values in a table.")
	plane, table, n := pointer("plane"), pointer("table"), pointer("n")
	others, sixteen := constant(bytes("othersLookUp", 0x70)), constant(bytes("sixteenLookUp", 16))
	Label("bytes")
	var from, to [2]VecVirtual
	for i := range from {
		from[i], to[i] = YMM(), YMM()
		VMOVDQU(Mem{Base: plane, Disp: 32 * i}, from[i])
		VPXOR(to[i], to[i], to[i])
	}
	for part := range 16 {
		values := YMM()
		VBROADCASTI128(Mem{Base: table, Disp: 16 * part}, values)
		for i := range from {
			found := YMM()
			VPADDUSB(others, from[i], found)
			VPSHUFB(found, values, found)
			VPOR(found, to[i], to[i])
			if part < 15 {
				VPSUBB(sixteen, from[i], from[i])
			}
		}
	}
	for i := range to {
		VMOVDQU(to[i], Mem{Base: plane, Disp: 32 * i})
	}
	ADDQ(Imm(64), plane)
	closeLoop("bytes", n, 64)
}

// smooth divides by 13 with a multiplication, which gives the right quotient for every possible
// sum.
func smooth() {
	begin("smooth16", "func(dst *byte, src *byte, stride int, n int)",
		"smooth16 makes n pixels, a multiple of 16, of three rows from their left neighbours on: of 13 parts 5 are the pixel's own.")
	dst, src, n := pointer("dst"), [3]GPVirtual{pointer("src"), GP64(), GP64()}, pointer("n")
	stride := pointer("stride")
	LEAQ(Mem{Base: src[0], Index: stride, Scale: 1}, src[1])
	LEAQ(Mem{Base: src[1], Index: stride, Scale: 1}, src[2])
	half, thirteenth := constant(words("halfSmooth", 6)), constant(words("thirteenthSmooth", 20165))
	Label("pixels")
	sum := YMM()
	VPMOVZXBW(Mem{Base: src[1], Disp: 1}, sum)
	VPSLLW(Imm(2), sum, sum)
	VPADDW(half, sum, sum)
	for _, row := range src {
		for x := range 3 {
			pixels := YMM()
			VPMOVZXBW(Mem{Base: row, Disp: x}, pixels)
			VPADDW(pixels, sum, sum)
		}
	}
	VPMULHUW(thirteenth, sum, sum)
	VPSRLW(Imm(2), sum, sum)
	upper := XMM()
	VEXTRACTI128(Imm(1), sum, upper)
	VPACKUSWB(upper, sum.AsX(), upper)
	VMOVDQU(upper, Mem{Base: dst})
	advance(16, dst, src[0], src[1], src[2])
	closeLoop("pixels", n, 16)
}

// blurColumns uses sums of 32 bits: the weights of a box, in units of 2**-24, add up to at most
// 2**24, so no sum exceeds 2**32.
func blurColumns() {
	begin("blurColumns8", "func(dst *byte, sums *uint32, left *byte, right *byte, beyond *byte, shares *uint32, n int)",
		"blurColumns8 moves the sums of n boxes, a multiple of 8, on by a pixel, and makes a pixel of each. left is before the box,",
		"right its last pixel, beyond the next. Shares, in 2**24ths, are of those in the box and of the two around it.")
	dst, sums, n := pointer("dst"), pointer("sums"), pointer("n")
	left, right, beyond, shares := pointer("left"), pointer("right"), pointer("beyond"), pointer("shares")
	whole, far, half := YMM(), YMM(), constant(longs("halfColumns", 1<<23))
	VPBROADCASTD(Mem{Base: shares}, whole)
	VPBROADCASTD(Mem{Base: shares, Disp: 4}, far)
	Label("pixels")
	sum, before, after := YMM(), YMM(), YMM()
	VPMOVZXBD(Mem{Base: left}, before)
	VPMOVZXBD(Mem{Base: right}, sum)
	VPMOVZXBD(Mem{Base: beyond}, after)
	VPADDD(Mem{Base: sums}, sum, sum)
	VPSUBD(before, sum, sum)
	VMOVDQU(sum, Mem{Base: sums})
	VPMULLD(whole, sum, sum)
	VPADDD(before, after, after)
	VPMULLD(far, after, after)
	VPADDD(after, sum, sum)
	VPADDD(half, sum, sum)
	VPSRLD(Imm(24), sum, sum)
	ADDQ(Imm(32), sums)
	advance(8, left, right, beyond)
	storeBytes(sum, dst)
	closeLoop("pixels", n, 8)
}

// transposeBlocks transposes blocks of eight by eight.
func transposeBlocks() {
	begin("transpose8", "func(dst *byte, src *byte, to int, from int, n int)",
		"transpose8 makes n rows, a multiple of 8, of 8 bytes of n columns of 8 rows. Ways from row to row may be negative.")
	dst, src, to, from, n := pointer("dst"), pointer("src"), pointer("to"), pointer("from"), pointer("n")
	places := func(base, way GPVirtual) (eight [8]Mem) {
		thrice, fifth := GP64(), GP64()
		LEAQ(Mem{Base: way, Index: way, Scale: 2}, thrice)
		LEAQ(Mem{Base: base, Index: way, Scale: 4}, fifth)
		for i := range eight {
			from := []GPVirtual{base, fifth}[i/4]
			eight[i] = []Mem{{Base: from}, {Base: from, Index: way, Scale: 1}, {Base: from, Index: way, Scale: 2}, {Base: from, Index: thrice, Scale: 1}}[i%4]
		}
		return eight
	}
	Label("columns")
	var rows, pairs [8]VecVirtual
	for i, m := range places(src, from) {
		rows[i] = XMM()
		VMOVQ(m, rows[i])
	}
	for i := range 4 {
		pairs[i] = XMM()
		VPUNPCKLBW(rows[2*i+1], rows[2*i], pairs[i])
	}
	for i := range 2 {
		rows[2*i], rows[2*i+1] = XMM(), XMM()
		VPUNPCKLWD(pairs[2*i+1], pairs[2*i], rows[2*i])
		VPUNPCKHWD(pairs[2*i+1], pairs[2*i], rows[2*i+1])
	}
	out := places(dst, to)
	for half := range 2 {
		low, high := XMM(), XMM()
		VPUNPCKLDQ(rows[2+half], rows[half], low)
		VPUNPCKHDQ(rows[2+half], rows[half], high)
		for i, two := range []VecVirtual{low, high} {
			VMOVQ(two, out[4*half+2*i])
			VPEXTRQ(Imm(1), two, out[4*half+2*i+1])
		}
	}
	ADDQ(Imm(8), src)
	LEAQ(Mem{Base: dst, Index: to, Scale: 8}, dst)
	closeLoop("columns", n, 8)
}

// storeBytes stores 8 integers as bytes, limited to 0 and 255.
func storeBytes(v VecVirtual, dst GPVirtual) {
	upper := XMM()
	VPACKSSDW(v, v, v)
	VPACKUSWB(v, v, v)
	VEXTRACTI128(Imm(1), v, upper)
	VPUNPCKLDQ(upper, v.AsX(), v.AsX())
	VMOVQ(v.AsX(), Mem{Base: dst})
	ADDQ(Imm(8), dst)
}
