package diagnose

import (
	"fmt"
	"math"
	"sort"

	"stoker/diagnose/idle"
	"stoker/internal/stat"
	"stoker/predict"
	"stoker/recording"
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
	c := newCase(run, gaps)
	v := Verdict{
		Confidence: math.NaN(), State: Provisional, Rank: c.Costs.Window.Rank,
		Costs: c.Costs, HasSteps: c.HasSteps,
	}
	v.Device = -1
	if c.traced != nil {
		v.Device = int(c.traced.d.Index)
	}
	c.classic()
	for _, rule := range Rules {
		c.rule = rule.Class
		v.Scores = append(v.Scores, Score{rule.Class, rule.Check(c) * c.tells(rule.Class)})
	}
	c.rule = ""
	sort.SliceStable(v.Scores, func(i, j int) bool { return v.Scores[i].Value > v.Scores[j].Value })
	v.Class = decide(v.Scores)
	v.RunnerUp = runnerUp(v.Scores, v.Class)
	c.settleStall(v.Class)
	v.Stall, v.StallSource, v.Idle, v.Shares = c.Stall, c.StallSource, c.Idle, c.Shares
	v.Questions, v.Evidence, v.Causes = c.questions, c.evidence[v.Class], c.causes()
	if v.Class == Unknown {
		v.Evidence = c.unknownEvidence(v.Scores)
	}
	if rule, ok := RuleOf(v.Class); ok && rule.Refine != nil {
		v.Class = rule.Refine(c)
	}
	if c.HasSteps && c.Costs.Window.Stationary {
		v.State = Final
	}
	v.Findings = append(c.traceFindings(), c.findings(v.Class)...)
	v.Warnings = append(c.warnings(), run.Warnings...)
	v.Cost = CostOf(run, v, predict.Prices{})
	return v
}

func decide(scores []Score) Class {
	best, second := scores[0], scores[1]
	if best.Value < leastScore || best.Value-second.Value < leastMargin {
		return Unknown
	}
	return best.Class
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
	c.ask("Is GPU-Util high?", c.Util, 0.8, 0.95,
		"it says only that some kernel ran, not that it filled the device; and a queue of launched work keeps it high while the host waits")
	c.ask("Is the CPU high?", cpu, 0.8, 0.95,
		"one loading thread at 100 % is 1/cores of it, and a launching thread that spins for the device looks busy")
	both := math.Max(c.Util, cpu)
	c.ask("Are both low?", both, 0.5, 0.3,
		"low averages hide work that alternates: load, compute, load; a single thread can be the limit while both are low")
}

// starved asks the question that every rule about input begins with.
func (c *Case) starved() float64 {
	if c.traced != nil {
		return c.ask("Does the device wait for input (gaps in the trace inside the loader)?", c.Stall, 0.03, 0.07,
			"loading that no loader's span marks is charged to Python")
	}
	if !math.IsNaN(c.Stall) {
		return c.ask("Does the device wait for input, by its own clock?", c.Stall, 0.03, 0.07, "")
	}
	if c.ring() {
		return c.ask("Does the trainer wait for batches (an upper bound of waiting for input)?", c.waits(), 0.10, 0.25,
			"work that is queued on the device may cover a wait of the host")
	}
	return c.ask("Is the device idle (GPU-Util; an upper bound of waiting for input)?", c.Idle, 0.10, 0.25,
		"the device's own clock is not known here")
}

// onStorage is the share of fetching time in which the fetching threads waited
// for storage or a network file system.
func (c *Case) onStorage() float64 {
	k := c.Costs
	share := k.OnDisk + k.Remote
	fetching := k.WorkersBusy
	if k.Workers == 0 && c.HasSteps {
		fetching = k.Fetch / k.HostStep
	}
	if !(fetching > 0.02) {
		return math.NaN()
	}
	return min(1, share/fetching)
}

// saturated is how much of the time the workers had a batch to prepare.
func (c *Case) saturated() float64 {
	k := c.Costs
	inside := k.Fetch / (float64(k.Workers) * k.HostStep)
	switch {
	case math.IsNaN(inside):
		return k.WorkersBusy
	case math.IsNaN(k.WorkersBusy):
		return min(1, inside)
	}
	return min(1, max(inside, k.WorkersBusy))
}

// coresFull scores that no core is left for another worker: all are in use,
// workers queue for them, or the quota holds the job back. Threads that only help
// the launching thread within an operation are not counted: workers start none.
func (c *Case) coresFull() float64 {
	k := c.Costs
	used := k.CoresUse
	if k.HelperCPU > 0 {
		used -= k.HelperCPU / k.HostStep
	}
	cores := k.Cores
	if k.Workers == 0 && c.Run.Facts.Machine.Cores() > 0 {
		cores = c.Run.Facts.Machine.Cores() // neighbours come and go; that nothing loads beside the launching thread stays
	}
	full := stat.Ramp(cores-used, 0.6, 0.25)
	queued := 0.0
	if k.Workers > 0 {
		queued = stat.Ramp(k.FetchQueue/k.Fetch, 0.1, 0.25)
	}
	throttled := stat.Ramp(k.Throttled, 0.03, 0.07)
	score := max(full, queued, throttled)
	answer := fmt.Sprintf("%.1f of %.1f cores in use", used, cores)
	if k.CoresUse-used > 0.2 {
		answer += fmt.Sprintf(" (and %.1f by intra-op threads)", k.CoresUse-used)
	}
	if queued > full {
		answer += fmt.Sprintf(", workers wait for a core %s of their fetching time", percent(k.FetchQueue/k.Fetch))
	}
	if throttled > 0 {
		answer += fmt.Sprintf(", held back by the quota %s of the time", percent(k.Throttled))
	}
	if math.IsNaN(k.CoresUse) {
		score, answer = unlikely, "unknown"
	}
	c.questions = append(c.questions, Question{
		Rule: c.rule, Text: "Are the cores that the job may use full?", Answer: yesNo(score) + ", " + answer, Score: score,
	})
	return score
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
		c.Stall, c.StallSource = c.Idle, Utilisation
	}
}

func (c *Case) unknownEvidence(scores []Score) []Evidence {
	if c.traced != nil || c.hostOnly {
		return c.unknownTrace(scores)
	}
	if c.ring() {
		return c.ringEvidence()
	}
	var out []Evidence
	if !math.IsNaN(c.Stall) && c.Stall < 0.03 && c.Idle > 0.1 {
		out = append(out, Evidence{
			Text: fmt.Sprintf("the device is idle %s of the time, but not for want of input (%s): launching, synchronising or copying is next to suspect; a profiler trace tells which",
				percent(c.Idle), percent(c.Stall)), Signal: string(recording.GPUUtilisation), Value: c.Idle, Unit: "ratio",
		})
	}
	if scores[0].Value >= leastScore {
		out = append(out, Evidence{
			Text:   fmt.Sprintf("%s (%.2f) and %s (%.2f) fit nearly equally well", scores[0].Class, scores[0].Value, scores[1].Class, scores[1].Value),
			Signal: "scores", Value: scores[0].Value - scores[1].Value, Unit: "ratio",
		})
	}
	if math.IsNaN(c.Util) && math.IsNaN(c.Stall) {
		out = append(out, Evidence{Text: "nothing tells what the device did: no GPU could be read and the device's clock is not known", Signal: "none", Value: math.NaN()})
	}
	return out
}

// unknownTrace says why a trace does not decide.
func (c *Case) unknownTrace(scores []Score) []Evidence {
	switch {
	case c.hostOnly:
		const text = "the trace holds no work of a device, so that its idle time is not known: either the model computes on the CPU, or the profiler was not asked for the device (record with ProfilerActivity.CUDA)"
		return []Evidence{{Text: text, Signal: "trace.device", Value: 0, Unit: "events"}}
	case c.traced.d.StartUp:
		c.rule = Unknown
		c.because(c.Shares.Kernel, "ratio", "trace.kernel", "the trace shows a program's start, its warm-up: kernels run %s of the time, contexts, modules and first allocations take most of the rest. It tells nothing of steady steps", percent1(c.Shares.Kernel))
		c.gapEvidence()
		c.placeEvidence(idle.WarmUp)
		return c.evidence[Unknown]
	}
	c.rule = Unknown
	if n := c.traced.d.Works; n < fewWorks {
		c.because(float64(n), "kernels", "trace.device", "only %d piece%s of device work recorded: too few to judge", n, were(n))
	}
	c.because(c.Shares.Kernel, "ratio", "trace.kernel", "kernels run %s of the window, copies alone %s, communication alone %s",
		percent1(c.Shares.Kernel), percent1(c.Shares.Copy), percent1(c.Shares.Communication))
	c.gapEvidence()
	if scores[0].Value >= leastScore {
		c.because(scores[0].Value-scores[1].Value, "ratio", "scores", "%s (%.2f) and %s (%.2f) fit nearly equally well",
			scores[0].Class, scores[0].Value, scores[1].Class, scores[1].Value)
	}
	return c.evidence[Unknown]
}

func (c *Case) findings(class Class) []Finding {
	var out []Finding
	if f, ok := c.memoryFull(class); ok {
		out = append(out, f)
	}
	if c.HasSteps && c.Costs.HelpersSpin() {
		out = append(out, Finding{Name: "intra-op-threads", Text: fmt.Sprintf(
			"the launching thread's intra-op threads spin for each other on cores that they do not get (%s of fetching is waiting for a core): loading costs far more than it must. Worker processes run with one thread each; OMP_NUM_THREADS=1 helps at once",
			percent(c.Costs.FetchQueue/c.Costs.Fetch))})
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
			out = append(out, Finding{Name: "epoch-boundary", Text: fmt.Sprintf("%s of the time passes while an epoch's first batch is awaited: workers start and fill the queue anew", percent(share))})
		}
	}
	if ranks := c.ranks(); ranks != "" {
		out = append(out, Finding{Name: "ranks", Text: ranks})
	}
	return out
}

// memoryFull warns of a figure that people take for proof of work.
func (c *Case) memoryFull(class Class) (Finding, bool) {
	if !class.Starves() && !(c.Idle > 0.2) {
		return Finding{}, false
	}
	for _, g := range c.Run.Facts.GPUs {
		used := c.Run.Find(recording.GPUMemory, fmt.Sprintf("gpu/%d", g.Index)).Mean(c.From, c.To)
		if g.MemoryBytes > 0 && used/g.MemoryBytes > fullMemory {
			return Finding{Name: "full-memory", Text: fmt.Sprintf(
				"device memory is %s full while the device is idle %s of the time: a full memory says nothing about work",
				percent(used/g.MemoryBytes), percent(c.Idle))}, true
		}
	}
	return Finding{}, false
}

// ranks compares the trainers of a run with several.
func (c *Case) ranks() string {
	if c.traced != nil {
		return c.tracedRanks()
	}
	if len(c.trainers) < 2 {
		return ""
	}
	text := fmt.Sprintf("%d ranks were recorded; rank %d waits most for input and is the one judged:", len(c.trainers), c.Costs.Window.Rank)
	for _, k := range c.trainers {
		text += fmt.Sprintf(" rank %d stall %s,", k.Window.Rank, percentOr(k.Idle/k.Step))
	}
	return text[:len(text)-1] + ". A rank that waits in a collective for a starved one is not itself starved."
}

func percentOr(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return percent(v)
}

func (c *Case) warnings() []string {
	if c.traced != nil || c.hostOnly {
		return append(c.traceWarnings(), c.Run.Facts.Notes...)
	}
	var out []string
	if n := len(c.Costs.Window.Steps); c.HasSteps && n < fewSteps {
		out = append(out, fmt.Sprintf("only %d steady steps were seen (%.1f s): run longer for a verdict to rely on", n, c.To-c.From))
	} else if c.HasSteps && !c.Costs.Window.Stationary && c.To-c.From < 30 {
		out = append(out, fmt.Sprintf("%.0f s of steady training were seen; a final verdict needs 30", c.To-c.From))
	} else if c.HasSteps && !c.Costs.Window.Stationary {
		out = append(out, "the step time still drifts: its thirds of the last 30 s differ by more than 10 %")
	}
	if reason, n := c.noClock(); n > 0 && c.HasSteps {
		out = append(out, fmt.Sprintf("the device's clock is not used for %d of %d steps: %s", n, len(c.Costs.Window.Steps), reason))
	}
	for _, a := range c.Run.Facts.Absent {
		if a.What == "steps" && len(c.Run.Steps) > 0 {
			continue // older recordings do not take it back when steps come
		}
		out = append(out, a.What+": "+a.Why)
	}
	return append(out, c.Run.Facts.Notes...)
}

// noClock counts the judged steps without a device clock, and the most frequent
// reason.
func (c *Case) noClock() (reason string, n int) {
	counts := map[string]int{}
	for _, s := range c.Costs.Window.Steps {
		if math.IsNaN(s.Idle) && s.NoClock != "" {
			counts[s.NoClock]++
			n++
		}
	}
	for r, count := range counts {
		if count > counts[reason] || count == counts[reason] && r < reason {
			reason = r
		}
	}
	return reason, n
}
