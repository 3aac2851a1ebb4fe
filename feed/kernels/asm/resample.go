package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	weightBits = 22
	half       = 1 << (weightBits - 1)
)

// sumGroups is the horizontal pass for sums of up to 2*pairs pixels: for each group
// of 8 outputs and each of 4 rows, two loads of 16 pixels, then per pair one shuffle
// that spreads the pixels to words and two multiplications.
func sumGroups(pairs int) {
	name := fmt.Sprintf("sumGroups%d", pairs)
	begin(name, "func(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, groups int)",
		name+" makes groups of 8 outputs of 4 rows, each a sum of "+fmt.Sprint(2*pairs)+" pixels.")
	dst, src := rows("dst", "dstStride"), rows("src", "srcStride")
	origins, cells, groups := pointer("origins"), pointer("cells"), pointer("groups")
	var round, order Op = longs("half"+name, half), longs("order"+name, 0, 4, 1, 5, 2, 6, 3, 7)
	if pairs < 3 { // three pairs need all registers
		round, order = constant(round.(Mem)), constant(order.(Mem))
	}

	Label("group")
	low, high := GP64(), GP64()
	MOVLQSX(Mem{Base: origins}, low)
	MOVLQSX(Mem{Base: origins, Disp: 4}, high)
	lows, highs := make([]VecVirtual, pairs), make([]VecVirtual, pairs)
	for p := range pairs {
		lows[p], highs[p] = YMM(), YMM()
		VMOVDQU(Mem{Base: cells, Disp: 96*p + 32}, lows[p])
		VMOVDQU(Mem{Base: cells, Disp: 96*p + 64}, highs[p])
	}
	var sums [4]VecVirtual
	for r := range src {
		pixels := YMM()
		VMOVDQU(Mem{Base: src[r], Index: low, Scale: 1}, pixels.AsX())
		VINSERTI128(Imm(1), Mem{Base: src[r], Index: high, Scale: 1}, pixels, pixels)
		sum, top := YMM(), YMM()
		for p := range pairs {
			spread := YMM()
			VPSHUFB(Mem{Base: cells, Disp: 96 * p}, pixels, spread)
			multiplyAdd(p == 0, spread, highs[p], top)
			multiplyAdd(p == 0, spread, lows[p], sum)
		}
		VPSLLD(Imm(16), top, top)
		VPADDD(round, sum, sum)
		VPADDD(top, sum, sum)
		VPSRAD(Imm(weightBits), sum, sum)
		sums[r] = sum
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VPACKSSDW(sums[3], sums[2], sums[2])
	VPACKUSWB(sums[2], sums[0], sums[0])
	if m, ok := order.(Mem); ok {
		order = constant(m)
	}
	VPERMD(sums[0], order, sums[0])
	for r := range dst {
		if r == 2 {
			upper := XMM()
			VEXTRACTI128(Imm(1), sums[0], upper)
			sums[0] = upper
		}
		if r%2 == 0 {
			VMOVQ(sums[0].AsX(), Mem{Base: dst[r]})
		} else {
			VPEXTRQ(Imm(1), sums[0].AsX(), Mem{Base: dst[r]})
		}
		ADDQ(Imm(8), dst[r])
	}
	ADDQ(Imm(8), origins)
	ADDQ(U32(96*pairs), cells)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// multiplyAdd adds the sums of two products to a register.
func multiplyAdd(first bool, values, weights, to VecVirtual) {
	if first {
		VPMADDWD(weights, values, to)
		return
	}
	product := YMM()
	VPMADDWD(weights, values, product)
	VPADDD(product, to, to)
}

// sumChunks is the horizontal pass for longer sums: one output of 4 rows at a time,
// 16 pixels at once.
func sumChunks() {
	begin("sumChunks", "func(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, chunks int, outputs int)",
		"sumChunks makes outputs of 4 rows, each a sum of 16*chunks pixels.")
	dst, src := rows("dst", "dstStride"), rows("src", "srcStride")
	origins, cells := pointer("origins"), pointer("cells")
	outputs := pointer("outputs")
	round := XMM()
	VMOVDQU(longs("halfChunks", half), round)

	Label("output")
	at, chunks := GP64(), pointer("chunks")
	MOVLQSX(Mem{Base: origins}, at)
	var lows, highs [4]VecVirtual
	for r := range src {
		lows[r], highs[r] = YMM(), YMM()
		VPXOR(lows[r], lows[r], lows[r])
		VPXOR(highs[r], highs[r], highs[r])
	}
	Label("chunk")
	low, high := YMM(), YMM()
	VMOVDQU(Mem{Base: cells}, low)
	VMOVDQU(Mem{Base: cells, Disp: 32}, high)
	for r := range src {
		pixels := YMM()
		VPMOVZXBW(Mem{Base: src[r], Index: at, Scale: 1}, pixels)
		multiplyAdd(false, pixels, low, lows[r])
		multiplyAdd(false, pixels, high, highs[r])
	}
	ADDQ(Imm(16), at)
	ADDQ(Imm(64), cells)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))

	for r := range src {
		VPSLLD(Imm(16), highs[r], highs[r])
		VPADDD(highs[r], lows[r], lows[r])
	}
	VPHADDD(lows[1], lows[0], lows[0])
	VPHADDD(lows[3], lows[2], lows[2])
	VPHADDD(lows[2], lows[0], lows[0])
	other := XMM()
	VEXTRACTI128(Imm(1), lows[0], other)
	sum := lows[0].AsX()
	VPADDD(other, sum, sum)
	VPADDD(round, sum, sum)
	VPSRAD(Imm(weightBits), sum, sum)
	VPACKSSDW(sum, sum, sum)
	VPACKUSWB(sum, sum, sum)
	for r := range dst {
		VPEXTRB(Imm(uint64(r)), sum, Mem{Base: dst[r]})
		INCQ(dst[r])
	}
	ADDQ(Imm(4), origins)
	DECQ(outputs)
	JNZ(LabelRef("output"))
	VZEROUPPER()
	RET()
}

// sumRows is the vertical pass: 32 pixels at a time, two rows at a time. The bytes of
// two rows are interleaved; as they are they go with the high parts of the weights
// (sums of 16 bits, whose overflow does no harm as only 32 bits of the total count),
// spread to words with the low parts.
func sumRows() {
	begin("sumPairs", "func(dst *byte, src *byte, stride int, pairs *uint64, count int, n int)",
		"sumPairs makes n bytes, a multiple of 32, each the sum of 2*count rows.")
	dst, src, stride := pointer("dst"), pointer("src"), pointer("stride")
	pairs, n := pointer("pairs"), pointer("n")
	round := constant(longs("halfRows", half))
	zero := YMM()
	VPXOR(zero, zero, zero)
	twice := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 1}, twice)

	Label("columns")
	row, pair, count := GP64(), GP64(), pointer("count")
	MOVQ(src, row)
	MOVQ(pairs, pair)
	var sums [4]VecVirtual
	var tops [2]VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VMOVDQA(round, sums[i])
	}
	for i := range tops {
		tops[i] = YMM()
		VPXOR(tops[i], tops[i], tops[i])
	}
	Label("pair")
	a, b, low, high := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: row}, a)
	VMOVDQU(Mem{Base: row, Index: stride, Scale: 1}, b)
	VPBROADCASTD(Mem{Base: pair}, low)
	VPBROADCASTD(Mem{Base: pair, Disp: 4}, high)
	for i := range tops {
		mixed, product := YMM(), YMM()
		if i == 0 {
			VPUNPCKLBW(b, a, mixed)
		} else {
			VPUNPCKHBW(b, a, mixed)
		}
		VPMADDUBSW(high, mixed, product)
		VPADDW(product, tops[i], tops[i])
		for j := range 2 {
			wide := YMM()
			if j == 0 {
				VPUNPCKLBW(zero, mixed, wide)
			} else {
				VPUNPCKHBW(zero, mixed, wide)
			}
			VPMADDWD(low, wide, wide)
			VPADDD(wide, sums[2*i+j], sums[2*i+j])
		}
	}
	ADDQ(twice, row)
	ADDQ(Imm(8), pair)
	DECQ(count)
	JNZ(LabelRef("pair"))

	for i := range sums {
		top := YMM()
		if i%2 == 0 {
			VPUNPCKLWD(tops[i/2], zero, top)
		} else {
			VPUNPCKHWD(tops[i/2], zero, top)
		}
		VPADDD(top, sums[i], sums[i])
		VPSRAD(Imm(weightBits), sums[i], sums[i])
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VPACKSSDW(sums[3], sums[2], sums[2])
	VPACKUSWB(sums[2], sums[0], sums[0])
	VMOVDQU(sums[0], Mem{Base: dst})
	advance(32, dst, src)
	closeLoop("columns", n, 32)
}
