package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var slowSamples = Rule{
	Class: diagnose.SlowSamples,
	Title: "Few slow samples hold the others up",
	Text: "Most batches are ready in time. A few take many times as long, and as batches come in order, all that are " +
		"ready behind them wait.",
	Limits: "On a machine whose cores others use, any fetch may take long now and then.",
	check: func(c *inquiry) float64 {
		few := c.yes(c.FewAreSlow)
		starved := c.yes(c.InputShort)
		full := c.yes(c.LoadingLacksCores)
		disk := c.yes(c.LoadingWaitsForStorage.AskedAs("Are they waiting for storage?", ""))
		c.because(c.InputShort.Evidence, c.FewAreSlow.Evidence, c.FetchEvidence)
		return few * starved * (1 - full) * (1 - disk) * c.inputLeads()
	},
}
