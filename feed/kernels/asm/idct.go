package main

import (
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type vec = reg.VecVirtual

// The constants of jidctint.c, 13 fractional bits.
const (
	f0298 = 2446
	f0390 = 3196
	f0541 = 4433
	f0765 = 6270
	f0899 = 7373
	f1175 = 9633
	f1501 = 12299
	f1847 = 15137
	f1961 = 16069
	f2053 = 16819
	f2562 = 20995
	f3072 = 25172
)

// factors are the operands of VPMADDWD for pairs of inputs.
var factors = map[string]Mem{}

func factor(name string, x, y int16) {
	factors[name] = longs(name, uint32(uint16(x))|uint32(uint16(y))<<16)
}

var rounding [2]Mem

// inverseDCT generates the kernels of package idct: two blocks at once, one in each half of the
// registers, with the arithmetic of transformBlock.
func inverseDCT() {
	// Inputs 2 and 6.
	factor("even2", f0541, f0541-f1847)
	factor("even3", f0541+f0765, f0541)
	// Sums 7+3 and 5+1.
	factor("odd3", f1175-f1961, f1175)
	factor("odd4", f1175, f1175-f0390)
	// Inputs 7 and 1, 5 and 3.
	factor("out0", f0298-f0899, -f0899)
	factor("out3", -f0899, f1501-f0899)
	factor("out1", f2053-f2562, -f2562)
	factor("out2", -f2562, f3072-f2562)
	rounding[0], rounding[1] = longs("round11", 1<<10), longs("round18", 1<<17)
	centre := longs("centre", 0x80808080)

	transform8x8("idctApartAVX2",
		"idctApartAVX2 is transformPlain, unless it returns false: then nothing was done,\nbecause a brightness is so far off that libjpeg-turbo's shortcut matters.", false, centre)
	transform8x8("idctBesideAVX2", "idctBesideAVX2 is idctApartAVX2 for b 8 bytes behind a.", true, centre)
}

func transform8x8(name, doc string, beside bool, centre Mem) {
	args := "blocks *[128]int16, q *[128]int16, a, b *byte, stride int"
	if beside {
		args = "blocks *[128]int16, q *[128]int16, a *byte, stride int"
	}
	TEXT(name, attr.NOSPLIT, "func("+args+") bool")
	Doc(strings.Split(doc, "\n")...)
	Pragma("noescape")
	blocks, q := Load(Param("blocks"), GP64()), Load(Param("q"), GP64())
	row := func(i int) vec {
		y := YMM()
		VMOVDQU(Mem{Base: blocks, Disp: 16 * i}, y.AsX())
		VINSERTI128(Imm(1), Mem{Base: blocks, Disp: 128 + 16*i}, y, y)
		VPMULLW(Mem{Base: q, Disp: 32 * i}, y, y)
		return y
	}
	spare := AllocLocal(32)
	var in [8]vec
	in[0] = row(0)
	check := YMM()
	VPSLLW(Imm(2), in[0], check)
	VPSRAW(Imm(2), check, check)
	VPXOR(in[0], check, check)
	VPTEST(check, check)
	JNZ(LabelRef("wild"))
	for i := 1; i < 8; i++ {
		in[i] = row(i)
	}
	zero := YMM()
	VPXOR(zero, zero, zero)
	for i := range 8 {
		VMOVDQU(zero, Mem{Base: blocks, Disp: 32 * i})
	}
	rows := transpose(transformColumns(transpose(transformColumns(in, 0, spare)), 1, spare))

	a := Load(Param("a"), GP64())
	var b reg.Register
	if !beside {
		b = Load(Param("b"), GP64())
	}
	stride := Load(Param("stride"), GP64())
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	at := func(base reg.Register, i int) Mem {
		switch i & 3 {
		case 0:
			return Mem{Base: base}
		case 1:
			return Mem{Base: base, Index: stride, Scale: 1}
		case 2:
			return Mem{Base: base, Index: stride, Scale: 2}
		}
		return Mem{Base: base, Index: three, Scale: 1}
	}
	for i := 0; i < 8; i += 2 {
		if i == 4 {
			LEAQ(Mem{Base: a, Index: stride, Scale: 4}, a)
			if !beside {
				LEAQ(Mem{Base: b, Index: stride, Scale: 4}, b)
			}
		}
		two := rows[i]
		VPACKSSWB(rows[i+1], two, two)
		VPADDB(centre, two, two)
		if beside {
			VPERMQ(Imm(0xd8), two, two)
			VMOVDQU(two.AsX(), at(a, i))
			VEXTRACTI128(Imm(1), two, at(a, i+1))
			continue
		}
		VMOVQ(two.AsX(), at(a, i))
		VMOVHPS(two.AsX(), at(a, i+1))
		high := XMM()
		VEXTRACTI128(Imm(1), two, high)
		VMOVQ(high, at(b, i))
		VMOVHPS(high, at(b, i+1))
	}
	VZEROUPPER()
	result(1)
	Label("wild")
	VZEROUPPER()
	result(0)
}

func result(v uint64) {
	r := GP8()
	MOVB(Imm(v), r)
	Store(r, ReturnIndex(0))
	RET()
}

// three turns an instruction of three operands into a function of two.
func three(instruction func(...Op)) func(x, y Op) vec {
	return func(x, y Op) vec {
		z := YMM()
		instruction(x, y, z)
		return z
	}
}

// transformColumns is one pass over the columns of both blocks. It stores one vector in spare,
// as AVX2 has 16 registers.
func transformColumns(in [8]vec, n int, spare Mem) [8]vec {
	shift := []uint64{11, 18}[n]
	low, high := three(VPUNPCKLWD), three(VPUNPCKHWD)
	add, sub := three(VPADDD), three(VPSUBD)
	madd := func(name string, v vec) vec {
		z := YMM()
		VPMADDWD(factors[name], v, z)
		return z
	}

	// Odd inputs.
	sum73, sum51 := three(VPADDW)(in[3], in[7]), three(VPADDW)(in[1], in[5])
	l, h := low(sum51, sum73), high(sum51, sum73)
	l3, l4, h3, h4 := madd("odd3", l), madd("odd4", l), madd("odd3", h), madd("odd4", h)
	l71, h71 := low(in[1], in[7]), high(in[1], in[7])
	l53, h53 := low(in[3], in[5]), high(in[3], in[5])
	odd := [4][2]vec{
		{add(l3, madd("out0", l71)), add(h3, madd("out0", h71))},
		{add(l4, madd("out1", l53)), add(h4, madd("out1", h53))},
		{add(l3, madd("out2", l53)), add(h3, madd("out2", h53))},
		{add(l4, madd("out3", l71)), add(h4, madd("out3", h71))},
	}

	// Even inputs; the rounding of the result is added to them.
	l26, h26 := low(in[6], in[2]), high(in[6], in[2])
	wide := func(unpack func(x, y Op) vec, v Op) vec {
		z := YMM()
		VPXOR(z, z, z)
		z = unpack(v, z)
		VPSRAD(Imm(3), z, z)
		VPADDD(rounding[n], z, z)
		return z
	}
	plus, minus := three(VPADDW)(in[4], in[0]), three(VPSUBW)(in[4], in[0])
	VMOVDQU(minus, spare)
	var out [8]vec
	finish := func(base Op, factor string, i, j, k, m int) {
		tl, th := wide(low, base), wide(high, base)
		el, eh := madd(factor, l26), madd(factor, h26)
		upL, downL := add(tl, el), sub(el, tl)
		upH, downH := add(th, eh), sub(eh, th)
		ends := func(at int, l, h vec, o [2]vec) {
			for _, e := range []struct {
				at int
				op func(x, y Op) vec
			}{{at, add}, {7 - at, sub}} {
				x, y := e.op(o[0], l), e.op(o[1], h)
				VPSRAD(Imm(shift), x, x)
				VPSRAD(Imm(shift), y, y)
				out[e.at] = three(VPACKSSDW)(y, x)
			}
		}
		ends(i, upL, upH, odd[k])
		ends(j, downL, downH, odd[m])
	}
	finish(plus, "even3", 0, 3, 3, 0)
	finish(spare, "even2", 1, 2, 2, 1)
	return out
}

// transpose transposes 8 rows of 8 16-bit numbers, in both halves.
func transpose(r [8]vec) [8]vec {
	unpack := func(lo, hi func(...Op), a, b vec) (vec, vec) {
		x, y := YMM(), YMM()
		lo(b, a, x)
		hi(b, a, y)
		return x, y
	}
	var q, w [8]vec
	for k := range 4 {
		q[2*k], q[2*k+1] = unpack(VPUNPCKLWD, VPUNPCKHWD, r[2*k], r[2*k+1])
	}
	for k, p := range [4][2]int{{0, 2}, {1, 3}, {4, 6}, {5, 7}} {
		w[2*k], w[2*k+1] = unpack(VPUNPCKLDQ, VPUNPCKHDQ, q[p[0]], q[p[1]])
	}
	var out [8]vec
	for k := range 4 {
		out[2*k], out[2*k+1] = unpack(VPUNPCKLQDQ, VPUNPCKHQDQ, w[k], w[k+4])
	}
	return out
}
