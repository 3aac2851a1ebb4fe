package picture

import (
	"math"
	"sync"
)

// hsvTable holds the results of the divisions in Pillow's conversions to and from HSV, which
// follow Python's colorsys.
type hsvTable struct {
	// hue is indexed by the order of the colours, the difference of the largest and the
	// smallest, and that of the largest and the middle one. saturation is indexed by the largest
	// and the first difference.
	hue        [6][256][256]uint8
	saturation [256][256]uint8

	// Of a hue: the sixth of the circle it is in, and how much, in units of 1/255, the middle
	// colour is below the largest at full saturation.
	sector [256]uint8
	lacks  [256]uint8
}

var hsvTables = sync.OnceValue(func() *hsvTable {
	t := new(hsvTable)
	for span := 1; span < 256; span++ {
		most := uint8(span)
		for down := range span + 1 {
			mid := uint8(span - down)
			for order, c := range [6][3]uint8{
				{most, mid, 0},
				{most, 0, mid},
				{mid, most, 0},
				{0, most, mid},
				{mid, 0, most},
				{0, mid, most},
			} {
				t.hue[order][span][down] = hue(c[0], c[1], c[2])
			}
		}
		for most := span; most < 256; most++ {
			t.saturation[most][span] = uint8(float64(float32(span)/float32(most)) * 255)
		}
	}
	for h := range 256 {
		t.sector[h], t.lacks[h] = uint8(h*6/255%6), uint8(h*6%255)
		if t.sector[h]%2 == 0 {
			t.lacks[h] = 255 - t.lacks[h]
		}
	}
	return t
})

// hue returns the hue of a colour that is not grey, in Pillow's mixture of single and double
// precision.
func hue(r, g, b uint8) uint8 {
	most, least := max(r, g, b), min(r, g, b)
	span := float32(most - least)
	rc, gc, bc := float32(most-r)/span, float32(most-g)/span, float32(most-b)/span
	var h float32
	switch most {
	case r:
		h = bc - gc
	case g:
		h = float32(2 + float64(rc) - float64(bc))
	default:
		h = float32(4 + float64(gc) - float64(rc))
	}
	return uint8(float64(float32(math.Mod(float64(h)/6+1, 1))) * 255)
}

func (t *hsvTable) fromRGB(r, g, b uint8) (h, s, v uint8) {
	most, least := max(r, g, b), min(r, g, b)
	if most == least {
		return 0, 0, most
	}
	order, mid := 0, g
	switch { // of equal colours the first counts as the larger
	case most == r && least == b:
	case most == r:
		order, mid = 1, b
	case most == g && least == b:
		order, mid = 2, r
	case most == g:
		order, mid = 3, b
	case least == g:
		order, mid = 4, r
	default:
		order, mid = 5, g
	}
	span := most - least
	return t.hue[order][span][most-mid], t.saturation[most][span], most
}

// rgbOf computes with whole numbers. Pillow uses single precision, whose error never changes
// the rounded result: TestHSVNeedsNoFractions tries all colours.
func (t *hsvTable) rgbOf(h, s, v uint8) (r, g, b uint8) {
	if s == 0 {
		return v, v, v
	}
	low := uint8((2*uint32(v)*(255-uint32(s)) + 255) / 510)
	mid := uint8((2*uint32(v)*(255*255-uint32(s)*uint32(t.lacks[h])) + 255*255) / (2 * 255 * 255))
	return placeBySector(t.sector[h], v, mid, low)
}

func (r *raster) threeBands() (a, b, c []byte) {
	a = r.planes[0]
	return a, r.planes[1][:len(a)], r.planes[2][:len(a)]
}

// placeBySector assigns the three values of a colour to red, green and blue, by the sixth of
// the circle of its hue. mid falls in odd sixths and rises in even ones.
func placeBySector(sector uint8, most, mid, least uint8) (r, g, b uint8) {
	switch sector {
	case 1:
		return mid, most, least
	case 2:
		return least, most, mid
	case 3:
		return least, mid, most
	case 4:
		return mid, least, most
	case 5:
		return most, least, mid
	}
	return most, mid, least
}
