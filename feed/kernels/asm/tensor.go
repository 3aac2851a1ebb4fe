package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Another process reads a sample's tensor next, from a ring that is larger than any cache. So
// if its rows are aligned, the kernels bypass the caches, which saves reading the lines first
// (a sixth of a sample's total time). Only fence orders such writes.

// affine generates (x/255 - mean) / std, for each floating-point type.
func affine() {
	one, most := longs("one", 1), longs("most", 0x7fff)
	affineOf("affine32", 4, func(v VecVirtual) VecVirtual { return v })
	affineOf("affineHalf", 2, func(v VecVirtual) VecVirtual {
		half := XMM()
		VCVTPS2PH(Imm(0), v, half)
		return half
	})
	affineOf("affineBrain", 2, func(v VecVirtual) VecVirtual {
		odd, high := YMM(), XMM()
		VPSRLD(Imm(16), v, odd)
		VPAND(one, odd, odd)
		VPADDD(most, odd, odd)
		VPADDD(odd, v, v)
		VPSRLD(Imm(16), v, v)
		VEXTRACTI128(Imm(1), v, high)
		VPACKUSDW(high, v.AsX(), high)
		return high
	})
}

func affineOf(name string, bytes int, form func(VecVirtual) VecVirtual) {
	begin(name, "func(dst *byte, src *byte, n int, unit *float32, numbers *float32)",
		name+" converts n pixels, a multiple of 8.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	unit, numbers := pointer("unit"), pointer("numbers")
	unitHigh, unitLow := YMM(), YMM()
	VBROADCASTSS(Mem{Base: unit}, unitHigh)
	VBROADCASTSS(Mem{Base: unit, Disp: 4}, unitLow)
	var mean, high, low [3]VecVirtual
	for i := range 3 {
		mean[i], high[i], low[i] = YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: numbers, Disp: 32 * i}, mean[i])
		VMOVUPS(Mem{Base: numbers, Disp: 96 + 32*i}, high[i])
		VMOVUPS(Mem{Base: numbers, Disp: 192 + 32*i}, low[i])
	}
	loop := func(label string, store func(Op, Op)) {
		Label(label)
		for i := range 3 {
			v, q := YMM(), YMM()
			VPMOVZXBD(Mem{Base: src}, v)
			VCVTDQ2PS(v, v)
			VMULPS(unitLow, v, q)
			VFMADD231PS(unitHigh, v, q)
			VSUBPS(mean[i], q, q)
			VMULPS(low[i], q, v)
			VFMADD231PS(high[i], q, v)
			store(form(v), Mem{Base: dst})
			ADDQ(Imm(8), src)
			ADDQ(Imm(uint64(8*bytes)), dst)
			SUBQ(Imm(8), n)
			if i < 2 {
				JZ(LabelRef("done"))
			}
		}
		JNZ(LabelRef(label))
		JMP(LabelRef("done"))
	}
	TESTQ(U32(8*bytes-1), dst)
	JNZ(LabelRef("unaligned"))
	loop("aligned", VMOVNTDQ)
	loop("unaligned", VMOVDQU)
	Label("done")
	VZEROUPPER()
	RET()
}

// stream generates a copy that bypasses the caches, and fence, which orders such writes.
func stream() {
	begin("stream", "func(dst *byte, src *byte, n int)",
		"stream copies n bytes, a multiple of 32.")
	dst, src, n := pointer("dst"), pointer("src"), pointer("n")
	v := YMM()
	loop := func(label string, store func(Op, Op)) {
		Label(label)
		VMOVDQU(Mem{Base: src}, v)
		store(v, Mem{Base: dst})
		ADDQ(Imm(32), src)
		ADDQ(Imm(32), dst)
		SUBQ(Imm(32), n)
		JNZ(LabelRef(label))
	}
	TESTQ(U32(31), dst)
	JNZ(LabelRef("unaligned"))
	loop("aligned", VMOVNTDQ)
	JMP(LabelRef("done"))
	loop("unaligned", VMOVDQU)
	Label("done")
	VZEROUPPER()
	RET()

	TEXT("fence", NOSPLIT, "func()")
	Doc("fence makes writes that bypassed the caches visible before later writes.")
	SFENCE()
	RET()
}

// interleave generates rows of interleaved red, green and blue: 16 pixels to 48 bytes, in three
// parts, each assembled from a shuffle of each colour.
func interleave() {
	begin("interleave", "func(dst *byte, red *byte, green *byte, blue *byte, n int)",
		"interleave mixes n pixels, a multiple of 16.")
	dst, n := pointer("dst"), pointer("n")
	colours := [3]GPVirtual{pointer("red"), pointer("green"), pointer("blue")}
	masks := shuffles()
	Label("pixels")
	var pixels [3]VecVirtual
	for c := range colours {
		pixels[c] = XMM()
		VMOVDQU(Mem{Base: colours[c]}, pixels[c])
		ADDQ(Imm(16), colours[c])
	}
	for part := range 3 {
		var sum VecVirtual
		for c := range colours {
			v := XMM()
			VPSHUFB(masks.Offset(16*(3*part+c)), pixels[c], v)
			if c > 0 {
				VPOR(sum, v, v)
			}
			sum = v
		}
		VMOVDQU(sum, Mem{Base: dst, Disp: 16 * part})
	}
	ADDQ(Imm(48), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("pixels"))
	RET()
}

func shuffles() Mem {
	m := GLOBL("shuffles", attr.RODATA|attr.NOPTR)
	for part := range 3 {
		for c := range 3 {
			for i := range 16 {
				at := 16*part + i
				v := uint8(0x80)
				if at%3 == c {
					v = uint8(at / 3)
				}
				DATA(16*(3*part+c)+i, U8(v))
			}
		}
	}
	return m
}
