package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// unfilter generates the kernels for PNG's filters. They go from pixel to pixel. The next pixel
// is loaded before four bytes are stored, because a pixel may have fewer.
func unfilter() {
	begin("sub", "func(row *byte, n int, each int)",
		"sub does n pixels of two to four bytes; eight bytes must follow.")
	row, n, each := pointer("row"), pointer("n"), pointer("each")
	left, next := XMM(), XMM()
	VPXOR(left, left, left)
	VMOVD(Mem{Base: row}, next)
	Label("pixels")
	VPADDB(next, left, left)
	VMOVD(Mem{Base: row, Index: each, Scale: 1}, next)
	VMOVD(left, Mem{Base: row})
	ADDQ(each, row)
	DECQ(n)
	JNZ(LabelRef("pixels"))
	RET()

	begin("average", "func(row *byte, above *byte, n int, each int)", "average is sub for the third filter.")
	row, above, n, each := pointer("row"), pointer("above"), pointer("n"), pointer("each")
	left, next = XMM(), XMM()
	one := XMM()
	VPXOR(left, left, left)
	VPBROADCASTB(bytes("oneOfAverage", 1), one)
	VMOVD(Mem{Base: row}, next)
	Label("pixels")
	up, odd := XMM(), XMM()
	VMOVD(Mem{Base: above}, up)
	VPXOR(left, up, odd)
	VPAND(one, odd, odd)
	VPAVGB(left, up, left) // rounds up
	VPSUBB(odd, next, odd)
	VPADDB(odd, left, left)
	VMOVD(Mem{Base: row, Index: each, Scale: 1}, next)
	VMOVD(left, Mem{Base: row})
	ADDQ(each, row)
	ADDQ(each, above)
	DECQ(n)
	JNZ(LabelRef("pixels"))
	RET()

	begin("paeth", "func(row *byte, above *byte, n int, each int)", "paeth is sub for the fourth filter.")
	row, above, n = pointer("row"), pointer("above"), pointer("n")
	paeth(row, above, n, pointer("each"))
	begin("paethByte", "func(row *byte, above *byte, n int)",
		"paethByte does n pixels of a byte; eight bytes must follow.")
	row, above, n = pointer("row"), pointer("above"), pointer("n")
	paeth(row, above, n, nil)
}

// paeth chooses as nearestOf does, in words. Only minimum and maximum, a comparison, two
// selections and the sum depend on the pixel before.
func paeth(row, above, n GPVirtual, each Op) {
	left, corner, next := XMM(), XMM(), XMM()
	VPXOR(left, left, left)
	VPXOR(corner, corner, corner)
	VPMOVZXBW(Mem{Base: row}, next)
	Label("pixels")
	up, limit, low, high := XMM(), XMM(), XMM(), XMM()
	VPMOVZXBW(Mem{Base: above}, up)
	VPADDW(corner, corner, limit)
	VPADDW(corner, limit, limit)
	VPSUBW(up, limit, limit)
	VPMINSW(left, up, low)
	VPMAXSW(left, up, high)
	VPSUBW(left, limit, limit)
	beyond, nearest := XMM(), XMM()
	VPCMPGTW(limit, high, beyond)
	VPBLENDVB(beyond, corner, low, nearest)
	VPCMPGTW(low, limit, beyond)
	VPBLENDVB(beyond, nearest, high, nearest)
	VPADDB(nearest, next, left)
	VMOVDQA(up, corner)
	packed := XMM()
	VPACKUSWB(left, left, packed)
	if each == nil {
		VPMOVZXBW(Mem{Base: row, Disp: 1}, next)
		VPEXTRB(Imm(0), packed, Mem{Base: row})
		INCQ(row)
		INCQ(above)
	} else {
		VPMOVZXBW(Mem{Base: row, Index: each.(GPVirtual), Scale: 1}, next)
		VMOVD(packed, Mem{Base: row})
		ADDQ(each, row)
		ADDQ(each, above)
	}
	DECQ(n)
	JNZ(LabelRef("pixels"))
	RET()
}
