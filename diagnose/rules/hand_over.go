package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var handOver = Rule{
	Class: diagnose.HandsOver,
	Title: "Taking batches over from the workers is the limit",
	Text: "The loop spends its wait for a batch at taking it over: each tensor in shared memory is opened by itself, and " +
		"what is no tensor comes through a pipe and is unpickled.",
	Limits: "With pin_memory=True a thread of PyTorch does some of it, which stack samples of the launching thread do " +
		"not show.",
	check: func(c *inquiry) float64 {
		takes := c.yes(c.TakesBatchesOver)
		starved := c.yes(c.InputShort)
		c.because(c.InputShort.Evidence, c.TakesBatchesOver.Evidence)
		return takes * starved * c.inputLeads()
	},
}
