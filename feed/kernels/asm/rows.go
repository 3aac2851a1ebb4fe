package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// weigh generates 16-bit sums of two chroma rows.
func weigh() {
	begin("weigh", "func(dst *int16, near *byte, far *byte, n int)",
		"weigh makes n sums 3*near + far, a multiple of 16.")
	dst, near, far, n := pointer("dst"), pointer("near"), pointer("far"), pointer("n")
	Label("samples")
	a, twice, b := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: near}, a)
	VPMOVZXBW(Mem{Base: far}, b)
	VPADDW(a, a, twice)
	VPADDW(a, b, b)
	VPADDW(twice, b, b)
	VMOVDQU(b, Mem{Base: dst})
	advance(16, near, far)
	ADDQ(Imm(32), dst)
	closeLoop("samples", n, 16)
}

// Colour conversion works on even and odd pixels separately, 16 words each, as horizontal
// upsampling gives them. 128 has been subtracted from cb and cr. libjpeg's products with 16-bit
// fractions are equal to these in 16 bits:
//
//	1.40200 cr = cr + round(13173/32768 cr)
//	1.77200 cb = 2 cb - round(7471/32768 cb)
//
// (true for all 256 values). The two products of green are summed in 32 bits.
type colour struct {
	red, blue, green, half, mix VecVirtual
}

func newColour(name string) colour {
	green := GLOBL("green"+name, attr.RODATA|attr.NOPTR)
	for i := range 8 {
		DATA(4*i, I16(-11277))
		DATA(4*i+2, I16(9367))
	}
	c := colour{
		red:  constant(words("red"+name, 13173)),
		blue: constant(words("blue"+name, 0x10000-7471)),
		half: constant(longs("half"+name, 1<<14)),
		mix:  constant(bytes("mix"+name, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)),
	}
	c.green = constant(green)
	return c
}

// store converts and stores 32 pixels.
func (c colour) store(luma, cb, cr [2]VecVirtual, red, green, blue, at GPVirtual) {
	var out [3][2]VecVirtual
	for i := range 2 {
		for j := range out {
			out[j][i] = YMM()
		}
		r, g, b := out[0][i], out[1][i], out[2][i]
		low, high := YMM(), YMM()
		VPUNPCKLWD(cr[i], cb[i], low)
		VPUNPCKHWD(cr[i], cb[i], high)
		for _, v := range []VecVirtual{low, high} {
			VPMADDWD(c.green, v, v)
			VPADDD(c.half, v, v)
			VPSRAD(Imm(15), v, v)
		}
		VPACKSSDW(high, low, g)
		VPSUBW(cr[i], g, g)
		VPADDW(luma[i], g, g)

		VPMULHRSW(c.red, cr[i], r)
		VPADDW(cr[i], r, r)
		VPADDW(luma[i], r, r)

		VPMULHRSW(c.blue, cb[i], b)
		VPADDW(cb[i], b, b)
		VPADDW(cb[i], b, b)
		VPADDW(luma[i], b, b)
	}
	for j, to := range []GPVirtual{red, green, blue} {
		VPACKUSWB(out[j][1], out[j][0], out[j][0])
		VPSHUFB(c.mix, out[j][0], out[j][0])
		VMOVDQU(out[j][0], Mem{Base: to, Index: at, Scale: 1})
	}
}

// evenOdd splits 32 bytes into words of the even and of the odd bytes.
func evenOdd(from Mem, even Op) [2]VecVirtual {
	v := [2]VecVirtual{YMM(), YMM()}
	VMOVDQU(from, v[1])
	VPAND(even, v[1], v[0])
	VPSRLW(Imm(8), v[1], v[1])
	return v
}

// convert is for chroma of the same resolution as luma.
func convert() {
	begin("convert", "func(red *byte, green *byte, blue *byte, luma *byte, cb *byte, cr *byte, n int)",
		"convert makes n pixels, rounded up to 32.")
	red, green, blue := pointer("red"), pointer("green"), pointer("blue")
	luma, cb, cr, n := pointer("luma"), pointer("cb"), pointer("cr"), pointer("n")
	c := newColour("Full")
	even, middle := words("evenFull", 0xff), words("middleFull", 128)
	at := GP64()
	XORQ(at, at)
	Label("pixels")
	y := evenOdd(Mem{Base: luma, Index: at, Scale: 1}, even)
	var chroma [2][2]VecVirtual
	for i, plane := range []GPVirtual{cb, cr} {
		chroma[i] = evenOdd(Mem{Base: plane, Index: at, Scale: 1}, even)
		for _, v := range chroma[i] {
			VPSUBW(middle, v, v)
		}
	}
	c.store(y, chroma[0], chroma[1], red, green, blue, at)
	ADDQ(Imm(32), at)
	CMPQ(at, n)
	JLT(LabelRef("pixels"))
	VZEROUPPER()
	RET()
}

// convertDoubled is for chroma of half the width, given as sums with one sample of context
// before them.
func convertDoubled() {
	begin("convertDoubled", "func(red *byte, green *byte, blue *byte, luma *byte, cb *int16, cr *int16, n int, even int32, odd int32)",
		"convertDoubled makes n pixels, rounded up to 32; 128 << 4 is taken off even and odd.")
	red, green, blue := pointer("red"), pointer("green"), pointer("blue")
	luma, cb, cr, n := pointer("luma"), pointer("cb"), pointer("cr"), pointer("n")
	c := newColour("Doubled")
	low := words("evenDoubled", 0xff)
	var bias [2]VecVirtual
	for i, name := range []string{"even", "odd"} {
		bias[i] = YMM()
		VPBROADCASTW(argument(name), bias[i])
	}
	at := GP64()
	XORQ(at, at)
	Label("pixels")
	y := evenOdd(Mem{Base: luma, Index: at, Scale: 1}, low)
	var chroma [2][2]VecVirtual
	for i, sums := range []GPVirtual{cb, cr} {
		near := YMM()
		sum := YMM()
		VMOVDQU(Mem{Base: sums, Index: at, Scale: 1, Disp: 2}, near)
		VPADDW(near, near, sum)
		VPADDW(near, sum, sum)
		for j := range 2 {
			v := YMM()
			VPADDW(Mem{Base: sums, Index: at, Scale: 1, Disp: 4 * j}, sum, v)
			VPADDW(bias[j], v, v)
			VPSRAW(Imm(4), v, v)
			chroma[i][j] = v
		}
	}
	c.store(y, chroma[0], chroma[1], red, green, blue, at)
	ADDQ(Imm(32), at)
	CMPQ(at, n)
	JLT(LabelRef("pixels"))
	VZEROUPPER()
	RET()
}

// argument loads a 32-bit argument into a vector register.
func argument(name string) VecVirtual {
	x, r := XMM(), GP32()
	Load(Param(name), r)
	VMOVD(r, x)
	return x
}

// part assembles the bytes of a plane from a shuffle of each of three registers.
func part() {
	begin("part", "func(red *byte, green *byte, blue *byte, pixels *byte, n int)",
		"part takes n pixels of three bytes apart, a multiple of 16.")
	planes := [3]GPVirtual{pointer("red"), pointer("green"), pointer("blue")}
	from, n := pointer("pixels"), pointer("n")
	masks := GLOBL("partMasks", attr.RODATA|attr.NOPTR)
	for i := range 16 * 9 {
		plane, third, lane := i/48, i/16%3, i%16
		at := 3*lane + plane - 16*third
		if at < 0 || at > 15 {
			at = 0x80 // shuffles to 0
		}
		DATA(i, U8(at))
	}
	Label("pixels")
	var thirds [3]VecVirtual
	for i := range thirds {
		thirds[i] = XMM()
		VMOVDQU(Mem{Base: from, Disp: 16 * i}, thirds[i])
	}
	for c, plane := range planes {
		var all VecVirtual
		for i, third := range thirds {
			v := XMM()
			VPSHUFB(masks.Offset(48*c+16*i), third, v)
			if i > 0 {
				VPOR(all, v, v)
			}
			all = v
		}
		VMOVDQU(all, Mem{Base: plane})
	}
	advance(16, planes[:]...)
	ADDQ(Imm(48), from)
	closeLoop("pixels", n, 16)
}
