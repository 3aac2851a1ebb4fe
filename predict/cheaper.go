package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
)

// Cheaper forecasts the job where preparing a sample costs that share of the core time
// that it costs now.
func (b Baseline) Cheaper(cost stoker.Interval) Forecast {
	after := b.Setup
	after.PrepareCPU = by(after.PrepareCPU, oneOfSeveral(cost))
	return b.forecast(after, true, nil)
}

// Faster bounds what a device that computes so many times as fast is worth: what it
// computes would take as much less, and what is launched, copied and waited for would not.
func (b Baseline) Faster(times float64) Forecast {
	after := b.Setup
	computes := max(0, b.Step.Point-given(b.Launch).Low)
	after.Step = stoker.Exactly(max(least, b.Step.Point-computes*(1-1/times)))
	f := b.forecast(after, true, nil)
	f.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: max(1, f.Speedup.High)}
	f.Step, f.Throughput, f.Stall = stoker.Unknown(), stoker.Unknown(), stoker.Unknown()
	return f
}

// PixelsCost is what preparing an image costs where it was decoded and stored once, as
// pixels, over what it costs with decoding: the crop, the flip and the rest stay.
// Measured 2026-11-22 on 2 cores AMD EPYC, Pillow 13, torchvision 0.29, 300 JPEGs of
// 500 x 375 (examples/imagefolder), RandomResizedCrop 224, flip, normalise, core time of
// one thread: 0.34 to 0.45 (n = 3). [J] The high end is for reading several times the
// bytes and for transforms that cost more.
func PixelsCost() stoker.Interval { return stoker.Interval{Low: 0.3, Point: 0.43, High: 0.65} }

// DeviceDecodeCost is what stays on the cores of preparing an image where the device
// decodes and transforms it. [J] Reading and handing over compressed bytes.
func DeviceDecodeCost() stoker.Interval { return stoker.Interval{Low: 0.05, Point: 0.1, High: 0.3} }
