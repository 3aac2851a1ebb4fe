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
	refine: func(c *Case) Class {
		best, most := IOBound, leastScore
		for _, kind := range ioKinds {
			c.rule = kind.Class
			if score := kind.check(c); score >= most {
				best, most = kind.Class, score
			}
		}
		return best
	},
}

// ioKinds are rules that are asked where loading waits for storage: what it waits for.
var ioKinds = []Rule{memoryPressure, remoteFS, deviceSaturated, smallFiles}
