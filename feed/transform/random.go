package transform

import (
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/order"
)

// What chance decides, with the distributions of torchvision's get_params and in
// its order of draws; the numbers themselves are ours (order.Draws), not torch's.
//
// Products that are added to are written float64(x * y), so that no compiler may
// fuse the two and a sample be cropped elsewhere on another processor.

// drawResizedCrop is RandomResizedCrop.get_params: the part of a width x height
// image (both at least 1 pixel) that is resized. scale is the crop's share of the
// area, ratio its width / height. Never empty, always inside the image.
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

// drawAspect is uniform in the logarithm. It has a float32's precision as in
// torchvision; that also hides the last bits of Exp and Log, in which processors
// differ.
func drawAspect(d *order.Draws, ratio [2]float64) float64 {
	low, high := float32(math.Log(ratio[0])), float32(math.Log(ratio[1]))
	return float64(float32(math.Exp(drawBetween(d, float64(low), float64(high)))))
}

// centralCrop is torchvision's answer where ten tries did not fit: as much of the
// image as the nearest allowed ratio leaves. torchvision fails later where a side
// rounds to 0; here it is 1.
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

// drawCrop is RandomCrop.get_params: a w x h rectangle somewhere in a width x
// height image, each place as likely as any other. It fits: the caller has seen to
// that.
func drawCrop(d *order.Draws, width, height, w, h int) image.Rectangle {
	top := d.Below(height - h + 1)
	left := d.Below(width - w + 1)
	return image.Rect(left, top, left+w, top+h)
}

// drawFlip says whether a flip of probability p happens.
func drawFlip(d *order.Draws, p float64) bool { return d.Float64() < p }

// drawBetween is uniform in [low, high).
func drawBetween(d *order.Draws, low, high float64) float64 {
	return low + float64((high-low)*d.Float64())
}
