package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var smallFiles = Rule{
	Class: diagnose.SmallFiles,
	Title: "Small reads are the limit, not bytes",
	Text: "Loading waits for many small requests (opening, looking up and reading small files), and each " +
		"takes the disk a moment, however few bytes it brings.",
	Limits: "The size of a request is the mean over all that read from the disk.",
	check: func(c *inquiry) float64 {
		little := c.yes(c.RequestsSmall)
		c.because(c.RequestsSmall.Evidence)
		return little * c.no(c.MemoryShort) * c.no(c.StorageRemote) * c.no(c.DiskExhausted)
	},
}
