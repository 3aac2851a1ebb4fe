package picture

import (
	"encoding/binary"
	"math"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// ImageEnhance mixes a picture with one from which the enhanced property is removed.

// mostFactor is far above any useful factor: at a million, all values are 0 or 255.
const mostFactor = 1e6

// factor returns the factor of an enhancement.
func factor(a *arguments) float32 {
	f := a.readNumber(0)
	if math.Abs(f) > mostFactor {
		a.refuse("factor %v", f)
	}
	return float32(f)
}

// blend is Image.blend of two values: factor 0 gives a, factor 1 gives b.
func blend(a, b uint8, factor float32) uint8 {
	v := int32(wheel.Sum32(factor, float32(int(b)-int(a)), float32(a)))
	if uint32(v) > 255 {
		return uint8(^v >> 31)
	}
	return uint8(v)
}

// mix blends a plane with another one: factor 0 gives the other.
func mix(plane, other []byte, factor float32) {
	if canEnhance {
		made := blendSIMD(plane, other, factor)
		plane, other = plane[made:], other[made:]
	}
	if !wheel.Fuses || !wheel.SumsOfBytes(factor) {
		for i, v := range plane {
			plane[i] = blend(other[i], v, factor)
		}
		return
	}
	var products [511]float64 // of the factor and every difference of two bytes
	for i := range products {
		products[i] = float64(factor) * float64(i-255)
	}
	for i, b := range plane {
		a := other[i]
		v := int32(float32(products[int(b)-int(a)+255] + float64(a)))
		if uint32(v) > 255 {
			v = ^v >> 31
		}
		plane[i] = uint8(v)
	}
}

// mixTable returns the result for every value if all values of the other picture are a.
func mixTable(a uint8, factor float32) (t lookUp) {
	for b := range t {
		t[b] = blend(a, uint8(b), factor)
	}
	return t
}

// recolour applies one table to all colours of the picture.
func recolour(w *Worker, t lookUp) {
	applyTables(w, []lookUp{t, t, t}[:len(w.picture.planes)])
}

func compileBrightness(c *compiler, a *arguments) {
	t := mixTable(0, factor(a))
	c.addStep(func(w *Worker) error {
		recolour(w, t)
		return nil
	})
}

func compileContrast(c *compiler, a *arguments) {
	by := factor(a)
	c.addStep(func(w *Worker) error {
		recolour(w, mixTable(meanLuma(w), by))
		return nil
	})
}

// meanLuma returns the mean luma, rounded.
func meanLuma(w *Worker) uint8 {
	grey := w.picture.planes[0]
	if len(w.picture.planes) == 3 {
		grey = w.takePlane(len(grey))
		defer w.givePlane(grey)
		lumaOf(grey, w.picture.planes)
	}
	return uint8(float64(sumBytes(grey))/float64(len(grey)) + 0.5)
}

// sumBytes adds bytes eight at a time: as four pairs, whose sum the multiplication moves to the
// highest 16 bits.
func sumBytes(plane []byte) (sum int) {
	const every2nd, ones = 0x00ff00ff00ff00ff, 0x0001000100010001
	for ; len(plane) >= 8; plane = plane[8:] {
		v := binary.LittleEndian.Uint64(plane)
		sum += int((v&every2nd + v>>8&every2nd) * ones >> 48)
	}
	for _, v := range plane {
		sum += int(v)
	}
	return sum
}

func compileColor(c *compiler, a *arguments) {
	by := factor(a)
	if c.mode == "L" {
		return // grey has no colour to change
	}
	c.addStep(func(w *Worker) error {
		grey := w.takePlane(len(w.picture.planes[0]))
		defer w.givePlane(grey)
		lumaOf(grey, w.picture.planes)
		for _, plane := range w.picture.planes {
			mix(plane, grey, by)
		}
		return nil
	})
}

func compileSharpness(c *compiler, a *arguments) {
	by := factor(a)
	c.addStep(func(w *Worker) error {
		size := w.picture.size
		soft := w.takePlane(size.X * size.Y)
		defer w.givePlane(soft)
		for _, plane := range w.picture.planes {
			smooth(soft, plane, size)
			mix(plane, soft, by)
		}
		return nil
	})
}

// compileHue is torchvision's adjust_hue. NumPy has turned the shift into a byte to add.
func compileHue(c *compiler, a *arguments) {
	by := uint8(a.readWholeNumber(0, 0, 255))
	if c.mode == "L" {
		return
	}
	c.addStep(func(w *Worker) error {
		t := hsvTables()
		r, g, b := w.picture.threeBands()
		from := 0
		if canEnhance {
			from = turnHueSIMD(r, g, b, by)
		}
		for i := from; i < len(r); i++ {
			h, s, v := t.fromRGB(r[i], g[i], b[i])
			r[i], g[i], b[i] = t.rgbOf(h+by, s, v)
		}
		return nil
	})
}
