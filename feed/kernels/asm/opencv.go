package main

import (
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
	weighGrey("weighGrey16", "OpenCV", 19235<<16|9798, 1<<14<<16|3735, 1, 15, false)
	toHSV()
	colours := newSorting()
	fromHSV(colours)
	columns, eightColumns := longs("columns", 0, 1, 2, 3, 4, 5, 6, 7), longs("eightColumns", 8)
	findPlaces("findPlaces8", columns, eightColumns, false)
	findPlaces("findPlacesDivided8", columns, eightColumns, true)
	blendFour()
	lowByte := longs("lowByteCubic", 255)
	for i, of := range []string{"grey picture", "picture of three bands"} {
		name := []string{"Grey8", "8"}[i]
		cubicAcross("cubicAcross"+name, of, i == 1)
		cubicGather("cubicGather"+name, of, lowByte, i == 1)
	}
	cubicDown()
	blurAcross()
	blurDown()
	addWeighted()
	warp()
	enhance(colours)
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

// weighGrey multiplies in pairs: red with green, blue with a number that stands for one half. A weight of green that 16 bits
// do not hold is given less one, and green is added once more.
func weighGrey(name, whose string, redGreen, blueHalf uint32, half uint16, shift uint64, green1 bool) {
	begin(name, "func(dst *byte, red *byte, green *byte, blue *byte, n int)",
		name+" makes n pixels, a multiple of 16, grey as "+whose+" does.")
	dst, red, green, blue, n := pointer("dst"), pointer("red"), pointer("green"), pointer("blue"), pointer("n")
	weights, weights2 := constant(longs(name+"RedGreen", redGreen)), constant(longs(name+"BlueHalf", blueHalf))
	ones := constant(words(name+"Half", half))
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
		VPSRAD(Imm(shift), sum, sum)
		sums[i] = sum
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	if green1 {
		VPADDW(g, sums[0], sums[0])
	}
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

// findPlaces has 8 pixels at a time. Where it divides, a third pair of numbers is the divisor.
func findPlaces(name string, columns, eightColumns Mem, divides bool) {
	doc := []string{name + " says where n pixels of a row, a multiple of 8, come from: numbers are a factor and an addend across and down."}
	if divides {
		doc = append(doc, "What they give is divided by what a third factor and addend give.")
	}
	doc = append(doc, "Of bounds, two are the last column and row, one a row's bytes, one the first place that is too late. What is not within is -1.")
	begin(name, "func(at *int32, across *float32, below *float32, n int, numbers *float32, bounds *int32)", doc...)
	at, across, below, n := pointer("at"), pointer("across"), pointer("below"), pointer("n")
	numbers, bounds := pointer("numbers"), pointer("bounds")
	number := make([]VecVirtual, 4)
	if divides {
		number = make([]VecVirtual, 6)
	}
	var bound [4]Mem
	for i := range number {
		number[i] = YMM()
		VBROADCASTSS(Mem{Base: numbers, Disp: 4 * i}, number[i])
	}
	for i := range bound {
		bound[i] = Mem{Base: bounds, Disp: 4 * i}
	}
	spread := func(m Mem) VecVirtual {
		y := YMM()
		VPBROADCASTD(m, y)
		return y
	}
	column := constant(columns)
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	Label("pixels")
	x, inside, divisor := YMM(), YMM(), YMM()
	VCVTDQ2PS(column, x)
	VPADDD(eightColumns, column, column)
	VMOVDQA(ones, inside)
	if divides {
		VMOVAPS(number[5], divisor)
		VFMADD231PS(x, number[4], divisor)
	}
	var whole [2]VecVirtual
	for i, to := range []GPVirtual{across, below} {
		place, floor, is := YMM(), YMM(), YMM()
		VMOVAPS(number[2*i+1], place)
		VFMADD231PS(x, number[2*i], place)
		if divides {
			VDIVPS(divisor, place, place)
		}
		VROUNDPS(Imm(9), place, floor)
		VSUBPS(floor, place, place)
		VMOVUPS(place, Mem{Base: to})
		VCVTTPS2DQ(floor, floor)
		VPCMPGTD(floor, spread(bound[i]), is)
		VPAND(is, inside, inside)
		VPCMPGTD(ones, floor, is)
		VPAND(is, inside, inside)
		whole[i] = floor
	}
	place := whole[1]
	VPMULLD(spread(bound[2]), place, place)
	VPADDD(whole[0], place, place)
	before := YMM()
	VPCMPGTD(place, spread(bound[3]), before)
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
	storeRounded(lines[0], dst)
	advance(32, at, across, below)
	closeLoop("pixels", n, 8)
}

// cubicAcross sorts the four pixels of each output out of 16, for four outputs in each half of a register.
func cubicAcross(name, of string, colour bool) {
	begin(name, "func(dst *float32, src *byte, cells *byte, groups int)",
		name+" makes groups of 8 outputs of a "+of+", each of four pixels: those of four outputs lie within 16.")
	dst, src, cells, groups := pointer("dst"), pointer("src"), pointer("cells"), pointer("groups")
	Label("group")
	low, high, all := GP64(), GP64(), YMM()
	MOVLQSX(Mem{Base: cells, Disp: 256}, low)
	MOVLQSX(Mem{Base: cells, Disp: 260}, high)
	VMOVDQU(Mem{Base: src, Index: low, Scale: 1}, all.AsX())
	VINSERTI128(Imm(1), Mem{Base: src, Index: high, Scale: 1}, all, all)
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
		VPSHUFB(Mem{Base: cells, Disp: 32 * i}, all, v[i])
		VCVTDQ2PS(v[i], v[i])
	}
	closeCubic(v, Mem{Base: cells, Disp: 128}, dst, colour)
	ADDQ(U32(264), cells)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// cubicGather has the four pixels of an output in one lane.
func cubicGather(name, of string, lowByte Mem, colour bool) {
	begin(name, "func(dst *float32, src *byte, cells *byte, groups int)",
		name+" makes groups of 8 outputs of a "+of+", each of four pixels, wherever they lie.")
	dst, src, cells, groups := pointer("dst"), pointer("src"), pointer("cells"), pointer("groups")
	low := constant(lowByte)
	Label("group")
	index, all, four := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: cells}, index) // not in vector 4, which QEMU 7.2 takes for no index
	VPCMPEQD(all, all, all)
	VPGATHERDD(all, Mem{Base: src, Index: index, Scale: 1}, four)
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
		VPAND(low, four, v[i])
		VPSRLD(Imm(8), four, four)
		VCVTDQ2PS(v[i], v[i])
	}
	closeCubic(v, Mem{Base: cells, Disp: 32}, dst, colour)
	ADDQ(U32(160), cells)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// closeCubic weighs and sums, for grey and colour in the orders of IPP.
func closeCubic(v [4]VecVirtual, weights Mem, dst GPVirtual, colour bool) {
	weight := func(i int) Mem { return weights.Offset(32 * i) }
	products := func(list ...int) {
		for _, i := range list {
			VMULPS(weight(i), v[i], v[i])
		}
	}
	if colour {
		products(3, 2)
		VFMADD231PS(weight(0), v[0], v[3])
		VFMADD231PS(weight(1), v[1], v[2])
	} else {
		products(0, 1, 2, 3)
		VADDPS(v[3], v[2], v[3])
		VADDPS(v[1], v[0], v[2])
	}
	VADDPS(v[2], v[3], v[3])
	VMOVUPS(v[3], Mem{Base: dst})
	ADDQ(Imm(32), dst)
}

// cubicDown rounds into even, as everywhere.
func cubicDown() {
	begin("cubicDown8", "func(dst *byte, a *float32, b *float32, c *float32, d *float32, weights *float32, n int)",
		"cubicDown8 makes n bytes, a multiple of 8, of four lines.")
	dst, n, weights := pointer("dst"), pointer("n"), pointer("weights")
	var lines [4]GPVirtual
	var weight [4]VecVirtual
	for i, name := range []string{"a", "b", "c", "d"} {
		lines[i], weight[i] = pointer(name), YMM()
		VBROADCASTSS(Mem{Base: weights, Disp: 4 * i}, weight[i])
	}
	Label("pixels")
	v, more := YMM(), YMM()
	VMULPS(Mem{Base: lines[1]}, weight[1], v)
	VFMADD231PS(Mem{Base: lines[0]}, weight[0], v)
	VMULPS(Mem{Base: lines[3]}, weight[3], more)
	VFMADD231PS(Mem{Base: lines[2]}, weight[2], more)
	VADDPS(more, v, v)
	storeRounded(v, dst)
	advance(32, lines[:]...)
	closeLoop("pixels", n, 8)
}

// storeRounded rounds 8 numbers into even, and leaves them as bytes.
func storeRounded(v VecVirtual, dst GPVirtual) {
	VCVTPS2DQ(v, v)
	storeBytes(v, dst)
}

// storeBytes leaves 8 whole numbers as bytes, cut off at 0 and 255.
func storeBytes(v VecVirtual, dst GPVirtual) {
	upper := XMM()
	VPACKSSDW(v, v, v)
	VPACKUSWB(v, v, v)
	VEXTRACTI128(Imm(1), v, upper)
	VPUNPCKLDQ(upper, v.AsX(), v.AsX())
	VMOVQ(v.AsX(), Mem{Base: dst})
	ADDQ(Imm(8), dst)
}

// blurAcross has weights that lie around a middle: the two pixels of a weight are summed first.
func blurAcross() {
	begin("blurAcross16", "func(dst *int16, src *byte, taps *uint16, count int, n int)",
		"blurAcross16 sums n outputs, a multiple of 16, of an odd count of pixels each, and takes 32768 from them.")
	dst, src, taps, n := pointer("dst"), pointer("src"), pointer("taps"), pointer("n")
	last := pointer("count") // the way from a weight's first pixel to its second
	DECQ(last)
	bias := constant(words("biasBlur", 1<<15))
	Label("pixels")
	sum := YMM()
	VMOVDQA(bias, sum)
	left, way, tap := GP64(), GP64(), GP64()
	MOVQ(src, left)
	MOVQ(last, way)
	MOVQ(taps, tap)
	TESTQ(way, way)
	JZ(LabelRef("middle"))
	Label("pair")
	a, b, weight := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: left}, a)
	VPMOVZXBW(Mem{Base: left, Index: way, Scale: 1}, b)
	VPBROADCASTW(Mem{Base: tap}, weight)
	VPADDW(b, a, a)
	VPMULLW(weight, a, a)
	VPADDW(a, sum, sum)
	INCQ(left)
	ADDQ(Imm(2), tap)
	SUBQ(Imm(2), way)
	JNZ(LabelRef("pair"))
	Label("middle")
	VPMOVZXBW(Mem{Base: left}, a)
	VPBROADCASTW(Mem{Base: tap}, weight)
	VPMULLW(weight, a, a)
	VPADDW(a, sum, sum)
	VMOVDQU(sum, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	ADDQ(Imm(16), src)
	closeLoop("pixels", n, 16)
}

// blurDown multiplies two lines at once, which share a weight.
func blurDown() {
	begin("blurDown16", "func(dst *byte, lines *int16, stride int, taps *uint16, count int, n int)",
		"blurDown16 makes n bytes, a multiple of 16, of an odd count of lines that are stride bytes apart.")
	dst, lines, stride := pointer("dst"), pointer("lines"), pointer("stride")
	taps, count, n := pointer("taps"), pointer("count"), pointer("n")
	start := constant(longs("startBlur", 1<<23+1<<15))
	zero := YMM()
	VPXOR(zero, zero, zero)
	Label("pixels")
	low, high := YMM(), YMM()
	VMOVDQA(start, low)
	VMOVDQA(start, high)
	upper, lower, left, tap := GP64(), GP64(), GP64(), GP64()
	MOVQ(lines, upper)
	MOVQ(count, left)
	DECQ(left)
	MOVQ(left, lower)
	IMULQ(stride, lower)
	ADDQ(lines, lower)
	MOVQ(taps, tap)
	multiply := func(a, b VecVirtual) {
		weight, first, second := YMM(), YMM(), YMM()
		VPBROADCASTW(Mem{Base: tap}, weight)
		VPUNPCKLWD(b, a, first)
		VPUNPCKHWD(b, a, second)
		VPMADDWD(weight, first, first)
		VPMADDWD(weight, second, second)
		VPADDD(first, low, low)
		VPADDD(second, high, high)
	}
	TESTQ(left, left)
	JZ(LabelRef("middle"))
	Label("pair")
	a, b := YMM(), YMM()
	VMOVDQU(Mem{Base: upper}, a)
	VMOVDQU(Mem{Base: lower}, b)
	multiply(a, b)
	ADDQ(stride, upper)
	SUBQ(stride, lower)
	ADDQ(Imm(2), tap)
	SUBQ(Imm(2), left)
	JNZ(LabelRef("pair"))
	Label("middle")
	VMOVDQU(Mem{Base: upper}, a)
	multiply(a, zero)
	VPSRAD(Imm(16), low, low)
	VPSRAD(Imm(16), high, high)
	VPACKSSDW(high, low, low)
	VPACKUSWB(low, low, low)
	VPERMQ(Imm(0b1000), low, low)
	VMOVDQU(low.AsX(), Mem{Base: dst})
	ADDQ(Imm(32), lines)
	ADDQ(Imm(16), dst)
	closeLoop("pixels", n, 16)
}

// addWeighted adds each product before it is rounded, as OpenCV does.
func addWeighted() {
	begin("addWeighted8", "func(dst *byte, src *byte, numbers *float32, n int)",
		"addWeighted8 adds n pixels, a multiple of 8, of two pictures: numbers are the weight of src and of dst, and an addend.")
	dst, src, numbers, n := pointer("dst"), pointer("src"), pointer("numbers"), pointer("n")
	var number [3]VecVirtual
	for i := range number {
		number[i] = YMM()
		VBROADCASTSS(Mem{Base: numbers, Disp: 4 * i}, number[i])
	}
	Label("pixels")
	a, b, sum := YMM(), YMM(), YMM()
	VPMOVZXBD(Mem{Base: src}, a)
	VPMOVZXBD(Mem{Base: dst}, b)
	VCVTDQ2PS(a, a)
	VCVTDQ2PS(b, b)
	VMOVAPS(number[2], sum)
	VFMADD231PS(b, number[1], sum)
	VFMADD231PS(a, number[0], sum)
	ADDQ(Imm(8), src)
	storeRounded(sum, dst)
	closeLoop("pixels", n, 8)
}
