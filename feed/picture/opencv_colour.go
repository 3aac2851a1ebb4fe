package picture

import (
	"math"
	"sync"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// hsvDivisors are OpenCV's, with 12 bits behind the point: by brightness for saturation,
// and by the difference of the bands for half a degree of hue.
var hsvDivisors = func() (saturation, hue [256]int32) {
	for i := 1; i < 256; i++ {
		saturation[i] = int32(math.RoundToEven((255 << 12) / float64(i)))
		hue[i] = int32(math.RoundToEven((180 << 12) / (6 * float64(i))))
	}
	return saturation, hue
}

var saturationOf, hueOf = hsvDivisors()

// compileOpenCVHSV is cvtColor from RGB to HSV, with hues up to 180.
func compileOpenCVHSV(c *compiler, a *arguments) {
	if !colourPicture(c, a) {
		return
	}
	c.addStep(func(w *Worker) error {
		p := w.picture.planes
		red, green, blue := p[0], p[1][:len(p[0])], p[2][:len(p[0])]
		done := 0
		if canWarp {
			done = convertToHSVSIMD(red, green, blue)
		}
		for i := done; i < len(red); i++ {
			red[i], green[i], blue[i] = convertPixelToHSV(int32(red[i]), int32(green[i]), int32(blue[i]))
		}
		return nil
	})
}

func convertPixelToHSV(r, g, b int32) (hue, saturation, value uint8) {
	const half = 1 << 11
	top := max(r, g, b)
	span := top - min(r, g, b)
	h := r - g + 4*span
	switch top {
	case r:
		h = g - b
	case g:
		h = b - r + 2*span
	}
	if h = (h*hueOf[span] + half) >> 12; h < 0 {
		h += 180
	}
	return uint8(h), uint8((span*saturationOf[top] + half) >> 12), uint8(top)
}

// unhsvLane is how many pixels OpenCV takes at once, whose numbers it cuts off. It
// rounds those of the pixels that are left at the end of a row.
const unhsvLane = 32

// sector is what a hue tells: which of six, and how far within it.
type sector struct {
	number int
	within float64 // single precision
	rest   float64 // 1 - within, so as well
}

var (
	sectors  [256]sector
	shareOf  [256]float32 // of 255
	hueScale = float32(6) / float32(180)
)

func init() {
	const part = float32(1) / float32(255)
	for i := range sectors {
		h := float32(float32(i) * hueScale)
		number := int(h)
		within := h - float32(number)
		sectors[i] = sector{number % 6, float64(within), float64(1 - within)}
		shareOf[i] = float32(i) * part
	}
}

// compileOpenCVFromHSV is cvtColor back from there, as it is where one instruction
// multiplies and adds.
func compileOpenCVFromHSV(c *compiler, a *arguments) {
	if !colourPicture(c, a) {
		return
	}
	c.addStep(func(w *Worker) error {
		p, width := w.picture.planes, w.picture.size.X
		if width%unhsvLane == 0 { // one row is as another
			convertLanesFromHSV(p[0], p[1], p[2])
			return nil
		}
		whole := width - width%unhsvLane
		for y := range w.picture.size.Y {
			at := y * width
			h, s, v := p[0][at:][:width], p[1][at:][:width], p[2][at:][:width]
			convertLanesFromHSV(h[:whole], s, v)
			for x := whole; x < width; x++ {
				h[x], s[x], v[x] = convertPixelFromHSV(h[x], s[x], v[x], intoEven)
			}
		}
		return nil
	})
}

// convertLanesFromHSV cuts numbers off.
func convertLanesFromHSV(h, s, v []byte) {
	if canWarp {
		convertFromHSVSIMD(h, s, v)
		return
	}
	s, v = s[:len(h)], v[:len(h)]
	for x := range h {
		h[x], s[x], v[x] = convertPixelFromHSV(h[x], s[x], v[x], 0)
	}
}

// intoEven, added to a number of single precision below 256, leaves it rounded to an even
// whole one in the last bits.
const intoEven = 1 << 23

// convertPixelFromHSV cuts numbers off, or rounds them by adding intoEven.
func convertPixelFromHSV(hue, saturation, value uint8, more float32) (r, g, b uint8) {
	in, s, v := &sectors[hue], shareOf[saturation], shareOf[value]
	top := uint8(int32(float32(v*255) + more))
	low := uint8(int32(float32(float32(v*float32(1-s))*255) + more))
	part := in.within // of what falls or rises within the sector
	if in.number&1 == 0 {
		part = in.rest
	}
	between := uint8(int32(float32(float32(v*float32(1-float64(float64(s)*part)))*255) + more))
	return placeBySector(uint8(in.number), top, between, low)
}

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
}

var labOf = sync.OnceValue(func() *labTables {
	t := new(labTables)
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

// convertToLab has the matrix of sRGB with 12 bits, and the white point D65 in it, as has the way back.
func (t *labTables) convertToLab(red, green, blue []byte) {
	const (
		half   = 1 << (rootBits - 1)
		scale  = (116*255 + 50) / 100
		offset = -((16*255*(1<<rootBits) + 50) / 100)
		middle = 128 << rootBits
		half12 = 1 << (labBits - 1)
	)
	green, blue = green[:len(red)], blue[:len(red)]
	for i := range red {
		r, g, b := t.linear[red[i]], t.linear[green[i]], t.linear[blue[i]]
		x := t.roots[(1777*r+1541*g+778*b+half12)>>labBits]
		y := t.roots[(871*r+2929*g+296*b+half12)>>labBits]
		z := t.roots[(73*r+448*g+3575*b+half12)>>labBits]
		red[i] = clampByte((scale*y + offset + half) >> rootBits)
		green[i] = clampByte((500*(x-y) + middle + half) >> rootBits)
		blue[i] = clampByte((200*(y-z) + middle + half) >> rootBits)
	}
}

func clampByte(v int32) uint8 { return uint8(min(max(v, 0), 255)) }

func (t *labTables) convertFromLab(light, a, b []byte) {
	a, b = a[:len(light)], b[:len(light)]
	for i := range light {
		y, root := t.yf[light[i]][0], t.yf[light[i]][1]
		x := t.xz[root+int32((5*uint32(a[i])*53687+1<<7)>>13)-128*labOne/500-leastXZ]
		z := t.xz[root-(int32((uint32(b[i])*41943+1<<4)>>9)-128*labOne/200+1)-leastXZ]
		light[i] = t.shade(12615*x - 6296*y - 2223*z)
		a[i] = t.shade(-3773*x + 7684*y + 185*z)
		b[i] = t.shade(217*x - 836*y + 4715*z)
	}
}

// shade is that of a linear one.
func (t *labTables) shade(sum int32) uint8 {
	return t.shades[min(max((sum+1<<(backBits-1))>>backBits, 0), 1<<shadeBits-1)]
}
