package picture

import (
	"math"
	"sync"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// OpenCV converts bytes to CIE L*a*b* and back with whole numbers and tables.
const (
	labBits   = 12                    // of the weights of red, green and blue
	rootBits  = 15                    // of cube roots
	labOne    = 1 << 14               // 1 on the way back
	shadeBits = 12                    // of linear shades on the way back
	leastXZ   = -8145                 // the first of xz's numbers
	backBits  = labBits + labBitsMore // dropped from a sum on the way back

	labBitsMore = 14 - shadeBits
)

// labTables are OpenCV's.
type labTables struct {
	linear [256]int32             // a shade made linear, with 11 bits
	roots  [256 * 3 / 2 * 8]int32 // of linear shades
	yf     [256][2]int32          // brightness as Y, and its cube root
	xz     [labOne * 9 / 4]int32  // a cube root back, from leastXZ on
	shades [1 << shadeBits]uint8  // a linear shade back
	to     [3][3]int32            // red, green and blue to X, Y and Z
	back   [3][3]int32            // and the way back
}

// The matrices of sRGB, and the white point D65.
var (
	toXYZ = [3][3]float64{
		{0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227},
	}
	toRGB = [3][3]float64{
		{3.240479, -1.53715, -0.498535}, {-0.969256, 1.875991, 0.041556}, {0.055648, -0.204043, 1.057311},
	}
	white = [3]float64{0.950456, 1, 1.088754}
)

var labOf = sync.OnceValue(func() *labTables {
	t := new(labTables)
	for i := range 3 {
		for j := range 3 {
			t.to[i][j] = int32(math.RoundToEven((1 << labBits) * toXYZ[i][j] / white[i]))
			t.back[i][j] = int32(math.RoundToEven(float64((1<<labBits)*toRGB[i][j]) * white[j]))
		}
	}
	for i := range t.linear {
		t.linear[i] = roundSingle(255 * 8 * linearShade(float32(i)/255))
	}
	for i := range t.shades {
		t.shades[i] = uint8(roundSingle(255 * shadeOf(float32(i)/(1<<shadeBits))))
	}
	const scale = float32(1) / float32(255*8)
	for i := range t.roots {
		t.roots[i] = roundSingle((1 << rootBits) * rootOf(scale*float32(i)))
	}
	t.roots[324]-- // 17745.499: in OpenCV's softer arithmetic less than the half that it is here
	for i := range t.yf {
		t.yf[i] = brightnessOf(i)
	}
	for i := range t.xz {
		if v := i + leastXZ; v <= 3390 {
			t.xz[i] = int32(v*108/841 - labOne*16/116*108/841)
		} else {
			t.xz[i] = int32(v * v / labOne * v / labOne)
		}
	}
	return t
})

func roundSingle(v float32) int32 { return int32(math.RoundToEven(float64(v))) }

func linearShade(v float32) float32 {
	d := float64(v)
	if d <= 809.0/20000 {
		return float32(d / (323.0 / 25))
	}
	return float32(math.Pow((d+11.0/200)/(1+11.0/200), 12.0/5))
}

func shadeOf(v float32) float32 {
	d := float64(v)
	if d <= 7827.0/2500000 {
		return float32(d * (323.0 / 25))
	}
	return float32(float64(math.Pow(d, 1/(12.0/5))*(1+11.0/200)) - 11.0/200)
}

// rootOf is the cube root, with a straight line near 0.
func rootOf(v float32) float32 {
	if v < float32(216)/float32(24389) {
		return wheel.RoundOnce(v, float32(841)/float32(108), float32(16)/float32(116))
	}
	return float32(math.Cbrt(float64(v)))
}

func brightnessOf(i int) [2]int32 {
	if i <= 20 {
		root := float32(16)/float32(116) + float32(i*5)/float32(3*17*29)
		return [2]int32{roundSingle(float32(i*labOne*20*9) / float32(17*29*29*29)), roundSingle(labOne * root)}
	}
	root := float32(i*100*labOne)/float32(255*116) + float32(16*labOne)/float32(116)
	return [2]int32{roundSingle(float32(float32(root*root)*root) / float32(labOne*labOne)), roundSingle(root)}
}

// compileOpenCVLab is cvtColor from RGB to LAB.
func compileOpenCVLab(c *compiler, a *arguments) { c.addPixels(a, (*labTables).convertToLab) }

// compileOpenCVFromLab is cvtColor back from there.
func compileOpenCVFromLab(c *compiler, a *arguments) { c.addPixels(a, (*labTables).convertFromLab) }

// addPixels appends what is done to each pixel of three bands.
func (c *compiler) addPixels(a *arguments, convert func(t *labTables, first, second, third []byte)) {
	if !colourPicture(c, a) {
		return
	}
	c.addStep(func(w *Worker) error {
		p := w.picture.planes
		convert(labOf(), p[0], p[1], p[2])
		return nil
	})
}

func (t *labTables) convertToLab(red, green, blue []byte) {
	const (
		half   = 1 << (rootBits - 1)
		scale  = (116*255 + 50) / 100
		offset = -((16*255*(1<<rootBits) + 50) / 100)
		middle = 128 << rootBits
	)
	green, blue = green[:len(red)], blue[:len(red)]
	for i := range red {
		r, g, b := t.linear[red[i]], t.linear[green[i]], t.linear[blue[i]]
		var roots [3]int32
		for j := range roots {
			m := &t.to[j]
			roots[j] = t.roots[(r*m[0]+g*m[1]+b*m[2]+1<<(labBits-1))>>labBits]
		}
		red[i] = clampByte((scale*roots[1] + offset + half) >> rootBits)
		green[i] = clampByte((500*(roots[0]-roots[1]) + middle + half) >> rootBits)
		blue[i] = clampByte((200*(roots[1]-roots[2]) + middle + half) >> rootBits)
	}
}

func clampByte(v int32) uint8 { return uint8(min(max(v, 0), 255)) }

func (t *labTables) convertFromLab(light, a, b []byte) {
	const half = 1 << (backBits - 1)
	a, b = a[:len(light)], b[:len(light)]
	for i := range light {
		y, root := t.yf[light[i]][0], t.yf[light[i]][1]
		x := t.xz[root+int32((5*uint32(a[i])*53687+1<<7)>>13)-128*labOne/500-leastXZ]
		z := t.xz[root-(int32((uint32(b[i])*41943+1<<4)>>9)-128*labOne/200+1)-leastXZ]
		var shades [3]uint8
		for j := range shades {
			m := &t.back[j]
			shades[j] = t.shades[min(max((x*m[0]+y*m[1]+z*m[2]+half)>>backBits, 0), 1<<shadeBits-1)]
		}
		light[i], a[i], b[i] = shades[0], shades[1], shades[2]
	}
}
