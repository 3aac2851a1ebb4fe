package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels of feed/picture: Pillow's warps on planes of bytes, in double precision and without
// fused sums, like Pillow's wheels for this architecture.

func warp() {
	columns := [3]Mem{doubles("columnsMix", 0.5, 1.5, 2.5, 3.5), doubles("fourMix", 4, 4, 4, 4), doubles("halfMix", 0.5, 0.5, 0.5, 0.5)}
	findSpots("findSpots4", columns, false)
	findSpots("findSpotsDivided4", columns, true)
	lowByte := longs("lowByteMix", 255)
	mix("mixTwo4", 2, lowByte, func(v []VecVirtual, at VecVirtual) VecVirtual {
		VSUBPD(v[0], v[1], v[1])
		VMULPD(at, v[1], v[1])
		VADDPD(v[0], v[1], v[1])
		return v[1]
	})
	mix("mixFour4", 4, lowByte, func(v []VecVirtual, at VecVirtual) VecVirtual {
		rise, third, fourth := YMM(), YMM(), YMM()
		VSUBPD(v[0], v[1], rise)
		VSUBPD(v[2], rise, fourth)
		VADDPD(v[3], fourth, fourth)
		VADDPD(rise, rise, rise)
		VSUBPD(rise, v[2], third)
		VSUBPD(v[3], third, third)
		VSUBPD(v[0], v[2], v[2])
		for _, next := range []VecVirtual{third, v[2], v[1]} {
			VMULPD(at, fourth, fourth)
			VADDPD(next, fourth, fourth)
		}
		return fourth
	})
}

// Comparisons that are false for NaN.
const (
	lessThan = 0x11
	notBelow = 0x1d
)

// findSpots finds 4 spots at a time. If it divides, a third trio of numbers gives the divisor.
func findSpots(name string, columns [3]Mem, divides bool) {
	doc := []string{
		name + " finds the squares of taps by taps pixels of n pixels of a row, a multiple of 4: at is where each begins,",
		"across and below are the distances of the place from its first pixel. numbers are two trios, across and down:",
		"a factor for the column, what the row adds, and an addend.",
	}
	if divides {
		doc = append(doc, "The results are divided by what a third trio gives.")
	}
	doc = append(doc, "The tenth and the eleventh number are the picture's width and height. bounds are the first column and the first",
		"row that are too late for a square, the bytes of a row, the first offset that is too late, and the number of pixels",
		"before the place. A spot outside of these bounds gets 0. For every four spots, rest has four bits for those that",
		"are outside of the bounds, then four bits for those whose place is beyond the picture.")
	begin(name, "func(at *int32, across *float64, below *float64, rest *byte, n int, numbers *float64, bounds *int32)", doc...)
	at, across, below, rest, n := pointer("at"), pointer("across"), pointer("below"), pointer("rest"), pointer("n")
	numbers, bounds := pointer("numbers"), pointer("bounds")
	column, step, half, ones := constant(columns[0]), constant(columns[1]), constant(columns[2]), XMM()
	VPCMPEQD(ones, ones, ones)
	zero := YMM()
	VXORPD(zero, zero, zero)
	spread := func(i int) VecVirtual {
		x := XMM()
		VPBROADCASTD(Mem{Base: bounds, Disp: 4 * i}, x)
		return x
	}
	sum := func(axis int) VecVirtual {
		place, number := YMM(), YMM()
		for i, add := range []func(){
			func() { VMULPD(number, column, place) },
			func() { VADDPD(number, place, place) },
			func() { VADDPD(number, place, place) },
		} {
			VBROADCASTSD(Mem{Base: numbers, Disp: 8 * (3*axis + i)}, number)
			add()
		}
		return place
	}
	Label("pixels")
	var divisor VecVirtual
	if divides {
		divisor = sum(2)
	}
	inside, beyond := XMM(), YMM()
	VMOVDQA(ones, inside)
	VMOVAPD(zero, beyond)
	var first [2]VecVirtual
	for axis, to := range []GPVirtual{across, below} {
		place, floor, is := sum(axis), YMM(), XMM()
		if divides {
			VDIVPD(divisor, place, place)
		}
		early, side := YMM(), YMM()
		VCMPPD(Imm(lessThan), zero, place, early)
		VORPD(early, beyond, beyond)
		VBROADCASTSD(Mem{Base: numbers, Disp: 8 * (9 + axis)}, side)
		VCMPPD(Imm(notBelow), side, place, early)
		VORPD(early, beyond, beyond)
		VSUBPD(half, place, place)
		VROUNDPD(Imm(9), place, floor)
		VSUBPD(floor, place, place)
		VMOVUPD(place, Mem{Base: to})
		first[axis] = XMM()
		VCVTTPD2DQY(floor, first[axis])
		VPSUBD(spread(4), first[axis], first[axis])
		VPCMPGTD(first[axis], spread(axis), is)
		VPAND(is, inside, inside)
		VPCMPGTD(ones, first[axis], is)
		VPAND(is, inside, inside)
	}
	place, before := first[1], XMM()
	VPMULLD(spread(2), place, place)
	VPADDD(first[0], place, place)
	VPCMPGTD(place, spread(3), before)
	VPAND(before, inside, inside)
	VPAND(inside, place, place)
	VMOVDQU(place, Mem{Base: at})
	VADDPD(step, column, column)
	bits, beyondBits := GP32(), GP32()
	VMOVMSKPS(inside, bits)
	XORL(Imm(15), bits)
	VMOVMSKPD(beyond, beyondBits)
	SHLL(Imm(4), beyondBits)
	ORL(beyondBits, bits)
	MOVB(bits.As8(), Mem{Base: rest})
	INCQ(rest)
	advance(16, at)
	advance(32, across, below)
	closeLoop("pixels", n, 4)
}

// doubles returns a constant of four numbers.
func doubles(name string, v ...float64) Mem {
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range v {
		DATA(8*i, F64(v[i]))
	}
	return m
}

// mix generates a kernel for four pixels at a time. between interpolates after the first of two
// values, or the second of four.
func mix(name string, taps int, lowByte Mem, between func(v []VecVirtual, at VecVirtual) VecVirtual) {
	begin(name, "func(dst *byte, plane *byte, stride int, at *int32, across *float64, below *float64, n int)",
		name+" makes n pixels, a multiple of 4, each of a square of pixels whose first one is at a place of the plane.",
		"It reads 4 bytes of each row of a square.")
	dst, plane, stride := pointer("dst"), pointer("plane"), pointer("stride")
	at, across, below, n := pointer("at"), pointer("across"), pointer("below"), pointer("n")
	row := GP64()
	byteOf := XMM()
	VMOVDQU(lowByte, byteOf)
	Label("pixels")
	var places [4]GPVirtual // faster than a gather: they are loaded one by one
	for i := range places {
		places[i] = GP64()
		MOVL(Mem{Base: at, Disp: 4 * i}, places[i].As32())
	}
	behind := YMM()
	VMOVUPD(Mem{Base: across}, behind)
	MOVQ(plane, row)
	lines := make([]VecVirtual, taps)
	for i := range lines {
		four := XMM()
		VMOVD(Mem{Base: row, Index: places[0], Scale: 1}, four)
		for j := 1; j < 4; j++ {
			VPINSRD(Imm(uint64(j)), Mem{Base: row, Index: places[j], Scale: 1}, four, four)
		}
		values := make([]VecVirtual, taps)
		for j := range values {
			one := XMM()
			values[j] = YMM()
			VPAND(byteOf, four, one)
			VCVTDQ2PD(one, values[j])
			if j+1 < taps {
				VPSRLD(Imm(8), four, four)
			}
		}
		lines[i] = between(values, behind)
		if i+1 < taps {
			ADDQ(stride, row)
		}
	}
	VMOVUPD(Mem{Base: below}, behind)
	mixed, whole := between(lines, behind), XMM()
	VCVTTPD2DQY(mixed, whole)
	VPACKSSDW(whole, whole, whole)
	VPACKUSWB(whole, whole, whole)
	VMOVD(whole, Mem{Base: dst})
	advance(4, dst)
	advance(16, at)
	advance(32, across, below)
	closeLoop("pixels", n, 4)
}
