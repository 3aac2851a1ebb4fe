package recording

import (
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
)

// KernelTime is the share of a span in which kernels ran on a device, and what told it.
type KernelTime struct {
	Share   float64 // NaN is unknown
	Copying float64 // share in which the device copied instead; NaN is unknown
	From    Signal  // GPUKernels, else GPUUtilisation; "" where nothing told it
}

// TellKernelTime takes the word of a device's counter of kernels, where it has one. GPU-Util counts what
// copy engines do as well (bench/gpu/RESULTS.md): it is at most what the copies leave, where somebody
// timed them, and while the launching thread's stream copies, it runs no kernel. Shares may be NaN.
func TellKernelTime(kernels, utilisation, copying float64) KernelTime {
	switch {
	case !math.IsNaN(kernels):
		return KernelTime{kernels, stat.Or(copying, max(0, utilisation-kernels)), GPUKernels}
	case !math.IsNaN(utilisation):
		return KernelTime{min(utilisation, 1-stat.Or(copying, 0)), copying, GPUUtilisation}
	}
	return KernelTime{math.NaN(), copying, ""}
}

// MayHoldCopies reports whether the device may have copied for a part of the share.
func (k KernelTime) MayHoldCopies() bool { return k.From == GPUUtilisation && math.IsNaN(k.Copying) }

// KernelTime is for how much of a window kernels ran on a device, "gpu/0". Its copies are known by the
// window's steps.
func (r *Run) KernelTime(device string, w Window) KernelTime {
	return TellKernelTime(w.Mean(r.Find(GPUKernels, device)), w.Mean(r.Find(GPUUtilisation, device)), w.Copying())
}

// KernelSeries is the curve of a device's kernels: its counter, else GPU-Util; nil where it has neither.
func (r *Run) KernelSeries(device string) *Series {
	if s := r.Find(GPUKernels, device); s != nil {
		return s
	}
	return r.Find(GPUUtilisation, device)
}
