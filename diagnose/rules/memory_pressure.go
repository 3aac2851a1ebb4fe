package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var memoryPressure = Rule{
	Class: diagnose.MemoryPressure,
	Title: "Memory is short, and what was read is fetched again",
	Text: "The job's memory is full: the kernel throws out pages that are still needed, of files or of programs, " +
		"and tasks wait until they are back from storage.",
	Limits: "Pressure is counted for the job's control group, or for the machine if that has none of its own.",
	check: func(c *inquiry) float64 {
		pressed := c.yes(c.MemoryShort)
		c.because(c.MemoryShort.Evidence)
		return pressed
	},
}
