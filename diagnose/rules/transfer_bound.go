package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var transferBound = Rule{
	Class: diagnose.TransferBound,
	Title: "Copies between host and device are the limit",
	Text: "The device computes nothing while data cross the link to the host. If they come from pageable " +
		"memory, the copy is slow and blocks the launching thread.",
	Limits: "The copy's time is estimated from the batch's size and the link's rates, within the time in which no " +
		"kernel ran.",
	check: func(c *inquiry) float64 {
		short := c.yes(c.InputShortBeside)
		score := c.yes(c.CopiesTakeTime) * (1 - short)
		if c.RoomForCopies.CanBeAsked() {
			score *= c.yes(c.RoomForCopies)
		}
		c.because(c.CopiesTakeTime.Evidence)
		if c.LaunchingLacksCore.Score > 0 { // the thread that stages them is kept waiting, too
			c.because(c.LaunchingLacksCore.Evidence)
		}
		if c.Requests.Known() && c.Shares.Copy > mostlyCopies { // by its own clock: gaps of passes lack them
			return score
		}
		part := c.Parts.Copies
		return score * c.weighLead(part) * c.besideInput(part) * c.besideKernels(part, part)
	},
}

// hostTensorsTitle is said of copies of what a step makes, and no loader.
const hostTensorsTitle = "A step copies more than its batch, and the device waits for these copies"
