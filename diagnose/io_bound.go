package diagnose

var ioBound = Rule{
	Class:  IOBound,
	Title:  "Storage is the limit",
	Text:   "Loading waits for a disk or a network file system, and the device waits for loading.",
	Limits: "Reads served from the page cache are not storage; a client in user space sleeps like any other program.",
	check: func(c *Case) float64 {
		if !c.Storage.known() {
			return 0
		}
		starved := c.yes(c.Starved)
		disk := c.yes(c.Storage)
		c.because(c.Starved.Seen, c.Storage.Seen, c.Fetching)
		return starved * disk
	},
}
