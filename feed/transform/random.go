package transform

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/order"
)

// The random choices, with the distributions of torchvision's get_params and in its order of
// draws. The numbers come from order.Draws, not from torch.
//
// Products in sums are written float64(x * y), so that no compiler fuses the two operations,
// which would crop a sample elsewhere on another processor.

// drawResizedCrop is RandomResizedCrop.get_params: it returns the part to resize of a width x
// height image (both at least 1 pixel). scale is the crop's share of the area, ratio its width
// / height. The result is never empty and always inside the image.
func drawResizedCrop(d *order.Draws, width, height int, scale, ratio [2]float64) image.Rectangle {
	area := float64(width) * float64(height)
	for range 10 {
		target := area * drawBetween(d, scale[0], scale[1])
		aspect := drawAspect(d, ratio)
		w := math.RoundToEven(math.Sqrt(target * aspect)) // as Python's round
		h := math.RoundToEven(math.Sqrt(target / aspect))
		if 0 < w && w <= float64(width) && 0 < h && h <= float64(height) {
			return drawCrop(d, width, height, int(w), int(h))
		}
	}
	return centralCrop(width, height, ratio)
}

// drawAspect draws uniformly in the logarithm. As in torchvision it has a float32's precision,
// which also hides the last bits of Exp and Log, in which processors differ.
func drawAspect(d *order.Draws, ratio [2]float64) float64 {
	low, high := float32(math.Log(ratio[0])), float32(math.Log(ratio[1]))
	return float64(float32(math.Exp(drawBetween(d, float64(low), float64(high)))))
}

// centralCrop is torchvision's result if ten tries did not fit: as much of the image as the
// nearest allowed ratio leaves. If a side rounds to 0, torchvision fails later; here it is 1.
func centralCrop(width, height int, ratio [2]float64) image.Rectangle {
	w, h := width, height
	low, high := min(ratio[0], ratio[1]), max(ratio[0], ratio[1])
	switch in := float64(width) / float64(height); {
	case in < low:
		h = max(1, int(math.RoundToEven(float64(w)/low)))
	case in > high:
		w = max(1, int(math.RoundToEven(float64(h)*high)))
	}
	left, top := (width-w)/2, (height-h)/2
	return image.Rect(left, top, left+w, top+h)
}

// drawCrop is RandomCrop.get_params: a w x h rectangle in a width x height image, with all
// positions equally likely. The caller makes sure that it fits.
func drawCrop(d *order.Draws, width, height, w, h int) image.Rectangle {
	top := d.Below(height - h + 1)
	left := d.Below(width - w + 1)
	return image.Rect(left, top, left+w, top+h)
}

// drawFlip draws whether a flip of probability p happens.
func drawFlip(d *order.Draws, p float64) bool { return d.Float64() < p }

// drawBetween draws uniformly from [low, high).
func drawBetween(d *order.Draws, low, high float64) float64 {
	return low + float64((high-low)*d.Float64())
}
