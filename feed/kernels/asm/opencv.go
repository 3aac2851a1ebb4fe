package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels of feed/picture: OpenCV's arithmetic, on planes of bytes.

func opencv() {
	blendAcross()
	blendDown()
	halve()
	averageAcross()
	roundSums()
	weighGrey()
	toHSV()
	fromHSV()
	findPlaces()
	blendFour()
}

// blendAcross puts 4 outputs in each half of a register, so that packing leaves 16 in their order.
func blendAcross() {
	begin("blendAcross16", "func(dst *int16, src *byte, origins *int32, cells *byte, groups int)",
		"blendAcross16 makes groups of 16 outputs, each of two pixels by weights of 11 bits, without the last 4 bits.")
	dst, src, origins := pointer("dst"), pointer("src"), pointer("origins")
	cells, groups := pointer("cells"), pointer("groups")
	Label("group")
	var sums [2]VecVirtual
	for half := range sums {
		low, high := GP64(), GP64()
		MOVLQSX(Mem{Base: origins, Disp: 8 * half}, low)
		MOVLQSX(Mem{Base: origins, Disp: 8*half + 4}, high)
		v := YMM()
		VMOVDQU(Mem{Base: src, Index: low, Scale: 1}, v.AsX())
		VINSERTI128(Imm(1), Mem{Base: src, Index: high, Scale: 1}, v, v)
		VPSHUFB(Mem{Base: cells, Disp: 64 * half}, v, v)
		VPMADDWD(Mem{Base: cells, Disp: 64*half + 32}, v, v)
		VPSRAD(Imm(4), v, v)
		sums[half] = v
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VMOVDQU(sums[0], Mem{Base: dst})
	ADDQ(Imm(32), dst)
	ADDQ(Imm(16), origins)
	ADDQ(U32(128), cells)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// blendDown multiplies to the upper 16 bits, as OpenCV does.
func blendDown() {
	begin("blendDown16", "func(dst *byte, first *int16, second *int16, n int, weight int32, weight2 int32)",
		"blendDown16 makes n bytes, a multiple of 16, of two lines.")
	dst, first, second, n := pointer("dst"), pointer("first"), pointer("second"), pointer("n")
	var weights [2]VecVirtual
	for i, name := range []string{"weight", "weight2"} {
		weights[i] = YMM()
		VPBROADCASTW(argument(name), weights[i])
	}
	two := constant(words("twoDown", 2))
	Label("pixels")
	a, b := YMM(), YMM()
	VPMULHW(Mem{Base: first}, weights[0], a)
	VPMULHW(Mem{Base: second}, weights[1], b)
	VPADDW(b, a, a)
	VPADDW(two, a, a)
	VPSRAW(Imm(2), a, a)
	VPACKUSWB(a, a, a)
	VPERMQ(Imm(0b1000), a, a)
	VMOVDQU(a.AsX(), Mem{Base: dst})
	advance(32, first, second)
	ADDQ(Imm(16), dst)
	closeLoop("pixels", n, 16)
}

// halve adds neighbours, then rows.
func halve() {
	begin("halve16", "func(dst *byte, upper *byte, lower *byte, n int)",
		"halve16 makes n bytes, a multiple of 16, each the average of two by two.")
	dst, upper, lower, n := pointer("dst"), pointer("upper"), pointer("lower"), pointer("n")
	ones, two := constant(bytes("onesHalve", 1)), constant(words("twoHalve", 2))
	Label("pixels")
	a, b := YMM(), YMM()
	VMOVDQU(Mem{Base: upper}, a)
	VMOVDQU(Mem{Base: lower}, b)
	VPMADDUBSW(ones, a, a)
	VPMADDUBSW(ones, b, b)
	VPADDW(b, a, a)
	VPADDW(two, a, a)
	VPSRLW(Imm(2), a, a)
	VPACKUSWB(a, a, a)
	VPERMQ(Imm(0b1000), a, a)
	VMOVDQU(a.AsX(), Mem{Base: dst})
	advance(32, upper, lower)
	ADDQ(Imm(16), dst)
	closeLoop("pixels", n, 16)
}

// averageAcross sums the pixels of 8 outputs at once, in their order. An output of fewer pixels than others has some
// that count nothing.
func averageAcross() {
	begin("averageAcross8", "func(sum *float32, src *byte, cells *byte, steps int, groups int, share *float32, first int)",
		"averageAcross8 adds a row's share of groups of 8 outputs to their sums; it begins them where it is the first.")
	sum, src, cells := pointer("sum"), pointer("src"), pointer("cells")
	groups, first := pointer("groups"), pointer("first")
	share := YMM()
	VBROADCASTSS(Mem{Base: pointer("share")}, share)
	low := constant(longs("lowByteArea", 255))
	Label("group")
	v, steps := YMM(), pointer("steps")
	VPXOR(v, v, v)
	Label("step")
	index, all, pixels := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: cells}, index) // not in vector 4, which QEMU 7.2 takes for no index
	VPCMPEQD(all, all, all)
	VPGATHERDD(all, Mem{Base: src, Index: index, Scale: 1}, pixels)
	VPSRLVD(Mem{Base: cells, Disp: 32}, pixels, pixels)
	VPAND(low, pixels, pixels)
	VCVTDQ2PS(pixels, pixels)
	VMULPS(Mem{Base: cells, Disp: 64}, pixels, pixels)
	VADDPS(pixels, v, v)
	ADDQ(Imm(96), cells)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VMULPS(share, v, v)
	TESTQ(first, first)
	JNZ(LabelRef("begin"))
	VADDPS(Mem{Base: sum}, v, v)
	Label("begin")
	VMOVUPS(v, Mem{Base: sum})
	ADDQ(Imm(32), sum)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// roundSums rounds into even, as everywhere.
func roundSums() {
	begin("roundSums8", "func(dst *byte, sum *float32, n int)",
		"roundSums8 makes n bytes, a multiple of 8, of sums.")
	dst, sum, n := pointer("dst"), pointer("sum"), pointer("n")
	Label("pixels")
	v, upper := YMM(), XMM()
	VCVTPS2DQ(Mem{Base: sum}, v)
	VPACKSSDW(v, v, v)
	VPACKUSWB(v, v, v)
	VEXTRACTI128(Imm(1), v, upper)
	VPUNPCKLDQ(upper, v.AsX(), v.AsX())
	VMOVQ(v.AsX(), Mem{Base: dst})
	ADDQ(Imm(32), sum)
	ADDQ(Imm(8), dst)
	closeLoop("pixels", n, 8)
}

// weighGrey multiplies in pairs: red with green, blue with one half.
func weighGrey() {
	begin("weighGrey16", "func(dst *byte, red *byte, green *byte, blue *byte, n int)",
		"weighGrey16 makes n pixels, a multiple of 16, grey.")
	dst, red, green, blue, n := pointer("dst"), pointer("red"), pointer("green"), pointer("blue"), pointer("n")
	redGreen := constant(longs("redGreen", 19235<<16|9798))
	blueHalf := constant(longs("blueHalf", 1<<14<<16|3735))
	ones := constant(words("onesGrey", 1))
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
		VPMADDWD(redGreen, sum, sum)
		VPMADDWD(blueHalf, more, more)
		VPADDD(more, sum, sum)
		VPSRAD(Imm(15), sum, sum)
		sums[i] = sum
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VPACKUSWB(sums[0], sums[0], sums[0])
	VPERMQ(Imm(0b1000), sums[0], sums[0])
	VMOVDQU(sums[0].AsX(), Mem{Base: dst})
	advance(16, dst, red, green, blue)
	closeLoop("pixels", n, 16)
}

// storeThree writes 8 pixels of three planes, of each of which 4 bytes lie in each half.
func storeThree(v VecVirtual, order Op, planes [3]GPVirtual) {
	o, upper := YMM(), XMM()
	VMOVDQU(order, o)
	VPERMD(v, o, v)
	VMOVQ(v.AsX(), Mem{Base: planes[0]})
	VPEXTRQ(Imm(1), v.AsX(), Mem{Base: planes[1]})
	VEXTRACTI128(Imm(1), v, upper)
	VMOVQ(upper, Mem{Base: planes[2]})
	advance(8, planes[:]...)
}

// loadThree spreads 8 bytes of each plane.
func loadThree(planes [3]GPVirtual) (a, b, c VecVirtual) {
	var out [3]VecVirtual
	for i, p := range planes {
		out[i] = YMM()
		VPMOVZXBD(Mem{Base: p}, out[i])
	}
	return out[0], out[1], out[2]
}

// lookUp takes numbers of a table by index.
func lookUp(table GPVirtual, index VecVirtual) VecVirtual {
	all, out := YMM(), YMM()
	VPCMPEQD(all, all, all)
	VPGATHERDD(all, Mem{Base: table, Index: index, Scale: 4}, out)
	return out
}

func toHSV() {
	begin("toHSV8", "func(red *byte, green *byte, blue *byte, saturation *int32, hue *int32, n int)",
		"toHSV8 makes n pixels, a multiple of 8, hue, saturation and value, where they are.")
	planes := [3]GPVirtual{pointer("red"), pointer("green"), pointer("blue")}
	saturation, hue, n := pointer("saturation"), pointer("hue"), pointer("n")
	half, around := constant(longs("halfHSV", 1<<11)), constant(longs("aroundHSV", 180))
	Label("pixels")
	r, g, b := loadThree(planes)
	top, span := YMM(), YMM()
	VPMAXSD(g, r, top)
	VPMAXSD(b, top, top)
	VPMINSD(g, r, span)
	VPMINSD(b, span, span)
	VPSUBD(span, top, span)
	h, twice, other, is := YMM(), YMM(), YMM(), YMM()
	VPADDD(span, span, twice)
	VPSUBD(g, r, h)
	VPADDD(twice, h, h)
	VPADDD(twice, h, h)
	VPSUBD(r, b, other)
	VPADDD(twice, other, other)
	VPCMPEQD(g, top, is)
	VPBLENDVB(is, other, h, h)
	VPSUBD(b, g, other)
	VPCMPEQD(r, top, is)
	VPBLENDVB(is, other, h, h)
	VPMULLD(lookUp(hue, span), h, h)
	VPADDD(half, h, h)
	VPSRAD(Imm(12), h, h)
	VPSRAD(Imm(31), h, other)
	VPAND(around, other, other)
	VPADDD(other, h, h)
	s := lookUp(saturation, top)
	VPMULLD(span, s, s)
	VPADDD(half, s, s)
	VPSRAD(Imm(12), s, s)
	VPACKSSDW(s, h, h)
	VPACKSSDW(top, top, top)
	VPACKUSWB(top, h, h)
	storeThree(h, longs("orderToHSV", 0, 4, 1, 5, 2, 6, 3, 7), planes)
	closeLoop("pixels", n, 8)
}

// fromHSV puts the three numbers of a colour into 4 bytes, which the sector of its hue sorts.
func fromHSV() {
	begin("fromHSV8", "func(hue *byte, saturation *byte, value *byte, n int)",
		"fromHSV8 makes n pixels, a multiple of 8, red, green and blue, where they are, with numbers cut off.")
	planes := [3]GPVirtual{pointer("hue"), pointer("saturation"), pointer("value")}
	n := pointer("n")
	scale, part := single("scaleFromHSV", float32(6)/float32(180)), single("partFromHSV", float32(1)/float32(255))
	all := single("allFromHSV", 255)
	one := constant(single("oneFromHSV", 1))
	five, six := longs("fiveFromHSV", 5), longs("sixFromHSV", 6)
	const top, mid, low = 0, 1, 2
	var sorted []uint32
	for _, of := range [6][3]uint32{
		{top, mid, low}, {mid, top, low}, {low, top, mid}, {low, mid, top}, {mid, low, top}, {top, low, mid},
	} {
		sorted = append(sorted, of[0]|of[1]<<8|of[2]<<16|0x80<<24)
	}
	bySector := constant(longs("bySector", append(sorted, 0, 0)...))
	places := constant(longs("placesFromHSV", 0, 0x040404, 0x080808, 0x0c0c0c))
	apart := constant(bytes("apartFromHSV", 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15))
	Label("pixels")
	h, s, v := loadThree(planes)
	for _, each := range []VecVirtual{h, s, v} {
		VCVTDQ2PS(each, each)
	}
	VMULPS(scale, h, h)
	VMULPS(part, s, s)
	VMULPS(part, v, v)
	sector, within, odd := YMM(), YMM(), YMM()
	VCVTTPS2DQ(h, sector)
	VCVTDQ2PS(sector, within)
	VSUBPS(within, h, within)
	VPSLLD(Imm(31), sector, odd)
	VSUBPS(within, one, h)
	VBLENDVPS(odd, within, h, within)
	VPCMPGTD(five, sector, odd)
	VPAND(six, odd, odd)
	VPSUBD(odd, sector, sector)
	VPERMD(bySector, sector, sector)
	VPADDB(places, sector, sector)

	between, least := YMM(), YMM()
	VMOVAPS(one, between)
	VFNMADD231PS(s, within, between)
	VSUBPS(s, one, least)
	VMULPS(v, between, between)
	VMULPS(v, least, least)
	for _, each := range []VecVirtual{v, between, least} {
		VMULPS(all, each, each)
		VCVTTPS2DQ(each, each)
	}
	VPSLLD(Imm(8), between, between)
	VPSLLD(Imm(16), least, least)
	VPOR(between, v, v)
	VPOR(least, v, v)
	VPSHUFB(sector, v, v)
	VPSHUFB(apart, v, v)
	storeThree(v, longs("orderFromHSV", 0, 4, 1, 5, 2, 6, 3, 7), planes)
	closeLoop("pixels", n, 8)
}

// single is a number of single precision that fills a register.
func single(name string, v float32) Mem { return longs(name, math.Float32bits(v)) }

// findPlaces has 8 pixels at a time.
func findPlaces() {
	begin("findPlaces8", "func(at *int32, across *float32, below *float32, n int, numbers *float32, bounds *int32)",
		"findPlaces8 says where n pixels of a row, a multiple of 8, come from: numbers are a factor and an addend across and down.",
		"Of bounds, two are the last column and row, one a row's bytes, one the first place that is too late. What is not within is -1.")
	at, across, below, n := pointer("at"), pointer("across"), pointer("below"), pointer("n")
	numbers, bounds := pointer("numbers"), pointer("bounds")
	var number, bound [4]VecVirtual
	for i := range number {
		number[i], bound[i] = YMM(), YMM()
		VBROADCASTSS(Mem{Base: numbers, Disp: 4 * i}, number[i])
		VPBROADCASTD(Mem{Base: bounds, Disp: 4 * i}, bound[i])
	}
	column := constant(longs("columns", 0, 1, 2, 3, 4, 5, 6, 7))
	eight := longs("eightColumns", 8)
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	Label("pixels")
	x, inside := YMM(), YMM()
	VCVTDQ2PS(column, x)
	VPADDD(eight, column, column)
	VMOVDQA(ones, inside)
	var whole [2]VecVirtual
	for i, to := range []GPVirtual{across, below} {
		place, floor, is := YMM(), YMM(), YMM()
		VMOVAPS(number[2*i+1], place)
		VFMADD231PS(x, number[2*i], place)
		VROUNDPS(Imm(9), place, floor)
		VSUBPS(floor, place, place)
		VMOVUPS(place, Mem{Base: to})
		VCVTTPS2DQ(floor, floor)
		VPCMPGTD(floor, bound[i], is)
		VPAND(is, inside, inside)
		VPCMPGTD(ones, floor, is)
		VPAND(is, inside, inside)
		whole[i] = floor
	}
	place := whole[1]
	VPMULLD(bound[2], place, place)
	VPADDD(whole[0], place, place)
	before := YMM()
	VPCMPGTD(place, bound[3], before)
	VPAND(before, inside, inside)
	VPXOR(ones, inside, inside)
	VPOR(inside, place, place)
	VMOVDQU(place, Mem{Base: at})
	advance(32, at, across, below)
	closeLoop("pixels", n, 8)
}

// blendFour rounds each step to single precision, as OpenCV does.
func blendFour() {
	begin("blendFour8", "func(dst *byte, plane *byte, stride int, at *int32, across *float32, below *float32, n int)",
		"blendFour8 makes n pixels, a multiple of 8, of four each; what is made of places below 0 says nothing.")
	dst, plane, stride := pointer("dst"), pointer("plane"), pointer("stride")
	at, across, below, n := pointer("at"), pointer("across"), pointer("below"), pointer("n")
	next := GP64()
	LEAQ(Mem{Base: plane, Index: stride, Scale: 1}, next)
	byteOf := constant(longs("lowByte", 255))
	zero := YMM()
	VPXOR(zero, zero, zero)
	Label("pixels")
	index := YMM()
	VPMAXSD(Mem{Base: at}, zero, index)
	var lines [2]VecVirtual
	for i, row := range []GPVirtual{plane, next} {
		all, four, left := YMM(), YMM(), YMM()
		VPCMPEQD(all, all, all)
		VPGATHERDD(all, Mem{Base: row, Index: index, Scale: 1}, four)
		VPAND(byteOf, four, left)
		VPSRLD(Imm(8), four, four)
		VPAND(byteOf, four, four)
		VPSUBD(left, four, four)
		VCVTDQ2PS(left, left)
		VCVTDQ2PS(four, four)
		VFMADD231PS(Mem{Base: across}, four, left)
		lines[i] = left
	}
	VSUBPS(lines[0], lines[1], lines[1])
	VFMADD231PS(Mem{Base: below}, lines[1], lines[0])
	v, upper := lines[0], XMM()
	VCVTPS2DQ(v, v)
	VPACKSSDW(v, v, v)
	VPACKUSWB(v, v, v)
	VEXTRACTI128(Imm(1), v, upper)
	VPUNPCKLDQ(upper, v.AsX(), v.AsX())
	VMOVQ(v.AsX(), Mem{Base: dst})
	advance(32, at, across, below)
	ADDQ(Imm(8), dst)
	closeLoop("pixels", n, 8)
}
