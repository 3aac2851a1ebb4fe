package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var throttled = Rule{
	Class: diagnose.ThrottledGPU,
	Title: "The device is held back",
	Text: "Kernels run all the time, but the device's clock is well below its highest because it is too hot or " +
		"its board protects itself (power supply, external brake).",
	Limits: "A clock that the power limit keeps down under full load is usual, and is not meant.",
	check: func(c *inquiry) float64 {
		slowed := c.yes(c.ClockHeldDown)
		if slowed == 0 {
			return 0
		}
		busy, starved := c.yes(c.DeviceBusy), c.yes(c.InputShort)
		c.because(c.ClockHeldDown.Evidence, c.DeviceBusy.Evidence)
		return slowed * busy * (1 - starved)
	},
	most: func(c *inquiry) float64 { return 1 / c.ClockShare },
}
