package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var networkBound = Rule{
	Class: diagnose.NetworkBound,
	Title: "The exchange between ranks is the limit",
	Text:  "Little or nothing computes while devices exchange gradients or activations.",
	Limits: "A rank that waits in a collective for a slower rank looks the same, and the traces of all ranks tell " +
		"the two apart.",
	check: func(c *inquiry) float64 {
		if c.ExchangeUntimed.Score > 0 && c.CollectivesRunAlone.Score == 0 {
			return 0.35 * c.yes(c.ExchangeUntimed) * c.yes(c.DeviceBusy) // suspected
		}
		if !c.CollectivesRunAlone.CanBeAsked() {
			return 0 // only the device's work tells
		}
		alone := c.yes(c.CollectivesRunAlone)
		c.because(c.CollectivesRunAlone.Evidence)
		late, part := c.no(c.OneRankLate), c.Parts.Exchange
		lead := part
		if p := c.Parts; p.Opening > max(p.Input, p.Host, p.Long, p.Copies, p.Unlinked) {
			// the first one hides what else there is
			lead += p.Opening
		}
		return alone * c.weighLead(lead) * c.besideInput(part) * late * c.besideKernels(part, 0)
	},
}
