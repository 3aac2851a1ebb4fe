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

// sumGroups generates the horizontal pass for sums of up to 2*pairs pixels: for each group of 8
// outputs and each of 4 rows, it loads 16 pixels twice, then for each pair uses one shuffle
// that spreads the pixels to words and two multiplications.
func sumGroups(pairs int) {
	name := fmt.Sprintf("sumGroups%d", pairs)
	begin(name, "func(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, groups int)",
		name+" computes groups of 8 outputs of 4 rows, each a sum of "+fmt.Sprint(2*pairs)+" pixels.")
	dst, src := rows("dst", "dstStride"), rows("src", "srcStride")
	origins, cells, groups := pointer("origins"), pointer("cells"), pointer("groups")
	round := longs("half"+name, half)

	Label("group")
	low, high := GP64(), GP64()
	MOVLQSX(Mem{Base: origins}, low)
	MOVLQSX(Mem{Base: origins, Disp: 4}, high)
	lows, highs := make([]VecVirtual, pairs), make([]VecVirtual, pairs)
	for p := range pairs {
		lows[p], highs[p] = constant(Mem{Base: cells, Disp: 96*p + 32}), constant(Mem{Base: cells, Disp: 96*p + 64})
	}
	var sums [4]VecVirtual
	for r := range src {
		pixels := twoHalves(src[r], low, high)
		sum, top := YMM(), YMM()
		for p := range pairs {
			spread := YMM()
			VPSHUFB(Mem{Base: cells, Disp: 96 * p}, pixels, spread)
			multiplyAdd(p == 0, spread, highs[p], top)
			multiplyAdd(p == 0, spread, lows[p], sum)
		}
		VPSLLD(Imm(16), top, top)
		VPADDD(top, sum, sum)
		sums[r] = sum
	}
	storeSums(4, sums, round, dst)
	ADDQ(Imm(8), origins)
	ADDQ(U32(96*pairs), cells)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// twoHalves loads 16 pixels of a row from each of two places. With a plain load for the first,
// avo would assume that the old content of the register's other half is still needed.
func twoHalves(row, low, high GPVirtual) VecVirtual {
	pixels := YMM()
	VBROADCASTI128(Mem{Base: row, Index: low, Scale: 1}, pixels)
	VINSERTI128(Imm(1), Mem{Base: row, Index: high, Scale: 1}, pixels, pixels)
	return pixels
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

// sumChunks generates the horizontal pass for longer sums, with beside outputs in each half of
// a register. A chunk is 16 pixels of a half, in a fixed order. High and low parts of weights
// are handled as in sumRows.
func sumChunks(beside int) {
	name := fmt.Sprintf("sumChunks%d", beside)
	begin(name, "func(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, chunks int, groups int)",
		fmt.Sprintf("%s computes groups of %d outputs of 4 rows, each a sum of %d*chunks pixels.", name, 2*beside, 16/beside))
	dst, src := rows("dst", "dstStride"), rows("src", "srcStride")
	origins, cells, groups := pointer("origins"), pointer("cells"), pointer("groups")
	round := longs("half"+name, half)
	zero := YMM()
	VPXOR(zero, zero, zero)

	Label("group")
	low, high, chunks := GP64(), GP64(), pointer("chunks")
	MOVLQSX(Mem{Base: origins}, low)
	MOVLQSX(Mem{Base: origins, Disp: 4}, high)
	order := constant(Mem{Base: cells})
	ADDQ(Imm(32), cells)
	var sums, tops [4]VecVirtual
	for r := range src {
		sums[r], tops[r] = YMM(), YMM()
		VPXOR(sums[r], sums[r], sums[r])
		VPXOR(tops[r], tops[r], tops[r])
	}
	Label("chunk")
	first, second := constant(Mem{Base: cells}), constant(Mem{Base: cells, Disp: 32})
	parts := constant(Mem{Base: cells, Disp: 64})
	for r := range src {
		pixels, words := twoHalves(src[r], low, high), YMM()
		VPSHUFB(order, pixels, pixels)
		VPUNPCKLBW(zero, pixels, words)
		multiplyAdd(false, words, first, sums[r])
		VPUNPCKHBW(zero, pixels, words)
		multiplyAdd(false, words, second, sums[r])
		VPMADDUBSW(parts, pixels, pixels)
		VPADDW(pixels, tops[r], tops[r])
	}
	advance(16/uint64(beside), low, high)
	ADDQ(Imm(96), cells)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))

	for r := range src {
		top := YMM()
		VPUNPCKLWD(tops[r], zero, top)
		VPADDD(top, sums[r], sums[r])
		VPUNPCKHWD(tops[r], zero, top)
		VPADDD(top, sums[r], sums[r])
	}
	storeSums(beside, sums, round, dst)
	ADDQ(Imm(8), origins)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// storeSums rounds the sums of 4 rows and stores their bytes. Each half of a register has the
// sums of beside outputs, each in as many parts as fill it.
func storeSums(beside int, sums [4]VecVirtual, round Mem, dst [4]GPVirtual) {
	left := sums[:]
	for ; len(left) > beside; left = left[:len(left)/2] {
		for i := range len(left) / 2 {
			VPHADDD(left[2*i+1], left[2*i], left[i])
		}
	}
	for _, sum := range left {
		VPADDD(round, sum, sum)
		VPSRAD(Imm(weightBits), sum, sum)
	}
	for _, pack := range []func(...Op){VPACKSSDW, VPACKUSWB} {
		for i := range (len(left) + 1) / 2 {
			pack(left[min(2*i+1, len(left)-1)], left[2*i], left[i])
		}
		left = left[:(len(left)+1)/2]
	}
	low, high := left[0].AsX(), XMM()
	VEXTRACTI128(Imm(1), left[0], high)
	switch beside {
	case 4:
		upper := XMM()
		VPUNPCKHDQ(high, low, upper)
		VPUNPCKLDQ(high, low, low)
		for i, two := range []Op{low, upper} {
			VMOVQ(two, Mem{Base: dst[2*i]})
			VPEXTRQ(Imm(1), two, Mem{Base: dst[2*i+1]})
		}
	case 2:
		VPUNPCKLWD(high, low, low)
		for r := range dst {
			VPEXTRD(Imm(uint64(r)), low, Mem{Base: dst[r]})
		}
	case 1:
		VPUNPCKLBW(high, low, low)
		for r := range dst {
			VPEXTRW(Imm(uint64(r)), low, Mem{Base: dst[r]})
		}
	}
	advance(2*uint64(beside), dst[:]...)
}

// sumRows generates the vertical pass: 32 pixels and two rows at a time. The bytes of two rows
// are interleaved. As bytes they are multiplied by the high parts of the weights (sums of 16
// bits may overflow, since only 32 bits of the total count), as words by the low parts.
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
