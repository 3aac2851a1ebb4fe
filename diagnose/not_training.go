package diagnose

import "math"

var notTraining = Rule{
	Class:  NotTraining,
	Title:  "Nothing is being trained",
	Text:   "No step over a DataLoader and no work on a GPU was seen: downloading, compiling, preparing, or another kind of program.",
	Limits: "A program that trains without DataLoader on a device that cannot be read looks the same.",
	check: func(c *Case) float64 {
		if c.Training {
			return 0
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.unused()
		}
		idleModel := c.yes(fact("Does no model compute?", c.Model == nil, "optimizer steps and a model's passes are seen by the hook"))
		launches := c.yes(fact("Is no device clock ticking?", math.IsNaN(c.Stall), "device events were read or not"))
		c.because(c.Seen)
		if c.Few {
			c.yes(fact("Were enough steps seen to tell?", false, "a DataLoader was iterated, for too few steps to judge"))
			return unlikely * unused * idleModel * launches
		}
		score := unused * idleModel * launches
		if !c.HasSteps && c.Torch && c.Costs.CoresUse > 0.5 && c.GPUs > 0 && !c.Hooked {
			score *= 0.5 // PyTorch at work that cannot be looked into
		}
		if math.IsNaN(c.Util) && c.Blind && !c.NoPython {
			c.yes(fact("Could training be seen at all?", false, "neither a GPU nor the inside of the Python program can be seen"))
			score *= unlikely
		}
		return score
	},
}
