package diagnose

var transferBound = Rule{
	Class:  TransferBound,
	Title:  "Copies between host and device are the limit",
	Text:   "The device computes nothing while data cross the link to the host. Where they come from pageable memory, the copy is slow and blocks the launching thread.",
	Limits: "The copy's time is estimated from the batch's size and the link's rates, within the time in which no kernel ran.",
	check: func(c *Case) float64 {
		short := c.yes(c.Before)
		score := c.yes(c.Copied) * (1 - short)
		if c.Uncovered.known() {
			score *= c.yes(c.Uncovered)
		}
		c.because(c.Copied.Seen)
		if c.Delayed.Score > 0 { // the thread that stages them is kept waiting, too
			c.because(c.Delayed.Seen)
		}
		return score * c.leads(c.Parts.Copies) * c.besideInput(c.Parts.Copies)
	},
}
