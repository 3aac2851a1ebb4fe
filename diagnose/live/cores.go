package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// askCoresFull is whether loading wants a core and none is left: workers queue for them, the
// job itself uses all of them, or the quota holds it back. Other programs' use shows
// in that queue if it is counted, else in the cores that they leave.
// Where a fetch mostly sleeps or reads, cores do not bind it, however full they are. Not
// counted are threads that only help the launching thread within an operation, of which
// workers start none, and what that thread spins for the device, which it does less of
// where others want its core.
func (l filler) askCoresFull() diagnose.Quantity {
	k := l.Costs
	used, cores := k.CoresUse-l.measureHelpers(), k.Cores
	counted := !math.IsNaN(l.WorkersQueueing())
	if all := l.run.Facts.Machine.Cores(); (k.Workers == 0 || counted) && all > 0 {
		cores = all // neighbours come and go; a single loading thread stays one
	}
	spin := 0.0
	if counted || !(k.Others >= diagnose.ManyOthers) { // who would take the core, as those that make it queue do
		spin = max(0, stat.Or(k.Spin()/k.HostStep, 0)-stat.Or(l.measureLaunchQueue(), 0))
	}
	score := max(diagnose.CoresLeft.Score(cores-used+spin), diagnose.WorkersQueue.Score(l.WorkersQueueing()),
		diagnose.Throttled.Score(k.Throttled))
	answer := fmt.Sprintf("%s of %s cores in use", quantity.AboutCores(used), quantity.AboutCores(cores))
	if k.CoresUse-used > diagnose.NamedCores {
		answer += fmt.Sprintf(" (and %.1f by intra-op threads)", k.CoresUse-used)
	}
	if spin > diagnose.NamedCores {
		answer += fmt.Sprintf(", %.1f of them at most by spinning for the device", spin)
	}
	if math.IsNaN(k.CoresUse) {
		score, answer = diagnose.Unlikely, "unknown"
	}
	if s := k.Split; s != nil {
		score *= diagnose.FetchWantsCore.Score(s.Wants())
		answer += fmt.Sprintf(", and a fetch wants one %s of its time", quantity.Percent(s.Wants()))
		if s.Queued > diagnose.NamedQueue {
			answer += fmt.Sprintf(", and waits for it %s", quantity.Percent(s.Queued))
		}
	}
	return diagnose.Quantity{
		Question: diagnose.Question{
			Text:   "Does loading want a core, and are the cores that the job may use full?",
			Answer: diagnose.YesNo(score) + ", " + answer, Score: score,
		},
		Evidence: l.describeCores(),
	}
}

// measureHelpers is how many cores threads have that only help the launching thread within an operation. Without steps
// they are all of the job's others, where that thread is seen to load and no process does.
func (l filler) measureHelpers() float64 {
	k := l.Costs
	if l.HasSteps || k.Workers > 0 || !(l.measureLoading() >= diagnose.LoadsWhileIdle.Yes*l.Idle) {
		return max(0, stat.Or(k.HelperCPU/k.HostStep, 0))
	}
	own := l.run.Find(recording.ThreadCPU, measure.LaunchThread(l.run, k.Window.PID)).Rate(l.From, l.To)
	return max(0, stat.Or(k.CoresUse-own, 0))
}

// coreLeft is how much of a core stays unused while other programs keep no core from the job. [J]
const coreLeft = 0.5

// fillCoreHolders says who has the cores that the job lacks, if anybody else: its quota, or
// other programs.
func (l filler) fillCoreHolders() {
	k := l.Costs
	held := k.Throttled >= diagnose.HeldByQuota
	if m := l.run.Facts.Machine; math.IsNaN(k.Throttled) {
		held = m.Quota > 0 && m.Quota < m.Processors() && k.CoresUse >= diagnose.QuotaInUse*m.Quota
	}
	l.QuotaTakesCores = diagnose.AskFact("Does a CPU quota hold the job back?", held,
		"how often it does is not counted")
	if !math.IsNaN(k.Throttled) {
		l.QuotaTakesCores = diagnose.AskFact(l.QuotaTakesCores.Text, held, "for "+quantity.Percent(min(1, k.Throttled))+
			" of the time")
	}
	share := l.measureOthersShare()
	answer := "they use " + quantity.AboutCores(k.Others)
	if share > 0 {
		answer += fmt.Sprintf(", and that is %s of what is short", quantity.Percent(share))
	}
	l.OthersTakeCores = diagnose.AskFact("Is it other programs that have the cores?", share >= diagnose.Mostly, answer)
}

// askLaunchingLacksCore is whether the device is waiting for launches that wait for a core: no longer than
// the launching thread does, nor than the device idles though input is there.
func (l filler) askLaunchingLacksCore() diagnose.Quantity {
	waits := l.measureLaunchQueue()
	q := diagnose.AskShareOr(diagnose.Unlikely, "Does launching wait for a core, and the device for that?",
		math.Min(waits, l.Idle-l.Stall), diagnose.LaunchAwaitsCore, "")
	if !q.IsLikely() {
		return q
	}
	return q.WithEvidence(waits, "ratio", string(recording.ThreadQueue),
		"the launching thread waits for a core %s of the time, and no kernel runs %s of the time though "+
			"input is there", quantity.Percent(waits), quantity.Percent(l.Idle-l.Stall))
}

// measureLaunchQueue is the share of the time in which the launching thread is waiting for a core.
func (l filler) measureLaunchQueue() float64 {
	return l.run.Find(recording.ThreadQueue, measure.LaunchThread(l.run, l.Costs.Window.PID)).Rate(l.From, l.To)
}

// measureOthersShare is which part of the cores that are short would not be, if other programs
// used none. Short is what the job uses and queues for, and what they use, beyond what
// there is.
func (l filler) measureOthersShare() float64 {
	k, all := l.Costs, l.run.Facts.Machine.Processors()
	if !(k.Others >= diagnose.ManyOthers) || !(all > 0) {
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

func describeQuota(m recording.Machine) string {
	if !(m.Quota > 0) {
		return ""
	}
	return fmt.Sprintf(" of %s cores", quantity.AboutCores(m.Quota))
}

func (l filler) describeCores() []diagnose.Evidence {
	k := l.Costs
	return slices.Concat(diagnose.AddEvidence(nil, k.CoresUse, "cores", "tree.cpu",
		"the job uses %s of the %s cores it can get", quantity.AboutCores(k.CoresUse), quantity.AboutCores(k.Cores)),
		l.describeCoreRivals())
}

// describeCoreRivals says what keeps cores from the job: other programs, and its quota.
func (l filler) describeCoreRivals() []diagnose.Evidence {
	k := l.Costs
	var list []diagnose.Evidence
	if k.Others >= diagnose.ManyOthers {
		list = diagnose.AddEvidence(list, k.Others, "cores", "machine.cpu",
			"other programs use %s cores of the %s that this job may run on", quantity.AboutCores(k.Others),
			quantity.About(l.run.Facts.Machine.Processors()))
	}
	if k.Throttled > diagnose.Throttled.No {
		list = diagnose.AddEvidence(list, k.Throttled, "ratio", "cgroup.throttled",
			"the cgroup's CPU quota%s holds the job back %s of the time", describeQuota(l.run.Facts.Machine),
			quantity.Percent(min(1, k.Throttled)))
	}
	return list
}
