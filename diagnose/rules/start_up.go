package rules

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// startUp comes before all other rules, which are not asked if it convinces: things that happen
// once resemble any of them.
var startUp = Rule{
	Class:  diagnose.StartUp,
	Title:  "This is a program's start",
	Text:   "What the device waits for is done once, as a program starts. Nothing of it comes again.",
	Limits: "A trace of one step cannot tell what comes again.",
	check: func(c *inquiry) float64 {
		if !c.IsStartUp {
			return 0
		}
		c.yes(diagnose.AskFact("Is most of the time spent on what happens once?", true,
			"warm-up, first allocations, and of several ranks first collectives"))
		what, signal := c.whatStarts()
		c.because(diagnose.AddEvidence(nil, c.Shares.Kernel, "ratio", signal,
			"the trace shows a program's start, its warm-up: kernels run %s of the time, and most of the rest is %s. "+
				"It says nothing about steady steps",
			quantity.Percent(c.Shares.Kernel), what), c.GapEvidence, c.WarmUpEvidence)
		return 1
	},
}

// Signals and words of starts that are something else than what most programs do as they start.
const (
	signalOnce = "trace.once"
	signalGaps = "trace.gaps"
	signalLone = "trace.gap"
	onceText   = "That is done once, before the steps that come again. Those are not in the file."
	gapsText   = "Few kernels run between long gaps. Nothing in the file shows that such gaps come again."
	loneText   = "One long gap takes most of the time. Nothing in the file shows that it comes again."
)

// startText is the text of a start whose evidence has this signal.
func startText(signal string) string {
	switch signal {
	case signalOnce:
		return onceText
	case signalGaps:
		return gapsText
	case signalLone:
		return loneText
	}
	return startUp.Text
}

// whatStarts is what a program's start is made of. If the file shows less of that than of other work between a few
// kernels, it is those gaps.
func (c *inquiry) whatStarts() (what, signal string) {
	if c.InsteadOfSteps != "" && c.InsteadOfSteps != "warm-up" {
		return c.InsteadOfSteps + " and what it waits for", signalOnce
	}
	first, other, hidden := c.Shares.Communication, 0.0, 0.0
	for _, cause := range c.Causes {
		switch {
		case slices.Contains([]string{"warm-up", "allocator", "communication"}, cause.Cause):
			first += cause.Share
		case slices.Contains([]string{"unrecorded", "unlinked"}, cause.Cause):
			hidden = max(hidden, cause.Share)
		default:
			other = max(other, cause.Share)
		}
	}
	lone := ""
	if c.LoneGap > 0 {
		lone = "one gap of " + quantity.AboutSeconds(c.LoneGap)
	}
	switch {
	case first < max(other, hidden) && other < hidden && lone != "":
		return lone + " in which the file does not tell what the host does", signalLone
	case first < other && lone != "":
		return lone + " in which the host works", signalLone
	case first < max(other, hidden) && other < hidden:
		return "gaps in which the file does not tell what the host does", signalGaps
	case first < other:
		return "gaps in which the host works between kernels", signalGaps
	}
	return c.Once.String(), "trace.kernel"
}
