package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var cgroupThrottled = Rule{
	Class: diagnose.CgroupThrottled,
	Title: "A CPU quota holds the job back",
	Text: "The job's control group may use only so much core time per period. When that is spent, loading stands " +
		"still until the next one.",
	Limits: "A quota of a group further up counts as well, whoever spends it.",
	check: func(c *inquiry) float64 {
		if c.yes(c.QuotaTakesCores) == 0 {
			return 0
		}
		return c.coresRunOut()
	},
}
