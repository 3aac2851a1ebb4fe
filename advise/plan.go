package advise

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// Rank proposes every change that applies to the run and that its evidence carries, and
// orders them by worth.
func Rank(run *recording.Run, verdict diagnose.Verdict) Plan {
	a := adviser{run: run, verdict: verdict, costs: verdict.Costs}
	t := a.replayable()
	return mindReads(a.leadWith(a.spreadOverRun(a.onEvidence(t).admit(a.propose(t)))))
}

const readsDecide = "whether the program goes on by the value: if it decides what is trained next, it has to be read in each step. " +
	"Results that are all needed: launch the next batch first, and work on them meanwhile, or in a thread"

// resultsDecide is the same of a program that does not train.
const resultsDecide = "whether the program goes on by the result: if it decides what is done next, it has to be read in each step"

// workDecides is the same of waits in which no value is read.
const workDecides = "whether what comes next needs the device's work done: a wait for that has to stay"

// mindReads says of changes by which values are read less often what only the program's author knows.
func mindReads(plan Plan) Plan {
	for _, fixes := range [][]Fix{plan.Fixes, plan.Doubtful} {
		for i := range fixes {
			if !fixes[i].readsLess() || fixes[i].Mind != "" {
				continue
			}
			switch {
			case fixes[i].Title == takeOut:
				fixes[i].Mind = workDecides
			case fixes[i].Lossless:
				fixes[i].Mind = resultsDecide
			default:
				fixes[i].Mind = readsDecide
			}
		}
	}
	return plan
}

// propose is every change that applies, by replay where there is something to replay.
func (a adviser) propose(t *replay.Trace) Plan {
	run, verdict := a.run, a.verdict
	if t != nil {
		return a.proposeReplayed(t)
	}
	if verdict.Device >= 0 && (!verdict.HasSteps || !verdict.Costs.Fed()) { // what a trace is about bounds the gain
		var plan Plan
		a.proposeTraced(&plan)
		return plan
	}
	if a.isSaidOf(diagnose.SignalRestarts) {
		return a.restarts()
	}
	if kind := a.costs.Other(run); verdict.HasSteps && kind != "" {
		return a.elsewhere(kind)
	}
	if verdict.Measured.Requests.Known() {
		return a.serving()
	}
	if !verdict.HasSteps || !verdict.Costs.Fed() {
		return a.blind()
	}
	if a.hostOnly() && !verdict.Class.Starves() {
		return Plan{} // neither that faster input is worth something nor that it is not
	}
	a.base = a.costs.MakeBaseline(run)
	var plan Plan
	if residual := a.base.Forecast().Residual; residual > 0 {
		plan.Law = &Explained{a.base.Took, a.base.Took / residual}
	}
	for _, propose := range []func() (Fix, string){
		a.split, a.shards, a.removeFindings, a.padding, a.oneThread, a.handOver, a.sampler, a.wholeBatches,
		a.outOfOrder, a.workers, a.cluster, a.collate, a.slow, a.feed,
		a.deferred,
		a.augment, a.onDevice, a.pinning,
		a.prefetch, a.persistence,
		a.proposeStorage, a.proposeCores, a.outside, a.hostWork,
		a.proposeDecoding, a.onGPU, a.proposeBatchSize, a.tf32, a.half, a.compile,
	} {
		fix, why := propose()
		if a.hostOnly() {
			fix.Forecast = keepBound(fix.Forecast)
		}
		worth := a.worthIt(fix.Forecast) || fix.Cause && worthIt(fix.Forecast)
		if why == "" && fix.Saves == "" && !worth {
			if why = notWorth(fix.Forecast); fix.Forecast.Speedup.Point >= leastGain {
				plan.Doubtful = append(plan.Doubtful, fix)
			}
		}
		switch {
		case fix.Name == "":
			continue // does not apply
		case why != "":
			plan.Rejected = append(plan.Rejected, Rejected{Name: fix.Name, Why: why})
		default:
			plan.Fixes = append(plan.Fixes, fix)
		}
	}
	leadWithThreads(plan.Fixes)
	orderPlan(plan.Fixes)
	a.leadWithLine(plan.Fixes)
	size, _ := a.base.Settings.Int(stoker.BatchSize)
	switch inputs := a.batchInputs(float64(size)); {
	case len(inputs) == 0:
	case verdict.Class == diagnose.LaunchBound:
		plan.Fixes = append(inputs, plan.Fixes...)
	case verdict.Class.Is(diagnose.GPUBound):
		inputs[0].Mind = "whether one input fills the device, as a trace tells: then a batch takes as much longer"
		plan.Fixes = append(plan.Fixes, inputs...)
	}
	order(plan.Doubtful)
	a.proposeTraced(&plan)
	return plan
}

// blind advises where no step was seen: what to change follows from the class,
// the gain does not, beyond the bound that an idle device sets.
func (a adviser) blind() Plan {
	switch class := a.verdict.Class; {
	case a.verdict.Most > 1:
		fix, _ := a.outside()
		return Plan{Fixes: []Fix{fix}}
	case class == diagnose.CPUBound, class == diagnose.MainThread && len(a.run.Facts.Loaders) == 0:
		if _, forks := a.verdict.Measured.LoopLines.FirstOf(diagnose.Forking); forks {
			return Plan{Fixes: a.ownLine()} // its jobs are no input of a step
		}
		plan := a.inWords()
		plan.Fixes = a.behindAnyLoop(plan.Fixes)
		return plan
	case class == diagnose.LaunchBound && len(a.run.Facts.Loaders) == 0:
		line := a.ownLine()
		if first, seconds, named := a.namedLaunches(); named && !launchesMost(line) {
			line = append([]Fix{a.fewerLaunches(first, seconds)}, line...)
		}
		return Plan{Fixes: a.behindAnyLoop(line)}
	case class == diagnose.Unknown && a.verdict.Idle >= partlyIdle && len(a.run.Facts.Loaders) == 0:
		return Plan{Fixes: a.behindAnyLoop(a.ownLine())} // the thread is on that line with any cause
	case class != diagnose.MainThread && class != diagnose.TooFewWorkers:
		return Plan{}
	}
	if edge := a.verdict.Ledger.Find(diagnose.RowEdge); edge.Line.Kind == diagnose.Iterating {
		return Plan{} // each batch starts new workers: more of them start later
	}
	cores := int(math.Max(1, math.Floor(a.costs.Cores)))
	from := any(a.costs.Workers)
	if a.costs.Uncounted {
		from = nil
	}
	most := a.atIdle()
	if a.costs.Workers > 0 { // they have all of the work, and share it out
		most = min(most, float64(max(cores, a.costs.Workers+1))/float64(a.costs.Workers))
	}
	workers := Fix{
		Name: string(stoker.NumWorkers), Title: "load in worker processes",
		Changes:  []stoker.Change{{Setting: stoker.NumWorkers, From: from, To: max(cores, a.costs.Workers+1)}},
		Forecast: a.atMost(most),
		Effort:   Flag, Risk: MemoryRisk, Mind: a.verdict.Grounds.UnknownData(),
		Notes: []string{"no step was seen, so its worth is only bounded: at most 1/utilisation, and what the cores can do" + a.whyNoSteps()},
	}
	line, _ := a.slow()
	if line.Name == "" {
		return Plan{Fixes: []Fix{workers}}
	}
	line.Forecast = a.atMost(min(a.withoutIdle(), atRemoval(a.verdict.Lines[0].Share.High)))
	if line.Forecast.Speedup.High >= muchMore*most {
		return Plan{Fixes: []Fix{line, workers}}
	}
	return Plan{Fixes: []Fix{workers, line}}
}

// hidesMuch is the gain from which work of the host is hidden behind the device's before it is made shorter: the
// first changes nothing that is computed. [J]
const hidesMuch = 1.25

// halfOfWork is the gain of a cheaper line from which it comes first all the same: most of the thread's time lies
// there, and whether it needs a result of the step is not known. [J]
const halfOfWork = 1.75

// ownLine proposes to make the line cheaper on which the launching thread of a loop without a DataLoader is
// seen most. Its gain is bounded by that of a line that takes no time.
func (a adviser) ownLine() []Fix {
	lines := a.verdict.Measured.LoopLines
	works := func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && line.Kind != diagnose.Launching && !a.awaitsWork(line) &&
			(a.reads(line) || !slices.Contains(ofWaiting, line.Kind))
	}
	title := "make this line cheaper: "
	lines.Lines = a.withoutCovered()
	line, seconds := diagnose.BusiestFunction(lines.Lines, works)
	if line, found := lines.FirstOf(diagnose.Collective); found && a.isSaidOf(diagnose.SignalRanks) {
		return []Fix{a.cheaperLine(title, line, line.Seconds)} // other lines wait for the device's own work
	}
	// a longer wait is for the device's work
	if short, found := lines.ShortWaits(); found && line.Kind == diagnose.DeviceWait {
		line, seconds = diagnose.BusiestFunction(lines.Lines, func(other diagnose.LoopLine) bool {
			return works(other) && other.Own.IsInFunctionOf(short.Own)
		})
	}
	if line.Kind == diagnose.DeviceWait { // for work of the device's, if the host has much of its own
		own, most := diagnose.BusiestFunction(lines.Lines, func(line diagnose.LoopLine) bool {
			return works(line) && line.Kind != diagnose.DeviceWait
		})
		if most >= diagnose.NamedLine*lines.Seconds {
			line, seconds = own, most
		}
	}
	if launches := a.ownLaunches(seconds); launches.Name != "" {
		return []Fix{launches}
	}
	inClass, ofClass := diagnose.BusiestClass(lines.Lines, works)
	if max(seconds, ofClass) < diagnose.NamedLine*lines.Seconds {
		if mixture := a.ownMixture(); len(mixture) > 0 {
			return mixture
		}
	}
	least := max(leastOwn*lines.Seconds, diagnose.NamedLine*a.secondsBesideDevice())
	if seconds < least || seconds < diagnose.NamedLine*lines.Seconds && ofClass >= diagnose.NamedLine*lines.Seconds {
		title = "make all that this class does cheaper, first of all this line: "
		line, seconds = inClass, ofClass
	}
	if line.Own.File == "" || lines.Looks < diagnose.FewLooks || seconds < least {
		return nil
	}
	if launches := launchesIn(line, a.awake()); slices.Contains(diagnose.OfCode, line.Kind) &&
		launches >= mixedLaunches*(seconds+launches) {
		return []Fix{a.mixture(line, seconds+launches)}
	}
	return []Fix{a.cheaperLine(title, line, seconds)}
}

// cheaperLine proposes to make a line cheaper that takes the launching thread some seconds.
func (a adviser) cheaperLine(title string, line diagnose.LoopLine, seconds float64) Fix {
	fix := Fix{
		Name: diagnose.SlowTransform, Title: title + line.String(), Effort: Code, Risk: riskOfLine(line.Kind),
		Forecast: a.atMost(a.mostWithout(seconds)),
		Notes:    []string{line.Kind.Advice()}, Kind: line.Kind, Mind: mindOfLine(line.Kind),
	}
	if slices.Contains(ofReads, line.Kind) { // what is not logged is not read of the device either
		reads := a.verdict.Measured.LoopLines.SecondsOf(diagnose.DeviceWait)
		fix.Forecast = a.atMost(a.mostWithout(seconds + reads))
	}
	p := a.run.FindProcess(a.costs.Window.PID)
	if line.Kind == diagnose.Garbage && p != nil && p.World > 1 { // each rank waits for the collections of all
		fix.Forecast = a.atMost(a.withoutIdle())
	}
	if line.Kind == diagnose.DeviceWait {
		others, more := a.otherReads(line)
		fix.Title = "wait for the device less often, and for more at once: " + line.String() + others
		fix.Forecast = a.atMost(a.mostWithout(seconds + more))
		fix.Notes, fix.Mind = []string{onePassEach + diagnose.ManyReadsAdvice}, readsDecide
		if a.generates() {
			fix.Notes = []string{endsSeldom + diagnose.ManyReadsAdvice}
		}
	}
	// it does nothing that may be cheaper
	if slices.Contains(noCheaper, line.Kind) {
		fix.Title, fix.At = line.Kind.Advice(), line.Short()
		fix.Notes = []string{line.Kind.Words() + ": " + line.String()}
	}
	if other := a.verdict.Measured.Beside; line.Kind == diagnose.Locking && other.Own.File != "" {
		fix.Title, fix.At = whileHeld, other.Short()
	}
	return fix
}

// whileHeld is what to do about a line on which another thread works while the loop waits for a lock.
const whileHeld = "another thread works there while the loop waits: less of it while a lock is held, ahead of the loop (a queue " +
	"of several), or in a process of its own if it is Python code, which holds the interpreter lock"

// ofReads are kinds of work on values that are read of the device to show or to keep them.
var ofReads = []diagnose.Kind{diagnose.Logging, diagnose.Metrics, diagnose.Plotting}

// mostWithout bounds the gain of a change that saves the launching thread some seconds: by these seconds, and by the
// device's idle time.
func (a adviser) mostWithout(seconds float64) float64 {
	return min(a.withoutIdle(), atRemoval(seconds/a.verdict.Measured.LoopLines.Seconds))
}

// otherReads names the program's other lines that read from the device for much of the thread's time, with their
// seconds; "" without one.
func (a adviser) otherReads(first diagnose.LoopLine) (said string, seconds float64) {
	lines := a.verdict.Measured.LoopLines
	for _, line := range lines.Lines {
		if line.Own.File != "" && line.Own != first.Own && a.reads(line) && line.Seconds >= leastOwn*lines.Seconds {
			said, seconds = said+", and "+line.Own.String(), seconds+line.Seconds
		}
	}
	return said, seconds
}

// generates reports whether the launching thread generates sequences for much of its time.
func (a adviser) generates() bool {
	lines := a.verdict.Measured.LoopLines
	_, found := lines.FirstOf(diagnose.Generating)
	return found || lines.Generating >= leastOwn*lines.Seconds && lines.Generating > 0
}

// endsSeldom is advice for a program that generates one token after the other, and reads values for each.
const endsSeldom = "whether all sequences have ended: read every 16 tokens, and what is too much cut off. Positions and " +
	"lengths: counted on the host. What is left: "

// everyTokens is the same of a program whose values are told by the device's own clock.
const everyTokens = "while it generates, read values from the device every 16 tokens: whether all sequences have ended, and cut " +
	"off what is too much. Count positions and lengths on the host"

// noCheaper are kinds of lines whose work is that of another thread or process.
var noCheaper = []diagnose.Kind{
	diagnose.Locking, diagnose.SaveQueue, diagnose.Pausing, diagnose.Forking, diagnose.Pickling, diagnose.Collective,
	diagnose.Garbage,
}

// leastOwn is the share of the launching thread's time from which a line is named at all. [J]
const leastOwn = 0.1

// secondsBesideDevice is how long the launching thread does not wait for work that the device is doing.
func (a adviser) secondsBesideDevice() float64 {
	whole := a.verdict.Measured.LoopLines.Seconds
	for _, line := range a.verdict.Measured.LoopLines.Lines {
		switch {
		case line.Kind == diagnose.Copying: // awake, it copies
			whole -= a.coveredCopies() * line.Asleep
		case a.awaitsWork(line):
			whole -= line.Seconds
		}
	}
	return whole
}

// coveredCopies is the part of the sleep in copies that the device's own work takes at most: a copy from pageable
// memory waits for all kernels that were queued before it.
func (a adviser) coveredCopies() float64 {
	lines, asleep := a.verdict.Measured.LoopLines, 0.0
	for _, line := range lines.Lines {
		if line.Kind == diagnose.Copying {
			asleep += line.Asleep
		}
	}
	if a.verdict.Idle < mostlyIdle || !(asleep > 0) {
		return 1
	}
	return min(1, stat.Or(1-a.verdict.Idle, 0)*lines.Seconds/asleep)
}

// withoutCovered are the launching thread's lines, those of copies without the sleep that the device's work covers.
func (a adviser) withoutCovered() []diagnose.LoopLine {
	lines, covered := slices.Clone(a.verdict.Measured.LoopLines.Lines), a.coveredCopies()
	for i := range lines {
		if line := &lines[i]; line.Kind == diagnose.Copying {
			line.Seconds, line.Asleep = line.Seconds-covered*line.Asleep, (1-covered)*line.Asleep
		}
	}
	return lines
}

// awaitsWork reports whether a line mostly waits for work that the device is doing.
func (a adviser) awaitsWork(line diagnose.LoopLine) bool {
	return line.Kind == diagnose.DeviceWait && !a.reads(line) ||
		line.Kind == diagnose.Copying && a.verdict.Idle < mostlyIdle
}

// onePassEach is advice for a program without a DataLoader that reads one result for each pass of its model.
const onePassEach = "if each pass of the model has one input (a game, a user, a beam): several in one pass, and one read " +
	"for all. If values of a tensor are read one by one: "

// awake are the lines of the launching thread without the seconds in which it sleeps for the device.
func (a adviser) awake() []diagnose.LoopLine {
	awake := slices.Clone(a.verdict.Measured.LoopLines.Lines)
	for i := range awake {
		switch line := &awake[i]; {
		case line.Kind == diagnose.DeviceWait && launchesWork(line.Call):
			line.Kind, line.Seconds = diagnose.Launching, line.Seconds-line.Asleep
		case line.Kind == diagnose.Copying: // asleep, it awaits the device's work
			line.Seconds -= line.Asleep
		}
	}
	return awake
}

// busiestOf is the first line of the program's function that does most of a kind in the launching thread.
func (a adviser) busiestOf(kind diagnose.Kind) diagnose.LoopLine {
	line, _ := diagnose.BusiestFunction(a.verdict.Measured.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		return line.Kind == kind && line.Own.File != ""
	})
	return line
}

// launchesIn is how long the function of a line launches.
func launchesIn(line diagnose.LoopLine, awake []diagnose.LoopLine) float64 {
	_, launches := diagnose.BusiestFunction(awake, func(other diagnose.LoopLine) bool {
		return other.Kind == diagnose.Launching && other.Own.IsInFunctionOf(line.Own)
	})
	return launches
}

// mixture proposes fewer launches in the function of a line, whose own code goes with them.
func (a adviser) mixture(line diagnose.LoopLine, seconds float64) Fix {
	return Fix{
		Name: string(diagnose.LaunchBound), Title: "launch fewer, larger kernels: " + line.String(),
		Effort: Code, Risk: NoRisk,
		Forecast: a.atMost(a.mostWithout(seconds)),
		Notes:    []string{a.verdict.Grounds.FewerLaunches()},
	}
}

// ownMixture proposes fewer launches in the function in which the launching thread works most, launches and all, where
// neither its own code nor its launches alone are much.
func (a adviser) ownMixture() []Fix {
	lines, awake := a.verdict.Measured.LoopLines, a.awake()
	line, seconds := diagnose.BusiestFunction(awake, func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && !slices.Contains(ofWaiting, line.Kind)
	})
	if lines.Looks < diagnose.FewLooks || seconds < diagnose.NamedLine*lines.Seconds {
		return nil
	}
	if launchesIn(line, awake) >= mixedLaunches*seconds {
		return []Fix{a.mixture(line, seconds)}
	}
	return []Fix{{
		Name: diagnose.SlowTransform, Title: "make this line cheaper: " + line.String(), Effort: Code,
		Forecast: a.atMost(a.mostWithout(seconds)), Risk: riskOfLine(line.Kind),
		Notes: []string{line.Kind.Advice()}, Mind: mindOfLine(line.Kind),
	}}
}

// mixedLaunches is the share of a function's time awake from which fewer launches are advised, whose own code goes with
// them. [J]
const mixedLaunches = 0.3

// launchesWork reports whether a call gives the device work, in which the thread sleeps only if the queue is full.
func launchesWork(call recording.Place) bool { return strings.HasSuffix(call.Function, "launch") }

// reads reports whether a line waits for a device that is mostly idle: it reads values one by one then, and each
// read takes a kernel and a copy that nothing hides.
func (a adviser) reads(line diagnose.LoopLine) bool {
	held := a.isSaidOf(diagnose.SignalHeld)
	return line.Kind == diagnose.DeviceWait && (held || a.verdict.Idle >= mostlyIdle) && !launchesWork(line.Call)
}

// isSaidOf reports whether the verdict rests on a signal.
func (a adviser) isSaidOf(signal string) bool {
	return len(a.verdict.Evidence) > 0 && a.verdict.Evidence[0].Signal == signal
}

// mostlyIdle is the idle share of a device from which a thread that awaits it awaits short answers, and many. [J]
const mostlyIdle = 0.5

// partlyIdle is the idle share of a device from which the line of the program is named on which the launching thread
// is most, though no cause is known. [J]
const partlyIdle = 0.15

// ownLaunches proposes fewer launches if calls of the model take most of the launching thread's work, and no other
// function as much as they. The zero Fix if not.
func (a adviser) ownLaunches(other float64) Fix {
	lines, works := a.verdict.Measured.LoopLines, 0.0
	for _, line := range lines.Lines {
		if line.Own.File != "" && !slices.Contains(ofWaiting, line.Kind) {
			works += line.Seconds
		}
	}
	first, launches, named := a.namedLaunches()
	if !named || launches < max(other, mostlyLaunches*works) {
		return Fix{}
	}
	return a.fewerLaunches(first, launches)
}

// fewerLaunches proposes fewer launches in the function of a line, which have taken that many seconds.
func (a adviser) fewerLaunches(first diagnose.LoopLine, launches float64) Fix {
	fix := Fix{
		Name: string(diagnose.LaunchBound), Title: "launch fewer, larger kernels, mostly from " + first.String(),
		Effort: Code, Risk: NoRisk, Forecast: a.atMost(a.mostWithout(launches)),
		Notes: []string{a.verdict.Grounds.FewerLaunches()},
	}
	if a.verdict.Grounds.Program == diagnose.Inference {
		fix.Title = "send several inputs through the model at once, or launch fewer kernels, mostly from " + first.String()
	}
	return fix
}

// namedLaunches is the line that launches most, and the seconds of all launches; false if they are too few to be named.
func (a adviser) namedLaunches() (line diagnose.LoopLine, seconds float64, named bool) {
	lines := a.verdict.Measured.LoopLines
	line, seconds = lines.Launches()
	named = line.Own.File != "" && lines.Looks >= diagnose.FewLooks && seconds >= diagnose.NamedLine*lines.Seconds
	return line, seconds, named
}

// besideOwnLine is a plan of a change that hides the host's work, and of the line that could be made cheaper. The
// change comes first if it hides much, and more than the line may be worth. A line whose work can be removed has a
// place and a remedy, and comes first if it is worth nearly as much.
func (a adviser) besideOwnLine(fix Fix) Plan {
	line, worth := a.ownLine(), 0.0
	if len(line) == 0 {
		line = a.ownCopies()
	}
	if len(line) > 0 {
		worth = line[0].Forecast.Speedup.High
	}
	switch hides := fix.Forecast.Speedup.High; {
	case !worthIt(fix.Forecast):
		return Plan{Fixes: line, Rejected: []Rejected{{Name: fix.Name, Why: notWorth(fix.Forecast)}}}
	case launchesMost(line) || len(line) > 0 && slices.Contains(afterInput, line[0].Kind):
		return Plan{Fixes: line}
	case len(line) > 0 && slices.Contains(removed, line[0].Kind) && math.Log(worth) >= nearly*math.Log(hides):
	case hides >= hidesMuch && hides > worth && worth < halfOfWork:
		return Plan{Fixes: append([]Fix{fix}, line...)}
	}
	if len(line) > 0 && fix.Risk == MemoryRisk && !slices.Contains(preparing, line[0].Kind) {
		return Plan{Fixes: line} // its own advice says what may go ahead of the step
	}
	return Plan{Fixes: append(line, fix)}
}

// preparing are kinds of lines that prepare a step's input in any program.
var preparing = slices.Concat(removed, []diagnose.Kind{
	diagnose.Augmenting, diagnose.Spectra, diagnose.Filtering, diagnose.Targets, diagnose.Negatives,
	diagnose.Graphs, diagnose.Windowing, diagnose.Replaying, diagnose.Converting,
})

// inModel matches functions of a model, its loss or a metric, by how programs call them. [J]
var inModel = regexp.MustCompile(`(?i)(?:^|[._])(?:forward|backward|\w*loss|generate|update_state|metrics?)$`)

// ownCopies proposes to make copies cheaper if the launching thread is in those of one function for much of the time,
// awake or asleep: the device's work is waited for there, and what the host does with the result comes after it.
func (a adviser) ownCopies() []Fix {
	lines := a.verdict.Measured.LoopLines
	line, seconds := diagnose.BusiestFunction(lines.Lines, func(line diagnose.LoopLine) bool {
		return line.Kind == diagnose.Copying && line.Own.File != ""
	})
	if lines.Looks < diagnose.FewLooks || !(seconds >= diagnose.NamedLine*lines.Seconds) {
		return nil
	}
	return []Fix{a.cheaperLine("copy less, and less often: ", line, seconds)}
}

// nearly is the part of another gain's logarithm from which a gain is comparable with it. [J] A bound of hiding work
// counts all idle time, whoever causes it, and holds only for work that needs nothing of the step.
const nearly = 0.5

// removed are kinds of lines whose advice takes most of their work away.
var removed = []diagnose.Kind{
	diagnose.LoopReads, diagnose.Preparing, diagnose.Drawing, diagnose.Tables, diagnose.DeepCopies, diagnose.OfLists,
	diagnose.Unpacking, diagnose.Growing, diagnose.Masks, diagnose.Configuring,
}

// afterInput are kinds of lines whose work follows that on the input, or waits for it: no input that is prepared ahead
// hides it.
var afterInput = []diagnose.Kind{
	diagnose.DeviceWait, diagnose.Saving, diagnose.SaveQueue, diagnose.Metrics, diagnose.Logging, diagnose.Plotting,
	diagnose.Collective, diagnose.Evaluating, diagnose.Uploading, diagnose.Rewarding, diagnose.Locking,
	diagnose.Retrying, diagnose.Garbage,
}

// launchesMost reports whether the line is one of launches, which no input prepared ahead makes fewer.
func launchesMost(line []Fix) bool {
	return len(line) > 0 && line[0].Name == string(diagnose.LaunchBound)
}

// batchInputs proposes larger batches to a program that infers with one input in each pass.
func (a adviser) batchInputs(samples float64) []Fix {
	if a.verdict.Grounds.Program != diagnose.Inference || samples != 1 {
		return nil
	}
	return []Fix{{
		Name: "whole-batches", Effort: Code, Risk: NumericsRisk, Forecast: predict.NoForecast(),
		Title: "send a batch of inputs through the model, not one (torch.stack, in torch.no_grad(), or the batch_size of a DataLoader or " +
			"of transformers' pipeline())",
		Notes: []string{
			"each pass has one input, which fills no device: a pass of many takes little longer. A DataLoader " +
				"over the inputs makes the batches, and its workers prepare the next ones meanwhile. Inputs of other " +
				"shapes: padded, or sorted by shape",
		},
	}}
}

// inWords advises where nothing tells of a DataLoader, so that there is no setting to
// name: the advice in words, and an upper bound of its gain.
func (a adviser) inWords() Plan {
	_, trace := diagnose.TakeTrace(a.verdict.Grounds.Framework)
	fix := Fix{
		Name: "input-ahead", Effort: Code,
		Title:    "prepare the next step's input while the device works, as far as it needs no result of this one",
		Risk:     MemoryRisk,
		Forecast: a.atMost(min(a.atIdle(), atOverlap(a.verdict.Idle), a.mostAhead())),
		Notes: []string{
			"no DataLoader was seen: whether the time goes into input (a generator, get_batch, a simulator, " +
				"tokenising) or into launching many small kernels is unknown. \"for batch in stoker.watch(batches)\" " +
				"around the input tells, or a trace (" + trace + ")",
			"reading, NumPy and most decoders release Python's interpreter lock: for them a thread and a queue of a " +
				"few batches are enough. Python code of your own needs worker processes: put it into a data set " +
				"behind a loader with worker processes (PyTorch's DataLoader, Grain)",
			"what is the same in every epoch, such as tokens or decoded images, can be prepared once beforehand and stored",
		},
	}
	if lines := a.verdict.Measured.LoopLines; lines.Acting > 0 && lines.Looks >= diagnose.FewLooks &&
		lines.Acting >= leastOwn*lines.Seconds {
		fix.Title = "let the policy choose for several environments in one pass, if it chooses for one: what follows an action " +
			"cannot be prepared before it"
		fix.Risk, fix.Notes = LearningRisk, nil
		if slices.ContainsFunc(lines.Lines, ofSeveral) {
			fix.Title = "step one half of the environments while the device chooses what the other half does: what follows an action " +
				"cannot be prepared before it"
			fix.Risk, fix.Mind = NoRisk, "whether the policy learns between two steps: then half of the actions come from an earlier one"
		}
	}
	if !worthIt(fix.Forecast) && a.mostAhead() >= leastGain { // the host's work is too long to hide: several do it
		fix.Title = "prepare the input of several steps at a time, in worker processes"
		fix.Forecast = a.atMost(min(a.atIdle(), a.mostAhead()))
	}
	plan := a.besideOwnLine(fix)
	plan.Fixes = append(a.batchInputs(a.costs.Window.Samples()), plan.Fixes...)
	return plan
}

// mostAhead is the bound of work on the input that is done ahead: no more than the launching thread is seen at work
// that may be on the input. +Inf if it was hardly looked at.
func (a adviser) mostAhead() float64 {
	lines, ahead := a.verdict.Measured.LoopLines, 0.0
	if lines.Looks < diagnose.FewLooks {
		return math.Inf(1)
	}
	for _, line := range lines.Lines {
		switch {
		case line.Kind == diagnose.Copying: // asleep, it awaits the device's work
			ahead += line.Seconds - line.Asleep
		case !slices.Contains(notAhead, line.Kind) && !inModel.MatchString(line.Own.Function):
			ahead += line.Seconds
		}
	}
	return atRemoval(ahead / lines.Seconds)
}

// notAhead are kinds of lines on which no input is prepared.
var notAhead = slices.Concat(afterInput, ofWaiting, []diagnose.Kind{diagnose.Launching, diagnose.Acting})

// severalEnvironments matches functions that step a set of environments, by how programs and libraries call them. [J]
var severalEnvironments = regexp.MustCompile(`(?i)vec(?:tor(?:ized?)?)?_?env|(?:^|[._])envs(?:$|[._])|env_?pool`)

// ofSeveral reports whether a line steps a set of environments.
func ofSeveral(line diagnose.LoopLine) bool {
	return strings.HasPrefix(line.Call.File, "gymnasium/vector/") ||
		severalEnvironments.MatchString(line.Own.Function+" "+line.Call.File+" "+line.Call.Function)
}

// others are the settings by which other loaders do more at a time, in their own words.
var others = map[string]string{
	"ray": "Ray Data: more CPUs for its cluster, concurrency= of map_batches, prefetch_batches= of " +
		"iter_torch_batches",
	"dali": "DALI: num_threads and prefetch_queue_depth of the pipeline, decoding on the device (device=\"mixed\")",
	"spdl": "SPDL: concurrency= of the slowest pipe, num_threads= of build, the size of add_sink",
	"tf.data": "tf.data: num_parallel_calls=tf.data.AUTOTUNE of map and interleave, prefetch(tf.data.AUTOTUNE) at " +
		"the end, cache()",
	"grain": "Grain: worker_count and worker_buffer_size of the DataLoader, num_threads and prefetch_buffer_size of " +
		"ReadOptions",
}

// elsewhere advises where the batches come from something else than a DataLoader: what to
// do in words, and what no wait for input would be worth.
func (a adviser) elsewhere(kind string) Plan {
	fix := Fix{
		Name: "input-ahead", Title: "prepare more batches at a time, ahead of the step that needs them", Effort: Code,
		Risk:     MemoryRisk,
		Forecast: a.atMost(atRemoval(a.verdict.Stall)),
		Notes:    []string{"no DataLoader prepares these batches: how many it could prepare at a time is unknown"},
	}
	if settings, known := others[kind]; known {
		fix.Notes = append(fix.Notes, settings)
	}
	return a.besideOwnLine(fix)
}

// whyNoSteps is what the recording says of that, with what would show them.
func (a adviser) whyNoSteps() string {
	for _, what := range []string{"hook", "steps"} {
		for _, absent := range a.run.Facts.Absent {
			if absent.What == what {
				return " (" + absent.Why + ")"
			}
		}
	}
	return ""
}
