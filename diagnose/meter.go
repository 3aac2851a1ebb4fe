package diagnose

import (
	"cmp"

	"github.com/stoker-dev/stoker/recording"
)

// NameMeter names what told of a live job for how long kernels ran.
func (c *Case) NameMeter() string {
	if c.UtilFrom == recording.GPUKernels {
		return "the counter of kernels"
	}
	return "GPU-Util"
}

// DescribeMeter says in brackets what told it, where more than kernels may be in it or no more can.
func (c *Case) DescribeMeter() string {
	switch {
	case c.UtilFrom == recording.GPUKernels:
		return " (by the device's counter of kernels)"
	case c.MayHoldCopies():
		return " (by GPU-Util, copies included)"
	}
	return ""
}

// MayHoldCopies reports whether the device may have copied while kernels are said to run.
func (c *Case) MayHoldCopies() bool {
	return recording.KernelTime{From: c.UtilFrom, Copying: c.Costs.Copying}.MayHoldCopies()
}

// AddMeter adds a line of evidence with a share that rests on it, under the signal's name.
func (q Quantity) AddMeter(c *Case, share float64, format string, args ...any) Quantity {
	return q.WithEvidence(share, "ratio", c.MeterSignal(), format+c.DescribeMeter(), args...)
}

// MeterSignal is the signal that told it.
func (c *Case) MeterSignal() string { return string(cmp.Or(c.UtilFrom, recording.GPUUtilisation)) }

// IdleSource is how a stall is known of which only the idle time is.
func (c *Case) IdleSource() Source {
	if c.UtilFrom == recording.GPUKernels {
		return KernelCounter
	}
	return Utilisation
}

// IsUpperBound reports whether a stall of this source is at most its value.
func (s Source) IsUpperBound() bool { return s == Utilisation || s == KernelCounter }
