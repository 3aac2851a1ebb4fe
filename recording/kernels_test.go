package recording

import (
	"math"
	"testing"
)

// Kernel time comes from the counter of kernels, or else from GPU-Util, reduced by timed copies
// if they are known.
func TestKernelTime(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		kernels, utilisation, copying float64
		want                          KernelTime
		holds                         bool
	}{
		{0.17, 0.92, 0.75, KernelTime{0.17, 0.75, GPUKernels}, false},
		{0.17, 0.92, nan, KernelTime{0.17, 0.75, GPUKernels}, false},
		{0.17, nan, nan, KernelTime{0.17, nan, GPUKernels}, false},
		{0.5, 0.4, nan, KernelTime{0.5, 0, GPUKernels}, false},
		{nan, 0.9, 0.7, KernelTime{0.3, 0.7, GPUUtilisation}, false},
		{nan, 0.2, 0.1, KernelTime{0.2, 0.1, GPUUtilisation}, false},
		{nan, 0.9, nan, KernelTime{0.9, nan, GPUUtilisation}, true},
		{nan, nan, 0.7, KernelTime{nan, 0.7, ""}, false},
	} {
		got := TellKernelTime(c.kernels, c.utilisation, c.copying)
		same := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 || math.IsNaN(a) && math.IsNaN(b) }
		if !same(got.Share, c.want.Share) || !same(got.Copying, c.want.Copying) || got.From != c.want.From || got.MayHoldCopies() != c.holds {
			t.Errorf("kernels %v, GPU-Util %v, copies %v: %+v (holds copies: %t)", c.kernels, c.utilisation, c.copying, got, got.MayHoldCopies())
		}
	}
}

// The curve of a device comes from its counter if it has one.
func TestKernelSeries(t *testing.T) {
	run := &Run{Series: []Series{{Signal: GPUUtilisation, Subject: "gpu/0"}, {Signal: GPUUtilisation, Subject: "gpu/1"}, {Signal: GPUKernels, Subject: "gpu/1"}}}
	for device, want := range map[string]Signal{"gpu/0": GPUUtilisation, "gpu/1": GPUKernels} {
		if s := run.KernelSeries(device); s == nil || s.Signal != want {
			t.Errorf("%s: %+v", device, s)
		}
	}
	if s := run.KernelSeries("gpu/2"); s != nil {
		t.Errorf("a device that nobody read has %+v", s)
	}
}
