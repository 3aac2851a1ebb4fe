package diagnose

import (
	"fmt"
	"math"
	"slices"

	"stoker/recording"
)

var notTraining = Rule{
	Class:  NotTraining,
	Title:  "Nothing is being trained",
	Text:   "No step over a DataLoader and no work on a GPU was seen: downloading, compiling, preparing, or another kind of program.",
	Limits: "A program that trains without DataLoader on a device that cannot be read looks the same.",
	Check: func(c *Case) float64 {
		if c.Run.Timeline != nil || c.ring() {
			return 0 // somebody ran a profiler over steps, or takes batches from a loader
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.ask("Is the GPU unused?", c.Util, 0.06, 0.03, "")
		}
		m := c.Run.Facts.Model
		trains := m != nil && m.Steps > 0
		idleModel := c.askFact("Is no optimizer stepping?", !trains, "optimizer steps are counted by the hook")
		launches := c.askFact("Is no device clock ticking?", c.StallSource != DeviceEvents, "device events were read or not")
		c.because(0, "steps", "step", "%s", c.whatWasSeen())
		score := unused * idleModel * launches
		if !c.HasSteps && c.torchSeen() && c.Costs.CoresUse > 0.5 && len(c.Run.Facts.GPUs) > 0 && !c.hooked() {
			score *= 0.5 // PyTorch at work that cannot be looked into
		}
		if math.IsNaN(c.Util) && c.absent("hook") {
			c.askFact("Could training be seen at all?", false, "neither a GPU nor the inside of the program can be seen")
			score *= unlikely
		}
		return score
	},
}

func (c *Case) absent(what string) bool {
	return slices.ContainsFunc(c.Run.Facts.Absent, func(a recording.Absence) bool { return a.What == what })
}

func (c *Case) whatWasSeen() string {
	switch {
	case c.absent("hook") || c.absent("steps"):
		return fmt.Sprintf("the inside of the program was not seen, and no work on a GPU in the %.1f s that were recorded", c.To)
	case len(c.Run.Steps) == 0 && len(c.Run.Facts.Loaders) == 0:
		return fmt.Sprintf("no DataLoader was iterated and no work on a GPU was seen in the %.1f s that were recorded", c.To)
	case !c.HasSteps:
		return "a DataLoader was used for too few steps to judge"
	default:
		return "a DataLoader is iterated, but no optimizer steps and no GPU is used"
	}
}
