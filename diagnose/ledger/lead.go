package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// withSaving adds to the row of checkpoints the host's other time in the same function of the program: copies of the
// state that it makes for them.
func withSaving(l diagnose.Ledger, r *diagnose.Row) *diagnose.Row {
	between := l.Find(diagnose.RowBetween)
	saves, works := r.Line.Own, between.Line.Own
	sameFunction := saves.File != "" && saves.File == works.File && saves.Outer() == works.Outer()
	if r.Name != diagnose.RowCheckpoint || !sameFunction {
		return r
	}
	both := *r
	both.Saves += stat.Or(between.Saves, 0)
	both.Seconds, both.Share = both.Seconds+between.Seconds, both.Share+between.Share
	both.Idle += stat.Or(between.Idle, 0)
	return &both
}

// withoutStaying takes off what the advice leaves: the exchange of gradients in the last backward of a step. Waiting
// for other ranks is a part of the exchange.
func withoutStaying(l diagnose.Ledger, r *diagnose.Row, c *diagnose.Case) *diagnose.Row {
	if r.Line.Kind != diagnose.Exchanging {
		return r
	}
	less := *r
	less.Saves = (less.Saves + stat.Or(l.Find(diagnose.RowRanks).Saves, 0)) * (1 - stat.Or(optimizedPerStep(c), 0))
	return &less
}

// FindLead returns the row, other than the steps, that costs most, if it costs more than the device's
// idle time within steps. It returns nil if the steps lose most, or if every other row is small.
func FindLead(l diagnose.Ledger, c *diagnose.Case, class diagnose.Class) *diagnose.Lead {
	if c.Requests.Known() { // the class says it
		return nil
	}
	if !c.HasSteps && !c.HasUnfedSteps && l.Find(diagnose.RowEdge).Line.Kind != diagnose.Iterating {
		// without steps there is nothing to compare with
		return cmp.Or(findLeadOfStart(l, diagnose.LeadingOnceShare), findLeadOfEvaluation(l))
	}
	steps := stat.Or(max(lossOf(l, diagnose.RowTraining), lossOf(l, diagnose.RowInference)), 0)
	var best *diagnose.Row
	for i := range l.Rows {
		r := &l.Rows[i]
		if canLead(l, r, class) && r.Saves > steps && (best == nil || r.Saves > best.Saves) {
			best = r
		}
	}
	start := l.Find(diagnose.RowStartUp)
	if best == nil && class.Is(diagnose.GPUBound) && start.Share*start.OwnShare >= startOfBusy { // nothing else helps
		return findLeadOfStart(l, startOfBusy)
	}
	if best == nil {
		return nil
	}
	best = withSaving(l, best) // the share that is said is the one that the gain rests on
	lead := &diagnose.Lead{
		Row: *best, Class: diagnose.ClassOfRow(best.Name), Every: math.NaN(),
		Most:  mostOf(l, withoutStaying(l, best, c), steps),
		Steps: loseBy(l, best.Name, class) && !lacksLine(l, best.Name, c, class), Ranks: exchanges(c),
		Passes: c.Grounds.Program == diagnose.Inference, Asker: c.LooksAtAsker,
	}
	if !best.Name.ComesOnce() {
		lead.Recurs = best.Seconds / l.Recurring()
	}
	if best.Name == diagnose.RowBetween {
		if class == diagnose.CPUBound {
			lead.Class = class
		}
		if lead.Passes && asksForInput(best.Line) && c.Costs.CoresUse < jobWorks {
			lead.Class = diagnose.WaitsOutside // who sends the next input is no part of the job, or has none
		}
		if c.Costs.Rare.Count == best.Count {
			lead.Every = c.Costs.Rare.Every
		}
	}
	if lead.Name == diagnose.RowBetween && !(lead.Every > 1) {
		lead.Most = min(lead.Most, mostOfLine(c.LoopLines, lead.Line, c.Costs.SyncsAt))
	}
	if class == diagnose.Neighbour && c.Costs.Others > 0 {
		lead.Beside = fmt.Sprintf("Other programs use %.1f cores meanwhile, so all of it takes longer", c.Costs.Others)
	}
	if lead.Name == diagnose.RowBetween && lead.Line.Kind == diagnose.Locking {
		lead.Beside = cmp.Or(lead.Beside, c.DescribeBeside(), c.Asker)
	}
	return lead
}

// loseBy reports whether the steps lose what their class says, without the row that leads. They were judged with all
// that comes between them, as the first batches of epochs.
func loseBy(l diagnose.Ledger, lead diagnose.RowName, class diagnose.Class) bool {
	host := l.Find(diagnose.RowBetween)
	if lead == diagnose.RowBetween {
		host = diagnose.Row{}
	}
	host.Saves = stat.Or(host.Saves, host.Seconds)
	lost, seconds := host.Saves, host.Seconds
	for _, r := range l.Rows {
		if r.Name.IsSteps() {
			lost, seconds = lost+stat.Or(r.Saves, r.Seconds), seconds+r.Seconds
		}
	}
	switch class {
	case diagnose.GPUBound:
		return true
	case diagnose.CPUBound:
		lost = host.Saves
	default:
	}
	return lost >= diagnose.LeadingLoss*seconds
}

// lacksLine reports whether steps beside evaluation are said to wait for work of the program's own, and samples of its
// thread find none. A meter gives them idle time of evaluation, if the two alternate more often than it is read.
func lacksLine(l diagnose.Ledger, lead diagnose.RowName, c *diagnose.Case, class diagnose.Class) bool {
	between := l.Find(diagnose.RowBetween)
	return class == diagnose.CPUBound && lead == diagnose.RowEvaluation && c.LoopLines.Looks >= diagnose.FewLooks &&
		between.Line.Own.File == ""
}

// asksForInput reports whether the program itself takes from a queue what the next pass is for. A thread of a pool, or
// an event loop, may belong to a server whose requests are not seen.
func asksForInput(l diagnose.Line) bool {
	taken := l.Kind == diagnose.Locking || l.Kind == diagnose.Pickling
	return taken && l.Own.File != "" && l.Call.File != "selectors.py"
}

// jobWorks is how many cores a job uses from which another part of it may be at work on the input that is waited for.
// [J]
const jobWorks = 0.5

// exchanges reports whether a step exchanges something with another rank.
func exchanges(c *diagnose.Case) bool {
	return slices.ContainsFunc(c.Costs.Window.Steps, func(s recording.Step) bool {
		return s.Inside != nil && s.Inside.Exchange > 0
	})
}

// startOfBusy is the share of a run that its own work before the first step must have to lead a verdict of gpu-bound.
// [J]
const startOfBusy = 0.17

// findLeadOfStart returns the start of a run, if it has some share of it, and a line of the program took most of that.
func findLeadOfStart(l diagnose.Ledger, least float64) *diagnose.Lead {
	start, slow := startsSlowly(l)
	if !slow || start.Share < least {
		return nil
	}
	start.Saves *= start.OwnShare
	most := mostOf(l, &start, 0)
	return &diagnose.Lead{Row: start, Class: diagnose.StartUp, Every: math.NaN(), Most: most, Steps: true}
}

// findLeadOfEvaluation returns the evaluation of a run whose steps were not seen, if it takes much of its time beside
// something else.
func findLeadOfEvaluation(l diagnose.Ledger) *diagnose.Lead {
	r, rest := l.Find(diagnose.RowEvaluation), l.Find(diagnose.RowUnknown).Seconds
	all := r.Seconds + rest
	if r.Seconds < max(secondsOfBeside, longBeside*all) || rest < longBeside*all {
		return nil
	}
	return &diagnose.Lead{Row: r, Class: diagnose.InEvaluation, Every: math.NaN(), Most: all / rest, Steps: true}
}

func lossOf(l diagnose.Ledger, name diagnose.RowName) float64 {
	r := l.Find(name)
	return stat.Or(r.Saves, 0)
}

// canLead reports whether a row may be what a verdict says first.
func canLead(l diagnose.Ledger, r *diagnose.Row, class diagnose.Class) bool {
	switch {
	case diagnose.ClassOfRow(r.Name) == "" || math.IsNaN(r.Idle):
		return false
	case class == diagnose.ComputeOnCPU && !slices.Contains(besideModel, r.Line.Kind):
		return false
	case class == diagnose.StragglerRank && r.Line.Kind == diagnose.Collective: // it waits there for the late rank
		return false
	case class == diagnose.NotTraining || class == diagnose.StartUp:
		return false
	case class == diagnose.BatchTooSmall && r.Name == diagnose.RowBetween: // fewer passes have less between them
		return false
	case r.Name == diagnose.RowBetween && !hasNoWord(class) &&
		(r.Line.String() == "" || r.Line.Kind == diagnose.Launching):
		return false // the class of the steps says as much
	case r.Name.ComesOnce():
		return r.Seconds >= diagnose.LeadingOnce && r.Share >= diagnose.LeadingOnceShare
	}
	least := diagnose.LeadingLoss
	if class == diagnose.Unknown { // there is nothing better to say of the run
		least = diagnose.LeadingUnknown
	}
	return r.Saves >= least*l.Recurring()
}

// besideModel are kinds of lines that compute no model, on any device.
var besideModel = []diagnose.Kind{
	diagnose.Subprocess, diagnose.Saving, diagnose.Logging, diagnose.Uploading, diagnose.Plotting, diagnose.Metrics,
	diagnose.Garbage, diagnose.Profiling, diagnose.Disk, diagnose.Compiling, diagnose.Writing,
}

// hasNoWord reports whether the class of the steps says nothing of what the host does.
func hasNoWord(class diagnose.Class) bool {
	return class == diagnose.GPUBound || class == diagnose.Unknown
}

// mostOf is by how much the run gets faster at most without what a row loses. What the steps lose may go with a loss
// between them: a device that idled before them is not idle when they ask for a batch. Other rows leave them as they
// are.
func mostOf(l diagnose.Ledger, r *diagnose.Row, steps float64) float64 {
	all := l.Recurring()
	if r.Name != diagnose.RowBetween {
		steps = 0
	}
	if r.Name.ComesOnce() {
		all = l.Wall
	}
	return all / max(all-r.Saves-steps, (1-mostRemoved)*all)
}

// beyondOwnTime are kinds of lines that hold the thread up for more than their own time: without them the host launches
// ahead, or others wait less. Garbage is collected on any line.
var beyondOwnTime = []diagnose.Kind{
	diagnose.Syncing, diagnose.DeviceWait, diagnose.Launching, diagnose.Collective, diagnose.OtherRanks,
	diagnose.Exchanging, diagnose.Evaluating, diagnose.Garbage, diagnose.Compiling,
}

// mostOfLine is by how much a loop gets faster at most without all that a line's class does in the launching thread: no
// more than the time that samples find it there. The line is one of several that work between the steps. A value that
// is logged is read of the device at some line (file:line) as well, and both waits go.
func mostOfLine(lines diagnose.LoopLines, line diagnose.Line, waitsAt string) float64 {
	if lines.Looks < diagnose.FewLooks || line.Own.File == "" || slices.Contains(beyondOwnTime, line.Kind) {
		return math.Inf(1)
	}
	saved := lines.SecondsOfClass(line.Own)
	if saved == 0 { // another rank works there, and this one waits for it
		return math.Inf(1)
	}
	if waitsAt != "" && slices.Contains(ofLogs, line.Kind) {
		saved += lines.SecondsOfReads(waitsAt)
	}
	return 1 / max(1-saved/lines.Seconds, 1-mostRemoved)
}

// mostRemoved is the share of the time that a bound is drawn for. [J] The rest was not measured as well.
const mostRemoved = 0.99
