package picture

import "math"

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
