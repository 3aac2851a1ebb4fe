package picture

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// torchvision's v2 operations on tensors of bytes, in single precision. Some steps round a
// multiplication and an addition only once, as torch does on AVX2 and later, and on arm64.

// toByte is torch's clamp_ and conversion to uint8.
func toByte(v float32) uint8 { return uint8(min(max(v, 0), 255)) }

func compileTorchResize(filter int) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		size := image.Point{X: a.readWholeNumber(0, 1, longestSide), Y: a.readWholeNumber(1, 1, longestSide)}
		switch {
		case size == c.size:
		// torch raises for some of these, and 2.8 gives other bytes
		case size.X*size.Y > mostPixels || size.X == 1 || size.Y == 1:
			a.refuse("a picture of %d x %d pixels", size.X, size.Y)
		default:
			c.resize(size, filter, c.wholePicture(), a)
		}
	}
}

// mostTorchFactor is far above any useful factor.
const mostTorchFactor = 1e6

// torchFactor returns the weights of the picture itself and of the other one.
func torchFactor(a *arguments) (own, other float32) {
	f := a.readNumber(0)
	if f < 0 || f > mostTorchFactor {
		a.refuse("factor %v", f)
	}
	return float32(f), float32(1 - f)
}

// greys is the share of red in a grey value.
var greys = func() (t [256]float32) {
	for v := range t {
		t[v] = float32(v) * 0.2989
	}
	return t
}()

func torchGrey(r, g, b uint8) float32 {
	return wheel.RoundOnce(float32(b), 0.114, wheel.RoundOnce(float32(g), 0.587, greys[r]))
}

// torchGreyOf sets dst to grey, rounded down.
func torchGreyOf(dst []byte, planes [][]byte) {
	r, g, b := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
	for i := range r {
		dst[i] = uint8(torchGrey(r[i], g[i], b[i]))
	}
}

func compileTorchGrayscale(c *compiler, a *arguments) {
	n := a.readWholeNumber(0, 1, 3)
	if n == 2 || c.mode != "RGB" {
		a.refuse("%d bands of mode %q", n, c.mode)
	}
	if n == 1 {
		c.mode = "L"
	}
	c.addStep(func(w *Worker) error {
		planes := w.picture.planes
		torchGreyOf(planes[0], planes)
		for _, plane := range planes[1:n] {
			copy(plane, planes[0])
		}
		w.replace(raster{w.picture.size, planes[:n]})
		return nil
	})
}

func compileTorchSaturation(c *compiler, a *arguments) {
	own, other := torchFactor(a)
	if c.mode == "L" {
		return
	}
	var parts [256]float32
	for v := range parts {
		parts[v] = float32(v) * own
	}
	c.addStep(func(w *Worker) error {
		grey := w.takePlane(len(w.picture.planes[0]))
		defer w.givePlane(grey)
		torchGreyOf(grey, w.picture.planes)
		for _, plane := range w.picture.planes {
			for i, v := range plane {
				plane[i] = toByte(wheel.RoundOnce(float32(grey[i]), other, parts[v]))
			}
		}
		return nil
	})
}

func compileTorchContrast(c *compiler, a *arguments) {
	own, other := torchFactor(a)
	c.addStep(func(w *Worker) error {
		least, most := torchMean(w)
		var t lookUp
		for v := range t {
			part := float32(float32(v) * own)
			t[v] = toByte(wheel.RoundOnce(least, other, part))
			if t[v] != toByte(wheel.RoundOnce(most, other, part)) {
				return &RefusalError{a.op, "a mean that depends on the order of its sum"}
			}
			if t[v] != toByte(float32(least*other)+part) { // for some of the last pixels torch rounds twice
				return &RefusalError{a.op, "a sum that depends on how often it is rounded"}
			}
		}
		recolour(w, t)
		return nil
	})
}

// exactSum is the limit of exact whole numbers in single precision. Of mostSummed pixels, a
// sixteenth has a sum below it.
const (
	exactSum   = 1 << 24
	mostSummed = 1 << 20
)

// torchMean returns bounds on the mean of the grey picture. Torch sums in single precision, in
// an order that depends on the processor and the threads. If the sum is too large to be exact
// in every order, the result is between two bounds. Torch adds at least 16 partial sums, which
// are exact.
func torchMean(w *Worker) (least, most float32) {
	grey := w.picture.planes[0]
	if len(w.picture.planes) == 3 {
		grey = w.takePlane(len(grey))
		defer w.givePlane(grey)
		torchGreyOf(grey, w.picture.planes)
	}
	sum, n := sumBytes(grey), float32(len(grey))
	if sum <= exactSum {
		return float32(sum) / n, float32(sum) / n
	}
	if len(grey) > mostSummed {
		return 0, 255
	}
	_, exponent := math.Frexp(float64(sum))
	off := math.Ldexp(64, exponent-24) // 128 roundings
	return float32(float64(sum)-off) / n, float32(float64(sum)+off) / n
}

func compileTorchChannels(c *compiler, a *arguments) {
	order := a.numberList(0, bands[c.mode])
	seen := 0
	for _, at := range order {
		if at != math.Trunc(at) || at < 0 || int(at) >= len(order) {
			a.refuseArgument(0, "an order of bands")
			return
		}
		seen |= 1 << int(at)
	}
	if seen != 1<<len(order)-1 {
		a.refuse("bands %v", order)
	}
	c.addStep(func(w *Worker) error {
		planes := make([][]byte, len(order))
		for i, at := range order {
			planes[i] = w.picture.planes[int(at)]
		}
		w.replace(raster{w.picture.size, planes})
		return nil
	})
}

func compileTorchHue(c *compiler, a *arguments) {
	by := a.readNumber(0)
	if by < -0.5 || by > 0.5 {
		a.refuse("a hue of %v", by)
	}
	if c.mode == "L" {
		return
	}
	c.addStep(func(w *Worker) error {
		planes := w.picture.planes
		r, g, b := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
		for i := range r {
			r[i], g[i], b[i] = torchHue(r[i], g[i], b[i], float32(by))
		}
		return nil
	})
}

// unit maps a byte to a value from 0 to 1.
var unit = func() (t [256]float32) {
	for v := range t {
		t[v] = float32(v) * float32(1.0/255)
	}
	return t
}()

// torchHue shifts a colour's hue, by the steps of _rgb_to_hsv and _hsv_to_rgb.
func torchHue(r8, g8, b8 uint8, by float32) (r, g, b uint8) {
	hue, saturation, value := torchHSV(unit[r8], unit[g8], unit[b8])
	if hue += by; hue >= 1 {
		hue--
	} else if hue < 0 {
		hue++
	}
	sixth := float32(hue * 6)
	sector := int32(sixth)
	part := sixth - float32(sector)
	product := float32(saturation * part)
	none := 1 - saturation
	mid := (1 - product) * value // falls
	if sector&1 == 0 {
		mid = (product + none) * value // rises
	}
	least := unitToByte(clampUnit(none * value))
	return placeBySector(uint8(sector%6), unitToByte(value), unitToByte(clampUnit(mid)), least)
}

func torchHSV(r, g, b float32) (hue, saturation, value float32) {
	value = max(r, g, b)
	span := value - min(r, g, b)
	if span == 0 {
		// 0 * 1/6 + 1, minus one
		return 0, 0, value
	}
	red, green, blue := (value-r)/span, (value-g)/span, (value-b)/span
	switch value {
	case r:
		hue = blue - green
	case g:
		hue = red + 2 - blue
	default:
		hue = green + 4 - red
	}
	hue = float32(hue*float32(1.0/6)) + 1
	if hue >= 1 {
		hue--
	}
	return hue, span / value, value
}

func clampUnit(v float32) float32 { return min(max(v, 0), 1) }

func unitToByte(v float32) uint8 { return uint8(v * float32(255+1-1e-3)) }
