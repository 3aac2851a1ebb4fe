package diagnose

var deviceSaturated = Rule{
	Class:  DeviceSaturated,
	Title:  "The disk is at its limit",
	Text:   "The disk that holds the data set is at work all the time with large requests, or the job reads as much from it as its control group may.",
	Limits: "A disk that serves many requests at once can be at work all the time and still have room: more in flight tell.",
	check: func(c *Case) float64 {
		full := c.yes(c.Exhausted)
		c.because(c.Exhausted.Seen)
		return full * c.no(c.Pressed) * c.no(c.Far)
	},
}
