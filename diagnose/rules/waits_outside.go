package rules

import "github.com/stoker-dev/stoker/diagnose"

var waitsOutside = Rule{
	Class: diagnose.WaitsOutside,
	Title: "The program waits for something outside of the job",
	Text: "Requests, a timer, or an answer over the network: the launching thread waits, nothing else of the job " +
		"works, and the device has nothing to do.",
	Limits: "What is waited for is not known. A data set that is read over a connection, without a DataLoader, looks " +
		"the same.",
	check: func(c *inquiry) float64 {
		if c.HasSteps || !c.JobAwaitsOthers.CanBeAsked() {
			return 0
		}
		idle := c.yes(c.InputShort.AskedAs("Is the device idle (by "+c.NameMeter()+")?", ""))
		disk := c.yes(c.LoadingWaitsForStorage)
		awaits := c.yes(c.JobAwaitsOthers)
		c.because(c.JobAwaitsOthers.Evidence)
		return 0.9 * idle * (1 - disk) * awaits * c.scoreUse()
	},
}
