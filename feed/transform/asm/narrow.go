package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The passes of the fast mode: weights are bytes, two pixels are multiplied and added
// by one instruction and sums have 16 bits.

const narrowBits = 7

// narrowRows is the vertical pass. The last vector ends with the row and overlaps
// the one before, so that nothing behind a row is read or written.
func narrowRows() {
	TEXT("narrowRows", NOSPLIT, "func(dst *byte, src *byte, stride int, quads *uint32, count int, n int)")
	Pragma("noescape")
	Doc("narrowRows makes n bytes, at least 32, each the sum of 2*count rows.")
	dst, src, stride := pointer("dst"), pointer("src"), pointer("stride")
	quads, n := pointer("quads"), pointer("n")
	round := constant(words("halfNarrowRows", 1<<(narrowBits-1)))
	twice := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 1}, twice)

	Label("columns")
	row, quad, count := GP64(), GP64(), pointer("count")
	MOVQ(src, row)
	MOVQ(quads, quad)
	sums := [2]VecVirtual{YMM(), YMM()}
	for i := range sums {
		VMOVDQA(round, sums[i])
	}
	Label("pair")
	a, b, weights := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: row}, a)
	VMOVDQU(Mem{Base: row, Index: stride, Scale: 1}, b)
	VPBROADCASTD(Mem{Base: quad}, weights)
	for i := range sums {
		mixed := YMM()
		if i == 0 {
			VPUNPCKLBW(b, a, mixed)
		} else {
			VPUNPCKHBW(b, a, mixed)
		}
		VPMADDUBSW(weights, mixed, mixed)
		VPADDW(mixed, sums[i], sums[i])
	}
	ADDQ(twice, row)
	ADDQ(Imm(4), quad)
	DECQ(count)
	JNZ(LabelRef("pair"))
	for i := range sums {
		VPSRLW(Imm(narrowBits), sums[i], sums[i])
	}
	VPACKUSWB(sums[1], sums[0], sums[0])
	VMOVDQU(sums[0], Mem{Base: dst})

	SUBQ(Imm(32), n)
	JZ(LabelRef("done"))
	step, whole := GP64(), GP64()
	MOVQ(n, step)
	MOVQ(U32(32), whole)
	CMPQ(n, whole)
	CMOVQGT(whole, step)
	CMOVQLT(whole, n)
	ADDQ(step, dst)
	ADDQ(step, src)
	JMP(LabelRef("columns"))
	Label("done")
	VZEROUPPER()
	RET()
}

// narrowGroups is the horizontal pass: 16 outputs of 4 rows at a time, see
// narrowSteps.
func narrowGroups() {
	TEXT("narrowGroups", NOSPLIT, "func(dst *byte, dstStride int, src *byte, srcStride int, steps *byte, count int, groups int)")
	Pragma("noescape")
	Doc("narrowGroups makes groups of 16 outputs of 4 rows, each in count steps.")
	dst, src := rows("dst", "dstStride"), rows("src", "srcStride")
	steps := pointer("steps")
	groups := pointer("groups")
	round := constant(words("halfNarrowGroups", 1<<(narrowBits-1)))

	Label("group")
	count := pointer("count")
	var sums [4]VecVirtual
	for r := range sums {
		sums[r] = YMM()
		VMOVDQA(round, sums[r])
	}
	Label("step")
	low, high := GP64(), GP64()
	MOVLQSX(Mem{Base: steps, Disp: 64}, low)
	MOVLQSX(Mem{Base: steps, Disp: 68}, high)
	which, weights := YMM(), YMM()
	VMOVDQU(Mem{Base: steps}, which)
	VMOVDQU(Mem{Base: steps, Disp: 32}, weights)
	for r := range src {
		pixels := YMM()
		VMOVDQU(Mem{Base: src[r], Index: low, Scale: 1}, pixels.AsX())
		VINSERTI128(Imm(1), Mem{Base: src[r], Index: high, Scale: 1}, pixels, pixels)
		VPSHUFB(which, pixels, pixels)
		VPMADDUBSW(weights, pixels, pixels)
		VPADDW(pixels, sums[r], sums[r])
	}
	ADDQ(U32(72), steps)
	DECQ(count)
	JNZ(LabelRef("step"))
	for r := range sums {
		VPSRLW(Imm(narrowBits), sums[r], sums[r])
	}
	for r := 0; r < 4; r += 2 {
		VPACKUSWB(sums[r+1], sums[r], sums[r])
		VPERMQ(Imm(0xd8), sums[r], sums[r])
		VMOVDQU(sums[r].AsX(), Mem{Base: dst[r]})
		VEXTRACTI128(Imm(1), sums[r], Mem{Base: dst[r+1]})
		ADDQ(Imm(narrowGroup), dst[r])
		ADDQ(Imm(narrowGroup), dst[r+1])
	}
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

const narrowGroup = 16
