package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of the decision. [J] Chosen with the labelled runs in
// bench/labelled in view; who judges a run with them has other runs as well.
const (
	leastScore  = 0.4  // a best rule below this convinces nobody
	leastMargin = 0.1  // two best rules closer than this are not told apart
	fullMemory  = 0.90 // torch-tb-profiler's threshold for peak memory
	fewSteps    = 20   // below this the verdict says how little it saw
)

// Judge says what limits the run.
func Judge(run *recording.Run) Verdict { return JudgeGaps(run, nil) }

// JudgeGaps is Judge of a run with a Timeline whose gaps the caller has analysed
// already; nil: it is done here. An Analysis is not for two goroutines at once.
func JudgeGaps(run *recording.Run, gaps *idle.Analysis) Verdict {
	c := caseOf(run, gaps)
	v := Verdict{
		Confidence: math.NaN(), State: Provisional, Rank: c.Costs.Window.Rank,
		Device: c.Device, Costs: c.Costs, HasSteps: c.HasSteps || c.Paced,
	}
	c.classic()
	for _, rule := range rules {
		c.rule = rule.Class
		v.Scores = append(v.Scores, Score{rule.Class, rule.check(c) * c.tells(rule.Class)})
	}
	c.rule = ""
	sort.SliceStable(v.Scores, func(i, j int) bool { return v.Scores[i].Value > v.Scores[j].Value })
	v.Class = decide(v.Scores)
	v.RunnerUp = runnerUp(v.Scores, v.Class)
	c.settleStall(v.Class)
	v.Stall, v.StallSource, v.Idle, v.Shares = c.Stall, c.StallSource, c.Idle, c.Shares
	v.Lines = c.Lines
	v.Evidence, v.Causes, v.Most = c.evidence[v.Class], c.Causes, math.NaN()
	if v.Class == Unknown {
		v.Evidence = c.unknownEvidence(v.Scores)
	}
	rule, _ := RuleOf(v.Class)
	if rule.most != nil {
		v.Most = rule.most(c)
	}
	if rule.refine != nil {
		v.Class = rule.refine(c)
		if v.Class != rule.Class {
			v.Evidence = append(v.Evidence, c.evidence[v.Class]...)
		}
	}
	v.Questions = c.questions
	if v.HasSteps && c.Costs.Window.Stationary {
		v.State = Final
	}
	v.Unexplained = c.unexplained(v.Class)
	v.Findings = slices.Concat(c.Found, c.findings(v.Class), c.Pattern)
	v.Warnings = append(c.Warnings, run.Warnings...)
	v.Cost = CostOf(run, v, predict.Prices{})
	return v
}

// caseOf is the only place that asks what kind of recording this is.
func caseOf(run *recording.Run, gaps *idle.Analysis) *Case {
	if run.Timeline == nil {
		return liveCase(run)
	}
	return tracedCase(run, gaps)
}

func decide(scores []Score) Class {
	best, second := scores[0], scores[1]
	if best.Value < leastScore || best.Value-second.Value < leastMargin && !sameLack(best.Class, second.Class) {
		return Unknown
	}
	return best.Class
}

// sameLack reports whether two classes are of the same lack, that of core time for
// loading: the better one is named though the other is near.
func sameLack(a, b Class) bool {
	return a.Starves() && b.Starves() && a.Is(CPUBound) && b.Is(CPUBound)
}

// runnerUp is the second best rule; of an unknown verdict the best one.
func runnerUp(scores []Score, class Class) Class {
	for _, s := range scores {
		if s.Class != class && s.Value > 0.05 {
			return s.Class
		}
	}
	return ""
}

// classic asks the three questions that everybody asks first.
func (c *Case) classic() {
	cpu := c.Costs.CoresUse / c.Costs.Cores
	c.yes(share("Is GPU-Util high?", c.Util, 0.8, 0.95,
		"it says only that some kernel ran, not that it filled the device; and a queue of launched work keeps it high while the host waits"))
	c.yes(share("Is the CPU high?", cpu, 0.8, 0.95,
		"one loading thread at 100 % is 1/cores of it, and a launching thread that spins for the device looks busy"))
	both := math.Max(c.Util, cpu)
	c.yes(share("Are both low?", both, 0.5, 0.3,
		"low averages hide work that alternates: load, compute, load; a single thread can be the limit while both are low"))
}

// fewWorks is the number of pieces of work below which a trace shows a trial and
// no step. [J]
const fewWorks = 10

// tells is 0 for rules that a run cannot answer to: a trace of a program's start
// or of next to nothing tells nothing of steps, and one without a device only
// that.
func (c *Case) tells(class Class) float64 {
	switch {
	case c.StartUp, c.Apart != "", c.Works < fewWorks && class != ComputeOnCPU:
		return 0
	case c.unseen() && class != ComputeOnCPU && class != NotTraining:
		return 0
	case class == GPUBound && math.IsNaN(c.Recorded) && math.IsNaN(c.Util) && math.IsNaN(c.Stall):
		return 0 // nothing tells of a device
	case class == CPUBound || class == LaunchBound || class == TransferBound:
		// [J] Where these make one rank late, all others wait: that is the news.
		return 1 - 0.5*stat.Ramp(c.LateBy, lateLow, lateHigh)
	}
	return 1
}

// unseen reports whether nothing was seen of a device, a step or a loader: what the
// cores do is then no sign of a device that waits.
func (c *Case) unseen() bool {
	return math.IsNaN(c.Recorded) && !c.HasSteps && !c.Paced && !c.Loaded && math.IsNaN(c.Util) && math.IsNaN(c.Stall)
}

// littleWait is the share of the time below which the host's wait for batches says
// how little the device can have waited; a longer one may be covered.
const littleWait = 0.03

// settleStall gives the stall of a run whose device clock is not known: where
// input is the limit, at most the idle time; where there is hardly any idle
// time, no more than that; else it is unknown.
func (c *Case) settleStall(class Class) {
	if c.ring() && c.waits() < littleWait {
		c.Stall, c.StallSource = c.waits(), HostWait
	}
	if !math.IsNaN(c.Stall) || math.IsNaN(c.Idle) {
		return
	}
	if class.Starves() || class == GPUBound {
		c.Stall, c.StallSource = c.mostStall(), Utilisation
	}
}

// mostStall is what the device can have waited for input at most, where its clock is not
// known: no longer than it idled, nor than whoever asks for batches waits for them, be it
// another thread than the one that launches.
func (c *Case) mostStall() float64 {
	if waits := c.Costs.Wait / c.Costs.HostStep; c.HasSteps && waits >= 0 {
		return min(c.Idle, waits)
	}
	return c.Idle
}

// unknownEvidence says why nothing was decided.
func (c *Case) unknownEvidence(scores []Score) []Evidence {
	switch {
	case c.Recorded == 0:
		const text = "the trace holds no work of a device, so that its idle time is not known: either the model computes on the CPU, or the profiler was not asked for the device (record with ProfilerActivity.CUDA)"
		return seen(nil, 0, "events", "trace.device", text)
	case c.Apart != "":
		return slices.Concat(seen(nil, c.Shares.Kernel, "ratio", "trace.kernel", "all that was recorded is %s: it says nothing about steady steps (record later ones)", c.Apart), c.Gaps)
	case c.StartUp:
		return slices.Concat(seen(nil, c.Shares.Kernel, "ratio", "trace.kernel", "the trace shows a program's start, its warm-up: kernels run %s of the time, contexts, modules and first allocations take most of the rest. It says nothing about steady steps", stoker.Percent(c.Shares.Kernel)), c.Gaps, c.WarmUp)
	case c.ring():
		return c.ringEvidence()
	}
	var out []Evidence
	if c.Few {
		out = append(out, c.Seen...)
	}
	if c.Works < fewWorks {
		out = seen(out, c.Works, "kernels", "trace.device", "only %.0f piece%s of device work recorded: too few to judge", c.Works, stoker.Ending(c.Works, " was", "s were"))
	}
	if !math.IsNaN(c.Works) {
		out = seen(out, c.Shares.Kernel, "ratio", "trace.kernel", "kernels run %s of the window, copies alone %s, communication alone %s",
			stoker.Percent(c.Shares.Kernel), stoker.Percent(c.Shares.Copy), stoker.Percent(c.Shares.Communication))
	} else if lost := c.unexplained(Unknown); lost > 0.1 && !math.IsNaN(c.Stall) {
		out = seen(out, lost, "ratio", string(recording.GPUUtilisation), "the device is idle %s of the time, and waits for input %s: suspect launching, synchronising or copying; a profiler trace tells which (stoker observe takes a short one by itself)",
			stoker.Percent(c.Idle), stoker.Percent(c.Stall))
	}
	out = slices.Concat(out, c.Beside, c.Gaps)
	if scores[0].Value >= leastScore {
		out = seen(out, scores[0].Value-scores[1].Value, "ratio", "scores", "%s (%.2f) and %s (%.2f) fit about equally well",
			scores[0].Class, scores[0].Value, scores[1].Class, scores[1].Value)
	}
	if math.IsNaN(c.Util) && math.IsNaN(c.Stall) {
		out = append(out, Evidence{Text: "what the device did is unknown: no GPU could be read, nor the device's clock", Signal: "none", Value: math.NaN()})
	}
	if c.Where != "" {
		out = append(out, Evidence{Text: c.Where, Signal: "thread.state", Value: math.NaN()})
	}
	return append(out, c.slowEvidence()...)
}

func (c *Case) findings(class Class) []Finding {
	var out []Finding
	if f, ok := c.memoryFull(class); ok {
		out = append(out, f)
	}
	if f, ok := c.inputWait(class); ok {
		out = append(out, f)
	}
	if f, ok := c.slowTransform(class); ok {
		out = append(out, f)
	}
	if c.HasSteps && c.Costs.HelpersSpin() {
		out = append(out, said("intra-op-threads", fmt.Sprintf(
			"the launching thread's intra-op threads spin for each other on cores that they do not get (%s of fetching is waiting for a core): loading costs far more than it must. Worker processes run with one thread each; OMP_NUM_THREADS=1 helps at once",
			stoker.Percent(c.Costs.FetchQueue/c.Costs.Fetch))))
	}
	if c.HasSteps {
		w := c.Costs.Window
		first := 0.0
		for _, s := range w.Steps {
			if s.First {
				first += s.Wait
			}
		}
		if share := first / (w.End - w.Start); share >= 0.03 && c.Costs.Workers > 0 {
			out = append(out, said("epoch-boundary", fmt.Sprintf("%s of the time passes while an epoch's first batch is awaited: workers start and fill the queue anew", stoker.Percent(share))))
		}
	}
	if c.Ranks != "" {
		out = append(out, said("ranks", c.Ranks))
	}
	return out
}

// memoryFull warns of a figure that people take for proof of work.
func (c *Case) memoryFull(class Class) (Finding, bool) {
	if !class.Starves() && !(c.Idle > 0.2) {
		return Finding{}, false
	}
	for _, used := range c.Memory {
		if used > fullMemory {
			return said("full-memory", fmt.Sprintf(
				"device memory is %s full while the device is idle %s of the time: a full memory says nothing about work",
				stoker.Percent(used), stoker.Percent(c.Idle))), true
		}
	}
	return Finding{}, false
}
