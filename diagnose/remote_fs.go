package diagnose

var remoteFS = Rule{
	Class:  RemoteFS,
	Title:  "The data set is behind a network or a program that serves files",
	Text:   "Loading waits for answers of a server (NFS, Lustre, an object store) or of a program that serves files (FUSE). Each request is a round trip, however small it is.",
	Limits: "Which answers are waited for is told by the kernel function that threads sleep in, or by what the network brings meanwhile.",
	check: func(c *Case) float64 {
		far := c.yes(c.Far)
		c.because(c.Far.Seen)
		return far * c.no(c.Pressed)
	},
}
