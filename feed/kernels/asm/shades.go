package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// shades makes the kernels that resize shades of 16 bits. Pillow's sums of doubles are rounded product by product and sum
// by sum: lanes are other results, never parts of a sum, and nothing is fused.
func shades() {
	apart := bytes("apartShades", 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
	half, low := longs("halfShades", 0, 0x3fe00000), words("lowShades", 255)
	packShades(apart)
	sumShades(apart, half, low)
	sumShadesDown(half, low)
}

// packShades turns blocks of four by four.
func packShades(apart Mem) {
	begin("packShades", "func(packed *float64, low *byte, high *byte, stride int, n int)",
		"packShades makes doubles of n shades, a multiple of 4, of 4 rows, column by column.")
	packed, n := pointer("packed"), pointer("n")
	planes := [2][4]GPVirtual{rows("low", "stride"), rows("high", "stride")}
	order := constant(apart).AsX()
	Label("pixels")
	var columns [2]VecVirtual
	for i, plane := range planes {
		v := XMM()
		VMOVD(Mem{Base: plane[0]}, v)
		for r := 1; r < 4; r++ {
			VPINSRD(Imm(uint64(r)), Mem{Base: plane[r]}, v, v)
		}
		VPSHUFB(order, v, v)
		columns[i] = v
	}
	for i := range 2 {
		v, wide, upper, first, second := XMM(), YMM(), XMM(), YMM(), YMM()
		if i == 0 {
			VPUNPCKLBW(columns[1], columns[0], v)
		} else {
			VPUNPCKHBW(columns[1], columns[0], v)
		}
		VPMOVZXWD(v, wide)
		VEXTRACTI128(Imm(1), wide, upper)
		VCVTDQ2PD(wide.AsX(), first)
		VCVTDQ2PD(upper, second)
		VMOVUPD(first, Mem{Base: packed, Disp: 64 * i})
		VMOVUPD(second, Mem{Base: packed, Disp: 64*i + 32})
	}
	ADDQ(U32(128), packed)
	for _, plane := range planes {
		advance(4, plane[:]...)
	}
	closeLoop("pixels", n, 4)
}

// sumShades makes four results of four rows at a time.
func sumShades(apart, half, low Mem) {
	begin("sumShades", "func(low *byte, high *byte, stride int, packed *float64, origins *int32, cells *float64, taps int, groups int)",
		"sumShades makes groups of 4 shades of 4 rows, each a sum of so many doubles.")
	planes := [2]GPVirtual{pointer("low"), pointer("high")}
	stride, packed, origins := pointer("stride"), pointer("packed"), pointer("origins")
	cells, groups, thrice := pointer("cells"), pointer("groups"), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, thrice)
	halves, lows, order := constant(half), constant(low).AsX(), constant(apart).AsX()
	Label("group")
	var from [4]GPVirtual
	var sums [4]VecVirtual
	for i := range sums {
		from[i], sums[i] = GP64(), YMM()
		MOVLQSX(Mem{Base: origins, Disp: 4 * i}, from[i])
		ADDQ(packed, from[i])
		VXORPD(sums[i], sums[i], sums[i])
	}
	taps := pointer("taps")
	Label("tap")
	for i := range sums {
		v := YMM()
		VBROADCASTSD(Mem{Base: cells, Disp: 8 * i}, v)
		VMULPD(Mem{Base: from[i]}, v, v)
		VADDPD(v, sums[i], sums[i])
	}
	advance(32, from[0], from[1], from[2], from[3], cells)
	DECQ(taps)
	JNZ(LabelRef("tap"))
	first, second := roundShades(halves, sums[0], sums[1]), roundShades(halves, sums[2], sums[3])
	for i, v := range splitShades(lows, first, second) {
		VPSHUFB(order, v, v)
		VMOVD(v, Mem{Base: planes[i]})
		VPEXTRD(Imm(1), v, Mem{Base: planes[i], Index: stride, Scale: 1})
		VPEXTRD(Imm(2), v, Mem{Base: planes[i], Index: stride, Scale: 2})
		VPEXTRD(Imm(3), v, Mem{Base: planes[i], Index: thrice, Scale: 1})
	}
	advance(4, planes[:]...)
	ADDQ(Imm(16), origins)
	closeLoop("group", groups, 1)
}

// sumShadesDown has eight results in two registers.
func sumShadesDown(half, low Mem) {
	begin("sumShadesDown",
		"func(low *byte, high *byte, fromLow *byte, fromHigh *byte, stride int, weights *float64, count int, n int)",
		"sumShadesDown makes n shades, a multiple of 8, each the sum of count rows.")
	planes, from := [2]GPVirtual{pointer("low"), pointer("high")}, [2]GPVirtual{pointer("fromLow"), pointer("fromHigh")}
	stride, weights, n := pointer("stride"), pointer("weights"), pointer("n")
	halves, lows := constant(half), constant(low).AsX()
	Label("pixels")
	row, weight, count := [2]GPVirtual{GP64(), GP64()}, GP64(), pointer("count")
	sums := [2]VecVirtual{YMM(), YMM()}
	for i := range sums {
		MOVQ(from[i], row[i])
		VXORPD(sums[i], sums[i], sums[i])
	}
	MOVQ(weights, weight)
	Label("row")
	v, high, wide, upper, factor := XMM(), XMM(), YMM(), XMM(), YMM()
	VMOVQ(Mem{Base: row[0]}, v)
	VMOVQ(Mem{Base: row[1]}, high)
	VPUNPCKLBW(high, v, v)
	VPMOVZXWD(v, wide)
	VEXTRACTI128(Imm(1), wide, upper)
	VBROADCASTSD(Mem{Base: weight}, factor)
	for i, four := range []VecVirtual{wide.AsX().(VecVirtual), upper} {
		product := YMM()
		VCVTDQ2PD(four, product)
		VMULPD(factor, product, product)
		VADDPD(product, sums[i], sums[i])
	}
	ADDQ(stride, row[0])
	ADDQ(stride, row[1])
	ADDQ(Imm(8), weight)
	DECQ(count)
	JNZ(LabelRef("row"))
	all := roundShades(halves, sums[0], sums[1])
	for i, v := range splitShades(lows, all, all) {
		VMOVQ(v, Mem{Base: planes[i]})
	}
	advance(8, planes[0], planes[1], from[0], from[1])
	closeLoop("pixels", n, 8)
}

// roundShades makes words of two fours of sums. None is below 0, so that its floor is what is left without its fraction.
func roundShades(halves VecVirtual, a, b VecVirtual) VecVirtual {
	var four [2]VecVirtual
	for i, sum := range []VecVirtual{a, b} {
		VADDPD(halves, sum, sum)
		four[i] = XMM()
		VCVTTPD2DQY(sum, four[i])
	}
	VPACKUSDW(four[1], four[0], four[0])
	return four[0]
}

// splitShades makes lower and higher bytes of two eights of words.
func splitShades(lows Op, first, second VecVirtual) [2]VecVirtual {
	var out [2]VecVirtual
	for i := range out {
		v, more := XMM(), XMM()
		if i == 0 {
			VPAND(lows, first, v)
			VPAND(lows, second, more)
		} else {
			VPSRLW(Imm(8), first, v)
			VPSRLW(Imm(8), second, more)
		}
		VPACKUSWB(more, v, v)
		out[i] = v
	}
	return out
}
