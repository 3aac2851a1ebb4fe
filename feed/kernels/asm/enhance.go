package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels of feed/picture: Pillow's colours and blurs, on planes of bytes.

func enhance(colours sorting) {
	// Of 65536 parts 38470 are green. Words have a sign, which makes that 65536 less.
	weighGrey("luma16", "Pillow", 38470<<16|19595, 1<<14<<16|7471, 2, 16, true)
	blend()
	lookUpBytes()
	turnHue(colours)
	blurColumns()
	transposeBlocks()
}

// blend rounds the product and the sum, as the wheels of this architecture do.
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

// lookUpBytes has a shuffle for each sixteenth of the table. A byte that lies in another one gets an index above 127, for
// which a shuffle gives 0.
func lookUpBytes() {
	begin("lookUp64", "func(plane *byte, table *[256]uint8, n int)", "lookUp64 gives n bytes, a multiple of 64, what a table has for them.")
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

// turnHue makes the bytes that Pillow's conversions to HSV and back would: TestAllColoursTurned has them all.
func turnHue(colours sorting) {
	begin("turnHue8", "func(red *byte, green *byte, blue *byte, by int32, n int)",
		"turnHue8 adds a number to the hue, in 256ths of the circle, of n pixels, a multiple of 8.")
	planes := [3]GPVirtual{pointer("red"), pointer("green"), pointer("blue")}
	turn, n := YMM(), pointer("n")
	VPBROADCASTD(argument("by"), turn)
	one, three, five := longs("oneTurn", 1), longs("threeTurn", 3), longs("fiveTurn", 5)
	all, six, circle := longs("allTurn", 255), single("sixTurn", 6), single("circleTurn", 255)
	unit, half := single("unitTurn", 1), longs("halfTurn", 128)
	parts, partsHalf := single("partsTurn", 255*255), longs("partsHalfTurn", 255*255/2)
	// By which is largest and which is least: where the sixths meet, and whether the hue lies behind that.
	corner := single("cornerTurn", 1, -1, 1, 3, 5, 3, 0, 0)
	side := single("sideTurn", -1, 1, 1, -1, -1, 1, 0, 0)
	Label("pixels")
	red, green, blue := loadThree(planes)
	top, least := largestAndLeast(red, green, blue)
	below := YMM()
	// Twice the largest and the least, less all, is how far the largest is above the one in the middle.
	VPADDD(top, top, below)
	VPADDD(least, below, below)
	VPSUBD(red, below, below)
	VPSUBD(green, below, below)
	VPSUBD(blue, below, below)
	order, is, leastIs := YMM(), YMM(), YMM()
	VPCMPEQD(green, least, leastIs)
	VPADDD(five, leastIs, order)
	VPCMPEQD(blue, least, leastIs)
	VPCMPEQD(green, top, is)
	number := YMM()
	VPADDD(three, leastIs, number)
	VPBLENDVB(is, number, order, order)
	VPCMPEQD(red, top, is)
	VPADDD(one, leastIs, number)
	VPBLENDVB(is, number, order, order)

	// Grey has a span of 0 and any hue.
	span, saturation, hue := YMM(), YMM(), YMM()
	VPSUBD(least, top, span)
	VCVTDQ2PS(span, saturation)
	VPMAXSD(one, top, number)
	VCVTDQ2PS(number, number)
	VDIVPS(number, saturation, saturation)
	VMULPS(circle, saturation, saturation)
	VCVTTPS2DQ(saturation, saturation)
	VPMAXSD(one, span, span)
	VCVTDQ2PS(span, span)
	VCVTDQ2PS(below, hue)
	VDIVPS(span, hue, hue)
	VPERMPS(side, order, number)
	VMULPS(number, hue, hue)
	VPERMPS(corner, order, number)
	VADDPS(number, hue, hue)
	VMOVUPS(six, number)
	VDIVPS(number, hue, hue)
	VPSRAD(Imm(31), hue, is)
	VPAND(unit, is, is)
	VADDPS(is, hue, hue)
	VMULPS(circle, hue, hue)
	VCVTTPS2DQ(hue, hue)

	VPADDD(turn, hue, hue)
	VPAND(all, hue, hue)
	// Of six times the hue 255ths: the whole ones are the sixth of the circle, the rest lies within.
	sector, within, lacks := YMM(), YMM(), YMM()
	VPADDD(hue, hue, within)
	VPADDD(hue, within, within)
	VPADDD(within, within, within)
	VPADDD(one, within, sector)
	VPSLLD(Imm(8), sector, number)
	VPADDD(number, sector, sector)
	VPSRLD(Imm(16), sector, sector)
	VPADDD(sector, within, within)
	VPSLLD(Imm(8), sector, number)
	VPSUBD(number, within, within)
	VPXOR(all, within, lacks)
	VPSLLD(Imm(31), sector, is)
	VBLENDVPS(is, within, lacks, lacks)

	// The least is top * (255 - saturation) / 255, the one between top * (255*255 - saturation * lacks) / (255*255),
	// both rounded.
	VPXOR(all, saturation, least)
	VPMULLD(top, least, least)
	VPADDD(half, least, least)
	VPSRLD(Imm(8), least, number)
	VPADDD(number, least, least)
	VPSRLD(Imm(8), least, least)
	VPMULLD(lacks, saturation, lacks)
	between := YMM()
	VMOVDQU(longs("squareTurn", 255*255), between)
	VPSUBD(lacks, between, between)
	VPMULLD(top, between, between)
	VPADDD(partsHalf, between, between)
	VCVTDQ2PS(between, between)
	VMOVUPS(parts, number)
	VDIVPS(number, between, between)
	VCVTTPS2DQ(between, between)
	colours.store(top, between, least, sector, planes)
	closeLoop("pixels", n, 8)
}

// blurColumns has sums of 32 bits: of as many pixels of 2**24ths as are in a box, no more than 2**32.
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

// transposeBlocks turns blocks of eight by eight.
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
