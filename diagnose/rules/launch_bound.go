package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var launchBound = Rule{
	Class: diagnose.LaunchBound,
	Title: "The host launches too slowly",
	Text: "Between two kernels the device waits: the host takes longer to launch the next one than the device to run " +
		"the last.",
	Limits: "A profiler slows the host, with stacks more than without: the share is an upper bound of what a run " +
		"without it loses.",
	check: func(c *inquiry) float64 {
		many := c.yes(c.DeviceWaitsForLaunch)
		c.yes(c.LaunchOutlastsKernel) // shown, not counted
		c.because(c.DeviceWaitsForLaunch.Evidence)
		return many * c.weighLead(c.Parts.Host) * c.besideInput(c.Parts.Host)
	},
}
