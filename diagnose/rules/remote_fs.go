package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var remoteFS = Rule{
	Class: diagnose.RemoteFS,
	Title: "The data set is behind a network or a program that serves files",
	Text: "Loading waits for answers of a server (NFS, Lustre, an object store) or of a program that serves " +
		"files (FUSE). Each request is a round trip, however small it is.",
	Limits: "Which answers are waited for is told by the kernel function that threads sleep in, or by what the " +
		"network brings meanwhile.",
	check: func(c *inquiry) float64 {
		far := c.yes(c.StorageRemote)
		c.because(c.StorageRemote.Evidence)
		return far * c.no(c.MemoryShort)
	},
}
