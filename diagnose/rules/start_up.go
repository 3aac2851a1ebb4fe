package rules

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// startUp comes before all other rules, which are not asked if it convinces: things that happen
// once resemble any of them.
var startUp = Rule{
	Class: diagnose.StartUp,
	Title: "This is a program's start",
	Text: "Contexts and modules are made, memory is allocated for the first time, and ranks, if there are several, meet " +
		"for the first time. Nothing of it comes again.",
	Limits: "A trace of one step cannot tell what comes again.",
	check: func(c *inquiry) float64 {
		if !c.IsStartUp {
			return 0
		}
		c.yes(diagnose.AskFact("Is most of the time spent on what happens once?", true,
			"warm-up, first allocations, and of several ranks first collectives"))
		c.because(diagnose.AddEvidence(nil, c.Shares.Kernel, "ratio", "trace.kernel",
			"the trace shows a program's start, its warm-up: kernels run %s of the time, and %s take most of the rest. "+
				"It says nothing about steady steps",
			quantity.Percent(c.Shares.Kernel), c.whatStarts()), c.GapEvidence, c.WarmUpEvidence)
		return 1
	},
}

// whatStarts is what a program's start is made of. If the file shows less of that than of other work between a few
// kernels, it is those gaps.
func (c *inquiry) whatStarts() string {
	if c.InsteadOfSteps != "" && c.InsteadOfSteps != "warm-up" {
		return c.InsteadOfSteps + " and what it waits for"
	}
	first, other := c.Shares.Communication, 0.0
	for _, cause := range c.Causes {
		if slices.Contains([]string{"warm-up", "allocator", "communication"}, cause.Cause) {
			first += cause.Share
		} else {
			other = max(other, cause.Share)
		}
	}
	switch {
	case first < other:
		return "gaps in which the host works between first calls"
	case c.Parts.Exchange > 0:
		return "contexts, modules, first allocations and first collectives"
	}
	return "contexts, modules and first allocations"
}
