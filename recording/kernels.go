package recording

import (
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
)

// KernelTime is the share of a span in which kernels ran on a device, and its source.
type KernelTime struct {
	Share   float64 // NaN is unknown
	Copying float64 // share in which the device copied instead; NaN is unknown
	From    Signal  // GPUKernels, else GPUUtilisation; "" if unknown
}

// TellKernelTime uses the device's counter of kernels if it has one. Otherwise it derives an
// upper bound from GPU-Util, which counts copy engines as well (bench/gpu/RESULTS.md): at most
// what the copies leave, if they were timed, because the launching thread's stream runs no
// kernel while it copies. Shares may be NaN.
func TellKernelTime(kernels, utilisation, copying float64) KernelTime {
	switch {
	case !math.IsNaN(kernels):
		return KernelTime{kernels, stat.Or(copying, max(0, utilisation-kernels)), GPUKernels}
	case !math.IsNaN(utilisation):
		return KernelTime{min(utilisation, 1-stat.Or(copying, 0)), copying, GPUUtilisation}
	}
	return KernelTime{math.NaN(), copying, ""}
}

// MayHoldCopies reports whether part of the share may be copies.
func (k KernelTime) MayHoldCopies() bool { return k.From == GPUUtilisation && math.IsNaN(k.Copying) }

// KernelTime returns the share of a window in which kernels ran on a device, "gpu/0". The
// window's steps give the time of copies.
func (r *Run) KernelTime(device string, w Window) KernelTime {
	return TellKernelTime(w.Mean(r.Find(GPUKernels, device)), w.Mean(r.Find(GPUUtilisation, device)), w.Copying())
}

// KernelSeries returns the series of a device's kernels: its counter, else GPU-Util, else nil.
func (r *Run) KernelSeries(device string) *Series {
	if s := r.Find(GPUKernels, device); s != nil {
		return s
	}
	return r.Find(GPUUtilisation, device)
}
