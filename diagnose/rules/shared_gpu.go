package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var sharedGPU = Rule{
	Class: diagnose.SharedGPU,
	Title: "Other programs compute on the device",
	Text: "Kernels of processes outside this job take a good part of the device's time, and those of the job " +
		"wait for their turn.",
	Limits: "Whose kernels run is told per process by the driver. In a container the other processes may not be seen.",
	check: func(c *inquiry) float64 {
		shared := c.yes(c.DeviceShared)
		if shared == 0 {
			return 0
		}
		starved := c.yes(c.InputShort)
		c.because(c.DeviceShared.Evidence)
		return shared * (1 - starved)
	},
	most: func(c *inquiry) float64 { return 1 / (1 - min(c.OtherJobsShare, 0.99)) },
}
