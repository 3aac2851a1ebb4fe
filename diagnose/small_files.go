package diagnose

var smallFiles = Rule{
	Class:  SmallFiles,
	Title:  "Small reads are the limit, not bytes",
	Text:   "Loading waits for many small requests (opening, looking up and reading small files), each of which takes the disk a moment, however few bytes it brings.",
	Limits: "The size of a request is the mean over all that read from the disk.",
	check: func(c *Case) float64 {
		little := c.yes(c.Small)
		c.because(c.Small.Seen)
		return little * c.no(c.Pressed) * c.no(c.Far) * c.no(c.Exhausted)
	},
}
