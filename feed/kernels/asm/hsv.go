package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The kernel of feed/picture that turns hues, as Pillow's conversions to HSV and back do.

// largestAndLeast returns the largest and the smallest of three numbers.
func largestAndLeast(a, b, c VecVirtual) (largest, least VecVirtual) {
	largest, least = YMM(), YMM()
	VPMAXSD(b, a, largest)
	VPMAXSD(c, largest, largest)
	VPMINSD(b, a, least)
	VPMINSD(c, least, least)
	return largest, least
}

// sorting moves the three values of a colour, the largest first, to red, green and blue. The
// sixth of the circle that the hue is in decides the order; a seventh is the end of the circle.
type sorting struct{ bySector, places, apart, order Mem }

func newSorting() sorting {
	const top, mid, low = 0, 1, 2
	var sorted []uint32
	for _, of := range [8][3]uint32{
		{top, mid, low}, {mid, top, low}, {low, top, mid}, {low, mid, top}, {mid, low, top}, {top, low, mid}, {top, mid, low},
	} {
		sorted = append(sorted, of[0]|of[1]<<8|of[2]<<16|0x80<<24)
	}
	return sorting{
		bySector: longs("bySector", sorted...),
		places:   longs("placesOfColours", 0, 0x040404, 0x080808, 0x0c0c0c),
		apart:    bytes("apartColours", 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
		order:    longs("orderOfColours", 0, 4, 1, 5, 2, 6, 3, 7),
	}
}

// store stores 8 colours.
func (s sorting) store(top, between, least, sector VecVirtual, planes [3]GPVirtual) {
	VPERMD(s.bySector, sector, sector)
	VPADDB(s.places, sector, sector)
	VPSLLD(Imm(8), between, between)
	VPSLLD(Imm(16), least, least)
	VPOR(between, top, top)
	VPOR(least, top, top)
	VPSHUFB(sector, top, top)
	VPSHUFB(s.apart, top, top)
	storeThree(top, s.order, planes)
}

// turnHue gives the same bytes as Pillow's conversions to HSV and back. TestAllColoursTurned
// tests all colours.
func turnHue(colours sorting) {
	begin("turnHue8", "func(red *byte, green *byte, blue *byte, by int32, n int)",
		"turnHue8 adds by, in units of 1/256 of the circle, to the hue of n pixels, a multiple of 8.")
	planes := [3]GPVirtual{pointer("red"), pointer("green"), pointer("blue")}
	turn, n := YMM(), pointer("n")
	VPBROADCASTD(argument("by"), turn)
	one, three, five := longs("oneTurn", 1), longs("threeTurn", 3), longs("fiveTurn", 5)
	all, six, circle := longs("allTurn", 255), single("sixTurn", 6), single("circleTurn", 255)
	unit, half := single("unitTurn", 1), longs("halfTurn", 128)
	parts, partsHalf := single("partsTurn", 255*255), longs("partsHalfTurn", 255*255/2)
	// By which is largest and which is smallest: the boundary between sixths, and whether the
	// hue is after it.
	corner := single("cornerTurn", 1, -1, 1, 3, 5, 3, 0, 0)
	side := single("sideTurn", -1, 1, 1, -1, -1, 1, 0, 0)
	Label("pixels")
	red, green, blue := loadThree(planes)
	top, least := largestAndLeast(red, green, blue)
	below := YMM()
	// Twice the largest and the smallest, minus the sum of all, is how far the largest is above
	// the middle one.
	VPADDD(top, top, below)
	VPADDD(least, below, below)
	VPSUBD(red, below, below)
	VPSUBD(green, below, below)
	VPSUBD(blue, below, below)
	order, is, leastIs := YMM(), YMM(), YMM()
	VPCMPEQD(green, least, leastIs)
	VPADDD(five, leastIs, order)
	VPCMPEQD(blue, least, leastIs)
	VPCMPEQD(green, top, is)
	number := YMM()
	VPADDD(three, leastIs, number)
	VPBLENDVB(is, number, order, order)
	VPCMPEQD(red, top, is)
	VPADDD(one, leastIs, number)
	VPBLENDVB(is, number, order, order)

	// Grey has a span of 0, and any hue will do.
	span, saturation, hue := YMM(), YMM(), YMM()
	VPSUBD(least, top, span)
	VCVTDQ2PS(span, saturation)
	VPMAXSD(one, top, number)
	VCVTDQ2PS(number, number)
	VDIVPS(number, saturation, saturation)
	VMULPS(circle, saturation, saturation)
	VCVTTPS2DQ(saturation, saturation)
	VPMAXSD(one, span, span)
	VCVTDQ2PS(span, span)
	VCVTDQ2PS(below, hue)
	VDIVPS(span, hue, hue)
	VPERMPS(side, order, number)
	VMULPS(number, hue, hue)
	VPERMPS(corner, order, number)
	VADDPS(number, hue, hue)
	VMOVUPS(six, number)
	VDIVPS(number, hue, hue)
	VPSRAD(Imm(31), hue, is)
	VPAND(unit, is, is)
	VADDPS(is, hue, hue)
	VMULPS(circle, hue, hue)
	VCVTTPS2DQ(hue, hue)

	VPADDD(turn, hue, hue)
	VPAND(all, hue, hue)
	// Six times the hue, divided by 255: the integer part is the sixth of the circle, the
	// remainder the position within.
	sector, within, lacks := YMM(), YMM(), YMM()
	VPADDD(hue, hue, within)
	VPADDD(hue, within, within)
	VPADDD(within, within, within)
	VPADDD(one, within, sector)
	VPSLLD(Imm(8), sector, number)
	VPADDD(number, sector, sector)
	VPSRLD(Imm(16), sector, sector)
	VPADDD(sector, within, within)
	VPSLLD(Imm(8), sector, number)
	VPSUBD(number, within, within)
	VPXOR(all, within, lacks)
	VPSLLD(Imm(31), sector, is)
	VBLENDVPS(is, within, lacks, lacks)

	// The smallest is top * (255 - saturation) / 255, the middle one top * (255*255 - saturation
	// * lacks) / (255*255), both rounded.
	VPXOR(all, saturation, least)
	VPMULLD(top, least, least)
	VPADDD(half, least, least)
	VPSRLD(Imm(8), least, number)
	VPADDD(number, least, least)
	VPSRLD(Imm(8), least, least)
	VPMULLD(lacks, saturation, lacks)
	between := YMM()
	VMOVDQU(longs("squareTurn", 255*255), between)
	VPSUBD(lacks, between, between)
	VPMULLD(top, between, between)
	VPADDD(partsHalf, between, between)
	VCVTDQ2PS(between, between)
	VMOVUPS(parts, number)
	VDIVPS(number, between, between)
	VCVTTPS2DQ(between, between)
	colours.store(top, between, least, sector, planes)
	closeLoop("pixels", n, 8)
}

// storeThree writes 8 pixels of three planes. Each half of the register has 4 bytes of each
// plane.
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

// loadThree loads 8 bytes of each plane and widens them.
func loadThree(planes [3]GPVirtual) (a, b, c VecVirtual) {
	var out [3]VecVirtual
	for i, p := range planes {
		out[i] = YMM()
		VPMOVZXBD(Mem{Base: p}, out[i])
	}
	return out[0], out[1], out[2]
}
