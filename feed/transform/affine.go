package transform

import "encoding/binary"

// scaleShift is (x/255 - mean) / std as the vector kernel computes it: divisions are
// slow, so that it multiplies by a reciprocal of two parts, v*high + v*low with one
// rounding of the sum. That gives the quotient to the bit for nearly all divisors;
// givesNumbers tries all 256 values, and where one differs the tables are used.
// Where x is multiplied to begin with, as torchvision's v2 does, the factor has one part.
//
// constants are those of one channel, then of the next two, then of all three in
// turn for interleaved pixels: 24 numbers of mean, of high, of low each, three
// registers, after which the channel of a pixel repeats.
type scaleShift struct {
	unit      [2]float32
	constants [4][3][24]float32
}

// interleaved is the number of the constants of all channels in turn.
const interleaved = 3

// perByte is what a byte is multiplied by that becomes a number 0..1.
const perByte = float32(1.0 / 255)

func (a *scaleShift) setNumbers(c int, mean, std float32, multiplies bool) {
	a.unit[0], a.unit[1] = reciprocal(255)
	if multiplies {
		a.unit = [2]float32{perByte}
	}
	high, low := reciprocal(std)
	for i := range 24 {
		for k, v := range [...]float32{mean, high, low} {
			a.constants[c][k][i] = v
			if i%3 == c {
				a.constants[interleaved][k][i] = v
			}
		}
	}
}

func reciprocal(x float32) (high, low float32) {
	exact := 1 / float64(x)
	high = float32(exact)
	return high, float32(exact - float64(high))
}

// givesNumbers says whether the kernel writes these numbers of channel c.
func (a *scaleShift) givesNumbers(c int, numbers *[256]uint32) bool {
	var pixels [256]byte
	for i := range pixels {
		pixels[i] = byte(i)
	}
	var got [4 * 256]byte
	a.convertPixels(got[:], pixels[:], c, "float32")
	for i, want := range numbers {
		if binary.LittleEndian.Uint32(got[4*i:]) != want {
			return false
		}
	}
	return true
}
