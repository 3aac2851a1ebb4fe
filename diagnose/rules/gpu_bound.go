package rules

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

var gpuBound = Rule{
	Class: diagnose.GPUBound,
	Title: "The device is the limit",
	Text: "Kernels run nearly all the time and the device does not wait for input. A faster host is " +
		"worth little.",
	Limits: "GPU-Util cannot tell a filled device from one tiny kernel after another.",
	check: func(c *inquiry) float64 {
		starved := c.yes(c.InputShort)
		busy := c.yes(c.DeviceBusy)
		c.because(c.DeviceBusy.Evidence)
		untimed := 1 - 0.6*c.yes(c.ExchangeUntimed) // as likely as network-bound then
		if c.Glimpse > 0 {
			return 0
		}
		// A kernel waiting for other ranks counts as running.
		if exchange := c.Parts.Exchange; exchange > 0 && math.IsNaN(c.WorksRecorded) {
			busy *= 1 - c.CollectivesRunAlone.Score*c.besideKernels(exchange, 0)
		}
		return untimed * busy * (1 - starved) * c.no(c.OneRankLate) * c.no(c.ClockHeldDown) * c.no(c.DeviceShared)
	},
	refine: func(c *inquiry) diagnose.Class {
		k := c.Kernels
		switch {
		case k.Plain >= plainShare && k.Major >= diagnose.TensorCores:
			return diagnose.GPUPrecision
		case k.Moving >= memoryShare:
			return diagnose.GPUMemory
		case k.Tensor >= tensorShare && !(k.Vector >= vectorShare):
			return diagnose.GPUTensor
		}
		return diagnose.GPUBound
	},
}

// nearlyAll is the share of kernels from which the rule's own words hold. [J]
const nearlyAll = 0.95

// leadingText is said of a device that is the limit though it has gaps.
const leadingText = "Kernels take most of the time. The device has gaps, and a faster device, or less work for it, brings " +
	"more than filling them."

// pacedTitle and pacedText are said of one whose host needs as long to launch as it needs to compute.
const (
	pacedTitle = "The device is busy, and the host takes as long to launch its work"
	pacedText  = "Kernels take most of the time, and launching them takes the host nearly as long: by a replay a device " +
		"twice as fast would wait for it."
)

// Start values for the kinds of gpu-bound.
const (
	plainShare  = 0.2 // of kernel time in matrix work without Tensor Cores [J]
	memoryShare = 0.5 // [J] of kernel time in kernels that move data
	vectorShare = 0.2 // [J] of kernel time in products with a vector, which wait for memory: there is no one kind then
	tensorShare = 0.5 // [J] of kernel time: its words say "most"
)
