package rules

import (
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Rule is one ailment: words and one pure function.
type Rule struct {
	Class  diagnose.Class
	Title  string
	Text   string // the problem and why it starves the device
	Limits string // where the rule misleads
	check  func(*inquiry) float64
	refine func(*inquiry) diagnose.Class // the kind of the ailment, where the rule won; nil: there are none
	most   func(*inquiry) float64        // by how much the step gets shorter at most without it; nil: unknown
}

// Describe is the title and the text of a verdict's class; false for "unknown".
func Describe(v diagnose.Verdict) (title, text string, known bool) {
	if v.Class == diagnose.NotTraining && v.Ending.Failed() {
		return failedTitle, failedText, true
	}
	rule, known := FindRule(v.Class)
	once := len(v.Costs.Window.Steps) == 1 && !v.Grounds.HasEpochs(1)
	if once || v.Grounds.Program == diagnose.Inference {
		rule.Title = strings.ReplaceAll(rule.Title, "training loop", "loop")
	}
	if v.Class == diagnose.CPUBound && len(v.Evidence) > 0 {
		switch v.Evidence[0].Signal {
		case diagnose.SignalHeld:
			return heldTitle, heldText, known
		case diagnose.SignalSampler:
			return drawsTitle, drawsText, known
		case diagnose.SignalRestarts:
			return restartsTitle, restartsText, known
		case diagnose.SignalRanks:
			return ranksTitle, ranksText, known
		case diagnose.SignalInterpreter:
			return lockedTitle, lockedText, known
		}
	}
	if v.Class == diagnose.CPUBound && v.Device >= 0 { // what it is, a profiler's file tells or leaves open
		if v.Grounds.HostWork.Silent {
			rule.Title = silentTitle
		}
		if v.Grounds.HostWork.Waits {
			rule.Title = waitsTitle
		}
		if v.Grounds.HostWork.Keeps {
			rule.Title = keepTitle
		}
		return rule.Title, stretchText(v.Grounds.HostWork), known
	}
	if v.Class == diagnose.TransferBound && len(v.Evidence) > 0 && v.Evidence[0].Signal == diagnose.SignalHostTensors {
		return hostTensorsTitle, rule.Text, known
	}
	if v.Class == diagnose.StartUp && len(v.Evidence) > 0 {
		return rule.Title, startText(v.Evidence[0].Signal), known
	}
	if v.Class == diagnose.TooFewWorkers && v.Grounds.Framework != "" {
		return rule.Title, pipelineText, known
	}
	if v.Class == diagnose.TooFewWorkers && v.Costs.WithoutData() > 0 {
		return idleWorkersTitle, idleWorkersText, known
	}
	if v.Class == diagnose.BatchTooSmall && !v.Measured.Requests.Known() {
		return jobsTitle, jobsText, known
	}
	if v.Class == diagnose.MainThread && v.Grounds.Beside {
		return besideTitle, besideText, known
	}
	if v.Paced {
		return pacedTitle, pacedText, known
	}
	if v.Class.Is(diagnose.GPUBound) && (v.Shares.Kernel < nearlyAll || v.Stall > diagnose.InputStall.No) {
		return rule.Title, leadingText, known
	}
	return rule.Title, rule.Text, known
}

// FindRule returns the rule that explains a class, for a kind of an ailment that of
// the ailment; false for "unknown".
func FindRule(class diagnose.Class) (Rule, bool) {
	for _, rule := range slices.Concat(rules, ioKinds, clusterKinds) {
		if class == rule.Class {
			return rule, true
		}
	}
	if class == diagnose.Tokenizing {
		rule := serverHost
		rule.Title = "Tokenizing, or turning tokens into text, keeps the model waiting"
		return rule, true
	}
	for _, rule := range rules {
		if class.Is(rule.Class) {
			return rule, true
		}
	}
	return Rule{}, false
}

// inquiry asks a Case on behalf of one rule after the other, and keeps what was asked.
type inquiry struct {
	*diagnose.Case
	rule      diagnose.Class // the one that asks; "" for the classic three questions
	questions []diagnose.Question
	evidence  map[diagnose.Class][]diagnose.Evidence
}

// yes asks, and returns how much of a yes the answer is; 0 if it cannot be asked.
func (c *inquiry) yes(q diagnose.Quantity) float64 {
	if !q.CanBeAsked() {
		return 0
	}
	q.Rule = c.rule
	c.questions = append(c.questions, q.Question)
	return q.Score
}

// no asks, and returns how much of a no the answer is.
func (c *inquiry) no(q diagnose.Quantity) float64 { return 1 - c.yes(q) }

// because takes what was seen for evidence of the rule that is being asked.
func (c *inquiry) because(lists ...[]diagnose.Evidence) {
	for _, list := range lists {
		c.evidence[c.rule] = append(c.evidence[c.rule], list...)
	}
}

// weighLead is how much x leads the other parts of the window that something could
// be done about, and of the part that the file hides: 1 for the largest, falling with the square of its
// part of the largest. [J] The square keeps two of about the same size apart. Where
// the parts are unknown, nothing leads.
func (c *inquiry) weighLead(x float64) float64 {
	p := c.Parts
	most := max(p.Input, p.Host, p.Long, p.Copies, p.Exchange, p.Queued, p.Unlinked, p.Opening, p.Awaited,
		stat.Or(p.Rare, 0), c.passesOnCPU())
	switch {
	case math.IsNaN(most):
		return 1
	case most <= 0:
		return 0
	}
	return min(1, x/most*x/most)
}

// inputLeads is leads of input. Half as much again as the largest rival still counts
// as much as it: what input leaves uncovered shows up as other causes. Idle time without
// a name is a rival like others.
func (c *inquiry) inputLeads() float64 {
	p := c.Parts
	lead := 1.0
	most := max(p.Host, p.Long, p.Copies, p.Exchange, p.Queued, p.Unnamed, p.Unlinked, stat.Or(p.Rare, 0))
	if most > 0 && !math.IsNaN(p.Input) {
		lead = min(1, 1.5*p.Input/most)
	}
	return lead * lead
}

// besideInput is that of a part of the window. [J] One of three times the loss for
// input is not what its lack left.
func (c *inquiry) besideInput(part float64) float64 {
	input := c.Parts.Input
	own := 0.0
	if part > 0 && input > 0 {
		own = diagnose.OwnPartOfInput.Score(part / input)
	}
	return 1 - (1-diagnose.BesideInput(input))*(1-own)
}

// besideKernels is how much a part of the window counts next to the device's own work, if
// the host loses next to nothing but other; other equals part for the host's own. [J] A
// seventh of what kernels take is not what limits a run whose device is never idle.
func (c *inquiry) besideKernels(part, other float64) float64 {
	if c.Parts.LoseTimeBeside(other) {
		return 1
	}
	kernels := c.Shares.Kernel
	if p := c.Parts; math.IsNaN(c.WorksRecorded) { // GPU-Util counts collectives as kernels
		kernels = min(kernels, 1-p.Input-p.Host-p.Long-p.Copies-p.Exchange-p.Queued-p.Unnamed)
	}
	return diagnose.PartBesideKernels.Score(part / kernels)
}

// scoreUse is how much of a yes it is that the device is in use at all.
func (c *inquiry) scoreUse() float64 {
	if c.Model != nil || math.IsNaN(c.Util) {
		return 1
	}
	return 1 - c.scoreDisuse()
}

// scoreDisuse is how much of a yes it is that the device is not in use. One that a process of
// the job holds is in use at less: a host that keeps it waiting leaves it little to do, though again and again.
func (c *inquiry) scoreDisuse() float64 {
	unused := diagnose.DeviceUnused
	if c.HoldsDevice {
		if c.KernelsRecur && c.Util < diagnose.HeldDeviceUnused.No {
			return c.yes(diagnose.AskFact("Is the GPU unused?", false, "kernels run in each part of the time, if few"))
		}
		unused = diagnose.HeldDeviceUnused
	}
	return c.yes(diagnose.AskShare("Is the GPU unused?", c.Util, unused, ""))
}

// Start values of the decision. [J] Chosen with the labelled runs in
// bench/labelled in view; who judges a run with them has other runs as well.
const (
	LeastScore  = 0.4 // a best rule below this does not convince
	leastMargin = 0.1 // two best rules closer than this are not told apart
)
