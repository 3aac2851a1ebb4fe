package transform

import "encoding/binary"

// scaleShift is (x/255 - mean) / std as the vector kernel computes it. Divisions are slow, so
// it multiplies by a reciprocal of two parts, v*high + v*low, and rounds the sum once. For
// nearly all divisors that gives the exact quotient. givesNumbers tries all 256 values; if one
// differs, the tables are used. If x is multiplied at the beginning, as in torchvision's v2,
// the factor has one part.
//
// constants holds those of the three channels, then those of all channels in turn for
// interleaved pixels: 24 numbers each of mean, high and low. These are three registers, after
// which the channels repeat.
type scaleShift struct {
	unit      [2]float32
	constants [4][3][24]float32
}

// interleaved is the index of the constants of all channels in turn.
const interleaved = 3

// perByte is the factor that turns a byte into a number from 0 to 1.
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

// givesNumbers reports whether the kernel gives exactly these numbers for channel c.
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
