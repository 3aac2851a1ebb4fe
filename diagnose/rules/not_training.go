package rules

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

// These words replace the rule's if the program failed: that it may be of another
// kind is no news then.
const (
	failedTitle = "The program ended with an error before it trained"
	failedText  = "Nothing of it can be judged: no step over a DataLoader and no work on a GPU came before its end."
)

var notTraining = Rule{
	Class: diagnose.NotTraining,
	Title: "Nothing is being trained",
	Text: "No step over a DataLoader and no work on a GPU was seen: downloading, compiling, preparing, batches " +
		"that are skipped when a run is resumed, or another kind of program.",
	Limits: "A program that trains without DataLoader on a device that cannot be read looks the same.",
	check: func(c *inquiry) float64 {
		if c.IsTraining {
			return 0
		}
		if c.OnlySkips {
			c.because(c.ProgramEvidence)
			return c.yes(diagnose.AskFact("Was nothing done with any batch?", true, "no optimizer stepped, and the device idles"))
		}
		unused := 1.0
		if !math.IsNaN(c.Util) {
			unused = c.scoreDisuse()
		}
		idleModel := c.yes(diagnose.AskFact("Does no model compute?", c.Model == nil,
			"optimizer steps and a model's passes are seen by the hook"))
		launches := c.yes(diagnose.AskFact("Is no device clock ticking?", math.IsNaN(c.Stall),
			"device events were read or not"))
		c.because(c.ProgramEvidence)
		if c.TooFewSteps {
			c.yes(diagnose.AskFact("Were enough steps seen to tell?", false,
				"a DataLoader was iterated, for too few steps to judge"))
			return diagnose.Unlikely * unused * idleModel * launches
		}
		score := unused * idleModel * launches
		if !c.HasSteps && c.TorchLoaded && c.Costs.CoresUse > diagnose.TorchAtWork && c.GPUCount > 0 && !c.HookLoaded {
			score *= 0.5 // PyTorch at work that cannot be looked into
		}
		if len(c.Doubts) > 0 {
			c.yes(diagnose.AskFact("Is the recording whole?", false, "what was cut off may hold the steps"))
			return score * diagnose.Unlikely
		}
		if c.HookMissing && c.HoldsDevice && c.Util > 0 {
			c.yes(diagnose.AskFact("Has the device done nothing at all for the job?", false,
				"a process of the job holds it, and some kernels ran: it may begin to train"))
			score *= diagnose.Unlikely
		}
		if math.IsNaN(c.Util) && c.HookMissing && !c.NoPython {
			c.yes(diagnose.AskFact("Could training be seen at all?", false,
				"neither a GPU nor the inside of the Python program can be seen"))
			score *= diagnose.Unlikely
		}
		return score
	},
}
