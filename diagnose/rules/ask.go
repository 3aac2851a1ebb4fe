package rules

import (
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Answers are what all rules say of a Case.
type Answers struct {
	Class, RunnerUp diagnose.Class
	Most            float64          // by how much the step gets shorter at most without the ailment; NaN unknown
	Scores          []diagnose.Score // best first
	Questions       []diagnose.Question
	Evidence        []diagnose.Evidence // of Class; nil if no rule convinces
}

// AskAll asks the three classic questions and then every rule.
func AskAll(of *diagnose.Case) Answers {
	c := &inquiry{Case: of, evidence: map[diagnose.Class][]diagnose.Evidence{}}
	a := Answers{Most: math.NaN()}
	c.askClassic()
	for _, rule := range rules {
		c.rule = rule.Class
		a.Scores = append(a.Scores, diagnose.Score{Class: rule.Class, Value: rule.check(c) * c.weighRule(rule.Class)})
	}
	sort.SliceStable(a.Scores, func(i, j int) bool { return a.Scores[i].Value > a.Scores[j].Value })
	a.Class = decide(a.Scores)
	a.RunnerUp = runnerUp(a.Scores, a.Class)
	a.Evidence = c.evidence[a.Class]
	rule, _ := FindRule(a.Class)
	if rule.most != nil {
		a.Most = rule.most(c)
	}
	if rule.refine != nil {
		a.Class = rule.refine(c)
		if a.Class != rule.Class {
			a.Evidence = append(a.Evidence, c.evidence[a.Class]...)
		}
	}
	a.Questions = c.questions
	return a
}

// decide is the class of the best rule, where that convinces and leads.
func decide(scores []diagnose.Score) diagnose.Class {
	best, second := scores[0], scores[1]
	if best.Value < LeastScore || best.Value-second.Value < leastMargin && !sameLack(best.Class, second.Class) {
		return diagnose.Unknown
	}
	return best.Class
}

// sameLack reports whether two classes are of the same lack: that of core time for loading, or of a thread that
// launches in time. The better one is named though the other is near.
func sameLack(a, b diagnose.Class) bool {
	launches := a == diagnose.LaunchBound || b == diagnose.LaunchBound
	works := a == diagnose.CPUBound || b == diagnose.CPUBound
	return a.Starves() && b.Starves() && a.Is(diagnose.CPUBound) && b.Is(diagnose.CPUBound) || launches && works
}

// runnerUp is the second best rule; of an unknown verdict the best one.
func runnerUp(scores []diagnose.Score, class diagnose.Class) diagnose.Class {
	for _, s := range scores {
		if s.Class != class && s.Value > diagnose.NamedScore {
			return s.Class
		}
	}
	return ""
}

// askClassic asks the three questions that everybody asks first.
func (c *inquiry) askClassic() {
	cpu := c.Costs.CoresUse / c.Costs.Cores
	c.yes(diagnose.AskShare("Is "+c.NameMeter()+" high?", c.Util, diagnose.MeterHigh,
		"it says only that some kernel ran, not that it filled the device, and a queue of launched work keeps it "+
			"high while the host waits"))
	c.yes(diagnose.AskShare("Is the CPU high?", cpu, diagnose.MeterHigh,
		"one loading thread at 100 % is 1/cores of it, and a launching thread that spins for the device looks busy"))
	both := math.Max(c.Util, cpu)
	c.yes(diagnose.AskShare("Are both low?", both, diagnose.BothLow,
		"low averages hide work that alternates: load, compute, load. A single thread can be the limit while "+
			"both are low"))
}

// weighRule is 0 for rules that a run cannot answer to: a trace of a program's start
// or of next to nothing tells nothing of steps, and one without a device only
// that.
func (c *inquiry) weighRule(class diagnose.Class) float64 {
	switch {
	case class == diagnose.StartUp:
		return 1
	case c.OnlySkips && class != diagnose.NotTraining:
		return 0 // fetches of skipped batches do not wait for the same things as training
	case c.IsStartUp, c.InsteadOfSteps != "", c.IsTrial && class != diagnose.ComputeOnCPU:
		return 0
	case c.isUnseen() && class != diagnose.ComputeOnCPU && class != diagnose.NotTraining:
		return 0
	case class == diagnose.GPUBound && math.IsNaN(c.WorksRecorded) && math.IsNaN(c.Util) && math.IsNaN(c.Stall):
		return 0 // nothing tells of a device
	case c.Requests.Known():
		return c.weighServer(class)
	case slices.Contains(besidePasses, class):
		return (1 - c.PassesSmall.Score) * c.weighLoop(class)
	}
	return c.weighLoop(class)
}

// besidePasses are the classes that a worker of a queue has beside small passes: of several jobs at once each costs
// less of all that they name.
var besidePasses = []diagnose.Class{
	diagnose.GPUBound, diagnose.CPUBound, diagnose.LaunchBound, diagnose.Neighbour, diagnose.WaitsOutside,
}

// weighLoop is weighRule of a program that is no server.
func (c *inquiry) weighLoop(class diagnose.Class) float64 {
	switch {
	case class.Starves() && c.computesOnCPU():
		return 0.3 // a faster loader feeds the host's cores; the rule's own words are shown with the class
	case class == diagnose.CPUBound || class == diagnose.LaunchBound || class == diagnose.TransferBound:
		// [J] Where these make one rank late, all others wait: that is the news.
		return 1 - 0.5*diagnose.RankLate.Score(c.RankLateBy)
	}
	return 1
}

// weighServer is weighRule of a server. The questions to a loop that runs all the time have no meaning in one that
// serves requests; without requests nothing else limits it; and one that gives its device a request at a time is
// not limited by the device.
//
// Without a GPU, computing on the CPU is the limit if the model's passes take more than anything else.
// With one, it is the cause of the rest.
func (c *inquiry) weighServer(class diagnose.Class) float64 {
	switch class {
	case diagnose.ComputeOnCPU:
		switch {
		case c.OnDevice:
			return 0
		case c.GPUCount == 0:
			return c.weighPasses() * c.weighLead(c.passesOnCPU()) * (1 - c.NobodyAsks.Score) *
				(1 - c.PassesSmall.Score) * (1 - c.CacheIsFull.Score)
		}
		return c.weighPasses()
	case diagnose.NoLoad:
		return c.weighUnusedGPU()
	case diagnose.WaitsOutside, diagnose.NotTraining, diagnose.CPUBound:
		return 0
	case diagnose.GPUBound, diagnose.ServerHost, diagnose.ServerWaits, diagnose.Neighbour:
		return (1 - c.NobodyAsks.Score) * (1 - c.PassesSmall.Score) * (1 - c.CacheIsFull.Score) * c.weighUnusedGPU()
	default:
		if class.Starves() {
			return 0
		}
		return (1 - c.NobodyAsks.Score) * c.weighUnusedGPU()
	}
}

// weighUnusedGPU is less than 1 if the model computes on the CPU and a GPU is there.
func (c *inquiry) weighUnusedGPU() float64 {
	if c.GPUCount > 0 && c.computesOnCPU() && !c.OnDevice {
		return 1 - 0.7*c.weighPasses()
	}
	return 1
}

// weighPasses is whether passes take enough of the time in which requests are there for it to matter where they
// compute.
func (c *inquiry) weighPasses() float64 {
	if math.IsNaN(c.Requests.PassShare) {
		return 1
	}
	return diagnose.HostForRequests.Score(c.Requests.PassShare / max(1e-9, 1-c.Requests.None))
}

// passesOnCPU is the share of the window in which a server's model computes on the CPU, as the machine has no GPU. A
// GPU would save most of it. 0 for other programs.
func (c *inquiry) passesOnCPU() float64 {
	if c.GPUCount > 0 || !c.Requests.Known() || !c.computesOnCPU() {
		return 0
	}
	return stat.Or(c.Requests.PassShare, 0)
}

// isUnseen reports whether nothing was seen of a device, a step or a loader: what the
// cores do is then no sign of a waiting device.
func (c *inquiry) isUnseen() bool {
	return math.IsNaN(c.WorksRecorded) && !c.HasSteps && !c.HasUnfedSteps && !c.LoaderIterated &&
		math.IsNaN(c.Util) && math.IsNaN(c.Stall)
}
