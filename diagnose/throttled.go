package diagnose

var throttled = Rule{
	Class:  ThrottledGPU,
	Title:  "The device is held back",
	Text:   "Kernels run all the time, but the device's clock is well below its highest because it is too hot or its board protects itself (power supply, external brake).",
	Limits: "A clock that the power limit keeps down under full load is usual, and is not meant.",
	check: func(c *Case) float64 {
		slowed := c.yes(c.Slowed)
		if slowed == 0 {
			return 0
		}
		busy, starved := c.yes(c.Busy), c.yes(c.Starved)
		c.because(c.Slowed.Seen, c.Busy.Seen)
		return slowed * busy * (1 - starved)
	},
	most: func(c *Case) float64 { return 1 / c.Clock },
}
