package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

// Said where another thread of the program loads than the one that launches.
const (
	besideTitle = "A thread of the program loads the data, and no worker process does"
	besideText  = "A thread beside the one that launches reads, decodes and collates. What it does in Python takes turns " +
		"with the launching thread, as both need the interpreter lock. Worker processes need none of it."
)

var mainThreadLoader = Rule{
	Class: diagnose.MainThread,
	Title: "The training loop loads the data itself",
	Text: "The thread that launches work on the device also reads, decodes and collates, because no worker " +
		"process does. The device waits meanwhile.",
	Limits: "Without the start-up hook, 'no worker processes' may also mean threads that load.",
	check: func(c *inquiry) float64 {
		alone := c.yes(c.LaunchThreadLoads)
		starved := c.yes(c.InputShort)
		disk := c.yes(c.LoadingWaitsForStorage.AskedAs("Is it waiting for storage?", ""))
		full := c.yes(c.LoadingLacksCores)
		score := alone * starved * (1 - disk) * (1 - full) * c.inputLeads()
		if c.LaunchThreadAtWork.CanBeAsked() {
			c.because(c.LaunchThreadAtWork.Evidence)
			// the hook would know; live signals suspect
			return score * 0.9 * c.scoreUse() * c.yes(c.LaunchThreadAtWork)
		}
		c.because(c.InputShort.Evidence, c.FetchEvidence, c.LaunchThreadLoads.Evidence)
		return score
	},
}
