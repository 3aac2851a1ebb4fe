package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var deviceSaturated = Rule{
	Class: diagnose.DeviceSaturated,
	Title: "The disk is at its limit",
	Text: "The disk that holds the data set is at work all the time with large requests, or the job reads as " +
		"much from it as its control group may.",
	Limits: "A disk that serves many requests at once can be at work all the time and still have room: more in " +
		"flight tell.",
	check: func(c *inquiry) float64 {
		full := c.yes(c.DiskExhausted)
		c.because(c.DiskExhausted.Evidence)
		return full * c.no(c.MemoryShort) * c.no(c.StorageRemote)
	},
}
