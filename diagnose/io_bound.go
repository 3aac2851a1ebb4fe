package diagnose

import "math"

var ioBound = Rule{
	Class:  IOBound,
	Title:  "Storage is the limit",
	Text:   "Loading waits for a disk or a network file system, and the device waits for loading.",
	Limits: "Reads served from the page cache are not storage; a client in user space sleeps like any other program.",
	Check: func(c *Case) float64 {
		if c.noTelemetry() {
			return 0 // a trace alone does not tell what the cores and disks did
		}
		k := c.Costs
		starved := c.starved()
		share := c.onStorage()
		disk := c.askOr(unlikely, "Is loading waiting for storage?", share, 0.3, 0.6, "")
		c.stallEvidence()
		if k.Feed != nil {
			c.because(share, "ratio", "feed.read", "the loader's threads read files %s of their time", percentOr(share))
		} else {
			c.because(share, "ratio", "thread.state", "loading waits for storage %s of its time", percentOr(share))
		}
		if !math.IsNaN(k.DiskRate) {
			c.because(k.DiskRate, "bytes/s", "process.disk", "%.1f MB/s come from storage, of %.1f MB/s read: the rest is in the page cache",
				k.DiskRate/1e6, math.Max(k.ReadRate, k.DiskRate)/1e6)
		}
		if !math.IsNaN(k.FetchCPU) && k.Fetch > 0 {
			c.because(k.Fetch, "seconds", "fetch.wall", "preparing one batch takes %s, of which %s is core time", ms(k.Fetch), ms(k.FetchCPU))
		}
		return starved * disk
	},
}
