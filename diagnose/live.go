package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// live fills a Case from the signals of a job: the hook, the device's meters, the
// kernel's counters.
type live struct {
	*Case
	run      *recording.Run
	trainers []predict.Costs // of all ranks, the judged one among them
}

// liveCase takes what the signals tell.
func liveCase(run *recording.Run) *Case {
	l := live{Case: emptyCase(), run: run, trainers: predict.Trainers(run)}
	l.window()
	l.device()
	l.program()
	l.input()
	l.files()
	l.surroundings()
	l.Busy = l.busy()
	l.Where = l.launching().String()
	l.copies()
	l.parts()
	l.Ranks, l.Warnings = l.ranks(), l.warnings()
	l.Found, l.Pattern = append(append(l.Found, l.apart()...), l.standing()...), l.pattern()
	return l.Case
}

// emptyCase knows nothing.
func emptyCase() *Case {
	nan := math.NaN()
	return &Case{
		Stall: nan, Idle: nan, Util: nan, Recorded: nan, Works: nan, Parts: unknownParts(), Device: -1, LateBy: nan,
		Clock: nan, Others: nan,
		Kernels:  kernelShares{Plain: nan, Tensor: nan, Moving: nan, Major: nan},
		evidence: map[Class][]Evidence{},
	}
}

func (l live) window() {
	var steps bool
	l.Costs, steps = predict.Starved(l.trainers)
	l.HasSteps, l.Paced = steps && l.Costs.Fed(), steps && !l.Costs.Fed()
	if steps {
		l.From, l.To = l.Costs.Window.Start, l.Costs.Window.End
		l.Util = l.Costs.Busy
		return
	}
	l.To = l.run.End()
	newest, _ := l.run.Newest()
	l.From = max(newest, l.To/2) // without steps the start cannot be told from the rest
	l.Costs = predict.Measure(l.run, recording.Window{PID: trainer(l.run), Start: l.From, End: l.To})
	l.Util = meanUtil(l.run, l.From, l.To)
}

// trainer is the first trainer's process, 0 where there is none.
func trainer(run *recording.Run) int {
	for _, p := range run.Facts.Processes {
		if p.Role == recording.RoleTrainer {
			return p.PID
		}
	}
	return 0
}

// meanUtil is the utilisation of the device that was used most.
func meanUtil(run *recording.Run, from, to float64) float64 {
	most := math.NaN()
	for _, s := range run.All(recording.GPUUtilisation) {
		if v := s.Mean(from, to); !math.IsNaN(v) && !(v <= most) {
			most = v
		}
	}
	return most
}

// device settles stall, idle and shares in the order of trust of design.md.
func (l live) device() {
	l.Shares = Shares{Kernel: l.Util, Copy: math.NaN(), Communication: math.NaN(), Idle: math.NaN()}
	if !math.IsNaN(l.Util) {
		l.Idle = 1 - l.Util
		l.estimateCopies()
	}
	if l.HasSteps && !math.IsNaN(l.Costs.Idle) {
		l.Stall, l.StallSource = l.Costs.Idle/l.Costs.Step, DeviceEvents
	}
	if math.IsNaN(l.Stall) || math.IsNaN(l.Idle) {
		return
	}
	// Utilisation is sampled: where it claims less idle than the device's own clock
	// measured at the input boundary alone, the clock is right.
	l.Idle = math.Max(l.Idle, l.Stall)
	if !math.IsNaN(l.Shares.Idle) {
		l.Shares.Idle = l.Idle
		l.Shares.Copy = min(l.Shares.Copy, 1-l.Idle)
		l.Shares.Kernel = 1 - l.Idle - l.Shares.Copy
	}
}

// estimateCopies takes the estimated time of the copies off the idle time: GPU-Util
// counts kernels only. With several ranks, communication stays unknown.
func (l live) estimateCopies() {
	p := l.run.Process(l.Costs.Window.PID)
	if !l.HasSteps || p == nil || p.World > 1 {
		return
	}
	copied := l.Costs.Baseline(l.run).Copy
	if !copied.Known() {
		return
	}
	l.Shares.Copy, l.Shares.Communication = min(copied.Point/l.Costs.Step, 1-l.Util), 0
	l.Shares.Idle = 1 - l.Util - l.Shares.Copy
	l.Idle = l.Shares.Idle
}

// program takes what is known of the program and the machine.
func (l live) program() {
	facts := &l.run.Facts
	l.Training = l.ring() || l.Paced
	l.Few = !l.HasSteps && !l.Paced && len(l.run.Steps) > 0
	l.GPUs = len(facts.GPUs)
	l.Hooked = slices.ContainsFunc(facts.Processes, func(p recording.Process) bool { return p.Hooked })
	l.Torch = facts.Software.Torch != "" || l.Hooked
	l.Blind = l.absent("hook")
	l.Holds = slices.ContainsFunc(facts.Processes, func(p recording.Process) bool { return p.Device >= 0 })
	l.NoPython = len(facts.Processes) == 0 && len(l.run.All(recording.TreeCPU)) > 0
	if m := facts.Model; m != nil {
		l.Model = &modelFacts{Device: m.Device, DType: m.DType}
	}
	for _, g := range facts.GPUs {
		used := l.run.Find(recording.GPUMemory, fmt.Sprintf("gpu/%d", g.Index)).Mean(l.From, l.To)
		l.Memory = append(l.Memory, used/stat.Value(g.MemoryBytes))
	}
	l.Seen = seen(nil, 0, "steps", "step", "%s", l.whatWasSeen())
}

func (l live) absent(what string) bool {
	return slices.ContainsFunc(l.run.Facts.Absent, func(a recording.Absence) bool { return a.What == what })
}

func (l live) whatWasSeen() string {
	switch {
	case l.NoPython:
		return fmt.Sprintf("no Python program was among the processes that were watched for %.1f s, and no work on a GPU was seen: they used %s cores", l.To, stoker.About(l.Costs.CoresUse))
	case l.absent("hook") || l.absent("steps"):
		return fmt.Sprintf("the inside of the program was not seen, and no work on a GPU in the %.1f s that were recorded", l.To)
	case len(l.run.Steps) == 0 && len(l.run.Facts.Loaders) == 0:
		return fmt.Sprintf("no DataLoader was iterated and no work on a GPU was seen in the %.1f s that were recorded", l.To)
	case !l.HasSteps:
		return "a DataLoader was used for too few steps to judge"
	default:
		return "a DataLoader is iterated, but no optimizer steps and no GPU is used"
	}
}

// input takes what rules about input ask.
func (l live) input() {
	k := l.Costs
	l.Starved = l.starved()
	l.Alone = l.alone()
	l.Workers = fact("Are there worker processes?", k.Workers > 0, workersText(k)).
		saw(k.Cores-k.CoresUse, "cores", "tree.cpu", "%.1f of %.1f cores are free", max(0, k.Cores-k.CoresUse), l.cores())
	l.Workers.Seen = slices.Concat(l.Workers.Seen, l.besideEvidence())
	l.Saturated = share("Do the workers always have a batch to prepare?", l.saturated(), 0.70, 0.88, "")
	l.Saturated.Seen = l.workersEvidence()
	l.Storage = l.storage()
	l.Cores = l.coresFull()
	l.holders()
	l.Delayed = l.delayed()
	l.Beside = l.besideEvidence()
	l.Lines = l.slowest()
	l.Fetching = slices.Concat(l.fetching(), l.slowEvidence())
	switch l.Loaded = len(l.run.Facts.Loaders) > 0; {
	case l.HasSteps && l.Costs.Other(l.run) != "":
		l.other()
	case l.HasSteps:
	case l.Loaded || l.Blind:
		l.Launcher = l.launcher()
	default:
		l.unfed()
	}
}

// starved is the question that every rule about input begins with.
func (l live) starved() quantity {
	switch {
	case !math.IsNaN(l.Stall):
		return share("Does the device wait for input, by its own clock?", l.Stall, 0.03, 0.07, "").
			saw(l.Stall, "ratio", "step.idle", "the device waits for input %s of the time (%s of a %s step, by the device's own clock)",
				stoker.Percent(l.Stall), stoker.AboutSeconds(l.Costs.Idle), stoker.AboutSeconds(l.Costs.Step))
	case l.ring():
		return share("Does the trainer wait for batches (an upper bound of waiting for input)?", l.waits(), 0.10, 0.25,
			"work that is queued on the device may cover a wait of the host").
			saw(l.waits(), "ratio", "step.wait", "the trainer waits for batches %s of the time; its device may have had work meanwhile (stoker observe tells)", stoker.Percent(l.waits())).
			saw(l.Costs.Feed.Full, "ratio", "feed.full", "the loader's ring is full %s of the time", stoker.Percent(l.Costs.Feed.Full))
	}
	return share("Is the device idle (GPU-Util; an upper bound of waiting for input)?", l.mostStall(), 0.10, 0.25,
		"the device's own clock is not known here").
		saw(l.Idle, "ratio", "gpu.utilisation", "no kernel runs %s of the time (GPU-Util; waiting for input is at most that)", stoker.Percent(l.Idle))
}

// alone is whether the launching thread loads by itself.
func (l live) alone() quantity {
	k := l.Costs
	free := k.Cores - k.CoresUse + stat.Or(k.HelperCPU/k.HostStep, 0)
	q := fact("Does the launching thread load by itself?", k.Workers == 0, workersText(k)).
		saw(free, "cores", "tree.cpu", "%.1f of %.1f cores are free for workers", max(0, free), l.cores())
	q.Seen = slices.Concat(q.Seen, l.besideEvidence())
	return q
}

// launcher is whether the launching thread is at work all the time; a thread that
// spins for the device looks the same.
func (l live) launcher() quantity {
	states := l.run.Find(recording.ThreadState, predict.LaunchThread(l.run, l.Costs.Window.PID))
	busy := 1 - states.Share(l.From, l.To, recording.Parked, recording.Asleep)
	return share("Is the launching thread always at work?", busy, 0.6, 0.85, "a thread that spins for the device looks the same").
		saw(busy, "ratio", "thread.state", "no loader process exists and the launching thread is at work %s of the time", stoker.Percent(busy)).
		saw(l.Idle, "ratio", "gpu.utilisation", "no kernel runs %s of the time", stoker.Percent(l.Idle))
}

// storage is the share of fetching time in which the fetching threads waited
// for storage or a network file system.
func (l live) storage() quantity {
	k := l.Costs
	waits := l.onStorage()
	q := shareOr(unlikely, "Is loading waiting for storage?", waits, 0.3, 0.6, "")
	if k.Feed != nil {
		q = q.saw(waits, "ratio", "feed.read", "the loader's threads read files %s of their time", stoker.Percent(waits))
	} else {
		q = q.saw(waits, "ratio", "thread.state", "loading waits for storage %s of its time", stoker.Percent(waits))
	}
	q = q.saw(k.DiskRate, "bytes/s", "process.disk", "%s", k.FromStorage())
	return q
}

func (l live) onStorage() float64 {
	k := l.Costs
	if k.Split != nil {
		return k.Split.Storage + k.Split.Network
	}
	fetching := k.WorkersBusy
	if k.Workers == 0 && l.HasSteps {
		fetching = k.Fetch / k.HostStep
	}
	if !(fetching > 0.02) {
		return math.NaN()
	}
	return min(1, (k.OnDisk+k.Remote)/fetching)
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

// coresFull is whether loading wants a core and none is left: all are in use, workers
// queue for them, or the quota holds the job back. Where a fetch mostly sleeps or reads,
// cores do not bind it, however full they are. Not counted are threads that only help
// the launching thread within an operation, of which workers start none, and what that
// thread spins for the device, which it does less of where others want its core.
func (l live) coresFull() quantity {
	k := l.Costs
	used, cores := k.CoresUse, k.Cores
	if k.HelperCPU > 0 {
		used -= k.HelperCPU / k.HostStep
	}
	if all := l.run.Facts.Machine.Cores(); k.Workers == 0 && all > 0 {
		cores = all // neighbours come and go; that nothing loads beside the launching thread stays
	}
	spin := 0.0
	if !(k.Others >= manyOthers) { // who would take the core, as those that make it queue do
		spin = max(0, stat.Or(k.Spin()/k.HostStep, 0)-stat.Or(l.launchQueue(), 0))
	}
	score := max(stat.Ramp(cores-used+spin, 0.6, 0.25), l.queued(), stat.Ramp(k.Throttled, 0.03, 0.07))
	answer := fmt.Sprintf("%s of %s cores in use", stoker.AboutCores(used), stoker.AboutCores(cores))
	if k.CoresUse-used > 0.2 {
		answer += fmt.Sprintf(" (and %.1f by intra-op threads)", k.CoresUse-used)
	}
	if spin > 0.2 {
		answer += fmt.Sprintf(", %.1f of them at most by spinning for the device", spin)
	}
	if math.IsNaN(k.CoresUse) {
		score, answer = unlikely, "unknown"
	}
	if s := k.Split; s != nil {
		score *= stat.Ramp(s.Wants(), 0.35, 0.65)
		answer += fmt.Sprintf("; a fetch wants one %s of its time", stoker.Percent(s.Wants()))
		if s.Queued > 0.05 {
			answer += fmt.Sprintf(", and waits for it %s", stoker.Percent(s.Queued))
		}
	}
	return quantity{
		Question: Question{Text: "Does loading want a core, and are the cores that the job may use full?", Answer: yesNo(score) + ", " + answer, Score: score},
		Seen:     l.coresEvidence(),
	}
}

// queued is how much of a yes it is that workers wait for a core.
func (l live) queued() float64 {
	if l.Costs.Workers == 0 {
		return 0
	}
	return stat.Ramp(l.Costs.FetchQueue/l.Costs.Fetch, 0.1, 0.25)
}

// coreLeft is how much of a core nobody uses where others do not keep the job from one. [J]
const coreLeft = 0.5

// manyOthers is how many cores other programs use from which they count. [J]
const manyOthers = 0.3

// holders says who has the cores that the job lacks, if anybody else: its quota, or
// other programs.
func (l live) holders() {
	k := l.Costs
	held := k.Throttled >= 0.05 // [J] half of what counts as throttled at all, see coresFull
	if m := l.run.Facts.Machine; math.IsNaN(k.Throttled) {
		held = m.Quota > 0 && m.Quota < m.Processors() && k.CoresUse >= 0.9*m.Quota
	}
	l.Throttled = fact("Does a CPU quota hold the job back?", held, "how often it does is not counted")
	if !math.IsNaN(k.Throttled) {
		l.Throttled = fact(l.Throttled.Text, held, "for "+stoker.Percent(min(1, k.Throttled))+" of the time")
	}
	share := l.othersShare()
	answer := "they use " + stoker.AboutCores(k.Others)
	if share > 0 {
		answer += fmt.Sprintf(", and that is %s of what is short", stoker.Percent(share))
	}
	l.Neighbours = fact("Is it other programs that have the cores?", share >= 0.5, answer)
}

// delayed is whether the device waits for launches that wait for a core: no longer than
// the launching thread does, nor than the device idles though input is there.
func (l live) delayed() quantity {
	waits := l.launchQueue()
	q := shareOr(unlikely, "Does launching wait for a core, and the device for that?", math.Min(waits, l.Idle-l.Stall), 0.05, 0.12, "")
	if q.Score < 0.5 {
		return q
	}
	return q.saw(waits, "ratio", string(recording.ThreadQueue), "the launching thread waits for a core %s of the time, and no kernel runs %s of the time though input is there",
		stoker.Percent(waits), stoker.Percent(l.Idle-l.Stall))
}

// launchQueue is the share of the time in which the launching thread waits for a core.
func (l live) launchQueue() float64 {
	return l.run.Find(recording.ThreadQueue, predict.LaunchThread(l.run, l.Costs.Window.PID)).Rate(l.From, l.To)
}

// othersShare is which part of the cores that are short would not be, if other programs
// used none. Short is what the job uses and queues for, and what they use, beyond what
// there is.
func (l live) othersShare() float64 {
	k, all := l.Costs, l.run.Facts.Machine.Processors()
	if !(k.Others >= manyOthers) || !(all > 0) {
		return 0
	}
	if k.CoresUse+k.Others < all-coreLeft {
		return 0
	}
	own := k.CoresUse + stat.Or(k.FetchQueue/k.HostStep, 0)
	alone := max(0, own-all)
	if short := own + k.Others - all; short > alone {
		return 1 - alone/short
	}
	return 1
}

// cores is how many cores the job may use; NaN unknown.
func (l live) cores() float64 {
	if all := l.run.Facts.Machine.Cores(); all > 0 {
		return all
	}
	return l.Costs.Cores
}

func quotaText(m recording.Machine) string {
	if !(m.Quota > 0) {
		return ""
	}
	return fmt.Sprintf(" of %s cores", stoker.AboutCores(m.Quota))
}

func (l live) coresEvidence() []Evidence {
	k := l.Costs
	return slices.Concat(seen(nil, k.CoresUse, "cores", "tree.cpu", "the job uses %s of the %s cores it can get", stoker.AboutCores(k.CoresUse), stoker.AboutCores(k.Cores)), l.besideEvidence())
}

// besideEvidence says what keeps cores from the job: other programs, and its quota.
func (l live) besideEvidence() []Evidence {
	k := l.Costs
	var list []Evidence
	if k.Others >= manyOthers {
		list = seen(list, k.Others, "cores", "machine.cpu", "other programs use %s cores of the %s that this job may run on", stoker.AboutCores(k.Others), stoker.About(l.run.Facts.Machine.Processors()))
	}
	if k.Throttled > 0.03 {
		list = seen(list, k.Throttled, "ratio", "cgroup.throttled", "the cgroup's CPU quota%s holds the job back %s of the time", quotaText(l.run.Facts.Machine), stoker.Percent(min(1, k.Throttled)))
	}
	return list
}

// busy is whether the device computes all the time.
func (l live) busy() quantity {
	unknown := 0.5
	if l.ring() { // the loader's own side does not tell the device from other work of the trainer
		unknown = unlikely
	}
	q := shareOr(unknown, "Does some kernel run nearly all the time?", l.Util, 0.82, 0.93, "").
		saw(l.Util, "ratio", "gpu.utilisation", "some kernel runs %s of the time", stoker.Percent(l.Util)).
		saw(l.Stall, "ratio", "step.idle", "the device waits for input %s of the time, by its own clock", stoker.Percent(l.Stall))
	q.Score *= 1 - l.Exchange.Score // a kernel that waits for other ranks counts as running
	if wait := l.Costs.Wait / l.Costs.HostStep; wait > 0.2 && l.Stall < 0.05 {
		q = q.saw(wait, "ratio", "step.wait",
			"the host waits %s of its time in next(), but work queued on the device covers it: host wait is not starvation", stoker.Percent(wait))
	}
	return q
}

// copies estimates what copies take of a step, from the batch's size and the link.
func (l live) copies() {
	if in, ok := inside(l.Costs.Window); ok {
		l.Copied = l.measuredCopies(in)
		return
	}
	b := l.Costs.Baseline(l.run)
	if !l.HasSteps || !b.Copy.Known() || !(l.Costs.Step > 0) {
		l.Copied = fact("Is the size of the copies known?", false, "unknown: no batch was seen on its way to a device")
		return
	}
	part := b.Copy.Point / l.Costs.Step
	l.Before = l.Starved
	l.Copied = share("Does the copy take a good part of the step?", part, 0.07, 0.15, "").
		saw(part, "ratio", "loader.batch_bytes", "copying a batch of %s takes about %s of a %s step (%s to %s)",
			stoker.AboutBytes(b.BatchBytes()), stoker.AboutSeconds(b.Copy.Point), stoker.AboutSeconds(l.Costs.Step), stoker.AboutSeconds(b.Copy.Low), stoker.AboutSeconds(b.Copy.High)).
		saw(1-l.Util, "ratio", "gpu.utilisation", "no kernel runs %s of the time, of which it waits for input %s", stoker.Percent(1-l.Util), stoker.Percent(l.Stall))
	loader := l.run.Loader(l.Costs.Window.PID, l.Costs.Window.Loader)
	if loader == nil || loader.Pinned == nil || !*loader.Pinned {
		l.Copied = l.Copied.saw(b.BatchBytes(), "bytes", "loader.pinned", "batches arrive in pageable memory: the copy is staged by the CPU and blocks the launching thread")
	}
	l.Uncovered = share("Is there time in which no kernel runs, though input is there?", 1-l.Util-stat.Or(l.Stall, 0), 0.05, 0.12, "")
}

// apart tells of evaluation and checkpoints between the judged steps: phases of their own.
func (l live) apart() []Finding {
	w, took, waited := l.Costs.Window, map[recording.Phase]float64{}, 0.0
	places := map[string]bool{}
	for _, s := range w.Apart {
		took[s.Phase] += stat.Or(s.Period, stat.Or(s.Wait, 0))
		if s.Loader == recording.OwnLoop || s.Phase == recording.Traced {
			continue
		}
		waited += s.Wait
		if loader := l.run.Loader(s.PID, s.Loader); loader != nil && loader.Where != "" && s.Loader != w.Loader {
			places[loader.Where] = true
		}
	}
	over := "over the same loader"
	if names := slices.Sorted(maps.Keys(places)); len(names) > 0 {
		over = "over the loader of " + strings.Join(names, " and ")
	}
	if !l.HasSteps && len(places) == 0 {
		over = "of the loop's own"
	} else {
		over += ", which waits for input " + stoker.Percent(min(1, waited/took[recording.Evaluate])) + " of it"
	}
	return slices.Concat(l.phase("evaluation", "evaluation "+over, took[recording.Evaluate]), l.phase("checkpoint", "saving checkpoints", took[recording.Checkpoint]))
}

// phase is the finding that so many seconds between the judged steps go into something else.
func (l live) phase(name, what string, took float64) []Finding {
	share := took / (l.Costs.Window.End - l.Costs.Window.Start)
	if !(share >= leastApart) {
		return nil
	}
	f := said(name, fmt.Sprintf("%s of the time between the judged steps goes into %s. It is counted separately, in no step and no wait above", stoker.Percent(share), what))
	f.Seconds, f.Share = took, share
	return []Finding{f}
}

// leastApart is the share of the window from which evaluation is worth a word. [J]
const leastApart = 0.01

// ranks compares the trainers of a run with several.
func (l live) ranks() string {
	if len(l.trainers) < 2 {
		return ""
	}
	text := fmt.Sprintf("%d ranks were recorded; rank %d waits most for input and is the one judged:", len(l.trainers), l.Costs.Window.Rank)
	for _, k := range l.trainers {
		text += fmt.Sprintf(" rank %d stall %s,", k.Window.Rank, stoker.Percent(k.Idle/k.Step))
	}
	return text[:len(text)-1] + ". A rank that waits in a collective for a starved one is not itself starved."
}

// warnings say how much a verdict rests on, and what was not seen.
func (l live) warnings() []string {
	var out []string
	judged := l.HasSteps || l.Paced
	if n := len(l.Costs.Window.Steps); judged && n < fewSteps {
		out = append(out, fmt.Sprintf("only %d steady steps were seen (%.1f s): run longer for a verdict to rely on", n, l.To-l.From))
	} else if judged && !l.Costs.Window.Stationary && l.To-l.From < 30 {
		out = append(out, fmt.Sprintf("%.0f s of steady training so far; a final verdict needs 30", l.To-l.From))
	} else if judged && !l.Costs.Window.Stationary {
		out = append(out, "the step time still drifts: its thirds of the last 30 s differ by more than 10 %")
	}
	if reason, n := l.noClock(); n > 0 && l.HasSteps {
		out = append(out, fmt.Sprintf("the device's clock is not used for %d of %d steps: %s", n, len(l.Costs.Window.Steps), reason))
	}
	var unseen []recording.Absence
	for _, a := range l.run.Facts.Absent {
		if a.What == "steps" && len(l.run.Steps) > 0 {
			continue // older recordings do not take it back when steps come
		}
		unseen = append(unseen, a)
	}
	return append(append(out, absences(unseen)...), l.run.Facts.Notes...)
}

// fewAbsences is how many of a kind are told one by one; of more only the names are, as
// an old driver lacks a dozen.
const fewAbsences = 3

// absences say what was not seen, in the order in which it was missed.
func absences(all []recording.Absence) []string {
	of := map[string][]string{}
	for _, a := range all {
		name, _, _ := strings.Cut(a.Why, ": ")
		of[a.What] = append(of[a.What], name)
	}
	var out []string
	told := map[string]int{}
	for _, a := range all {
		names := of[a.What]
		if len(names) <= fewAbsences {
			out = append(out, a.What+": "+a.Why)
		} else if told[a.What]++; told[a.What] == 1 {
			out = append(out, fmt.Sprintf("%s: not judged here: %s (stoker doctor says why)", a.What, strings.Join(names, ", ")))
		}
	}
	return out
}

// noClock counts the judged steps without a device clock, and the most frequent
// reason.
func (l live) noClock() (reason string, n int) {
	counts := map[string]int{}
	for _, s := range l.Costs.Window.Steps {
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

// ringEvidence says what the loader's own side tells where that names no ailment.
func (c *Case) ringEvidence() []Evidence {
	f, waits := c.Costs.Feed, c.waits()
	var list []Evidence
	if waits < littleWait {
		list = seen(list, waits, "ratio", "step.wait", "the loader keeps up: the trainer waits for batches %s of the time. Faster input is worth nothing; stoker observe also looks at the device, and tells what limits the trainer", stoker.Percent(waits))
	} else {
		list = seen(list, waits, "ratio", "step.wait", "the trainer waits for batches %s of the time; its device may have had work meanwhile (stoker observe tells)", stoker.Percent(waits))
	}
	list = seen(list, f.Full, "ratio", "feed.full", "the loader's ring is full %s of the time", stoker.Percent(f.Full))
	return slices.Concat(list, c.threadsEvidence())
}

// threadsEvidence says what the threads of stoker's loader do.
func (c *Case) threadsEvidence() []Evidence {
	k, f := c.Costs, c.Costs.Feed
	busy := c.saturated()
	list := seen(nil, busy, "ratio", "feed.threads", "%d thread%s at work in stoker's loader %s of the time", k.Workers, stoker.Ending(k.Workers, " is", "s are"), stoker.Percent(busy))
	return seen(list, k.Fetch, "seconds", "feed.batches", "preparing one batch takes a thread %s%s: reading %s, decoding %s, transforming %s",
		stoker.AboutSeconds(k.Fetch), onCore(k), stoker.AboutSeconds(f.Read), stoker.AboutSeconds(f.Decode), stoker.AboutSeconds(f.Transform))
}

func (l live) workersEvidence() []Evidence {
	if l.Costs.Feed != nil {
		return l.threadsEvidence()
	}
	k := l.Costs
	busy := l.saturated()
	return seen(nil, busy, "ratio", "thread.state", "%d worker%s at work %s of the time", k.Workers, stoker.Ending(k.Workers, " is", "s are"), stoker.Percent(busy))
}

// fetching says how long a batch takes to prepare and where that time goes, in per cent
// that add up to 100.
func (l live) fetching() []Evidence {
	k := l.Costs
	switch {
	case k.Feed != nil: // its threads tell the time by themselves
		return seen(nil, wants(k.Split), "ratio", "fetch.split", "where that time goes: %s", splitText(k.Split))
	case k.Split == nil && k.Workers == 0:
		return seen(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes the launching thread %s%s; the rest of the step takes %s",
			stoker.AboutSeconds(k.Fetch), onCore(k), stoker.AboutSeconds(k.HostStep-k.Wait))
	case k.Split == nil:
		return seen(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes a worker %s%s", stoker.AboutSeconds(k.Fetch), onCore(k))
	case math.IsNaN(k.Fetch):
		return seen(nil, wants(k.Split), "ratio", "fetch.split", "where a worker's time goes: %s", splitText(k.Split))
	case k.Workers == 0:
		return seen(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes the launching thread %s: %s; the rest of the step takes %s",
			stoker.AboutSeconds(k.Fetch), splitText(k.Split), stoker.AboutSeconds(k.HostStep-k.Wait))
	}
	return seen(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes a worker %s: %s", stoker.AboutSeconds(k.Fetch), splitText(k.Split))
}

// onCore is what a batch has of a core, where nothing says where the rest goes.
func onCore(k predict.Costs) string {
	if math.IsNaN(k.FetchCPU) || !(k.Fetch > 0) {
		return ""
	}
	return fmt.Sprintf(" (%s of it on a core)", stoker.Percent(min(1, k.FetchCPU/k.Fetch)))
}

// wants is the share of a fetch in which it wants a core; NaN unknown.
func wants(s *predict.Split) float64 {
	if s == nil {
		return math.NaN()
	}
	return s.Wants()
}

// splitText names the parts of a fetch that are there.
func splitText(s *predict.Split) string {
	if s == nil {
		return "unknown"
	}
	var said []string
	names := [...]string{"on a core", "waiting for a core", "waiting for storage", "waiting for the network", "asleep otherwise (a timer, a lock, a pipe, another program)"}
	for i, part := range stoker.Hundred(s.Core, s.Queued, s.Storage, s.Network, s.Asleep) {
		if part > 0 {
			said = append(said, fmt.Sprintf("%d %% %s", part, names[i]))
		}
	}
	return strings.Join(said, ", ")
}

func workersText(k predict.Costs) string {
	switch {
	case k.Feed != nil:
		return "stoker's loader has " + stoker.Many(k.Workers, "thread")
	case k.Set:
		return fmt.Sprintf("num_workers=%d", k.Workers)
	}
	return fmt.Sprintf("%d worker process%s seen", k.Workers, stoker.Ending(k.Workers, "", "es"))
}
