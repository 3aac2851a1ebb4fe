package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// nameLines says on which line of the program each row's time goes.
func (f *filler) nameLines() {
	edge := f.rows[diagnose.RowEdge]
	if edge != nil { // before what else may have its line
		f.nameEdge(edge)
	}
	for name, r := range f.rows {
		switch name {
		case diagnose.RowSkipping:
			r.Line = lineOf(f.whereIterated(recording.Skip))
		case diagnose.RowCheckpoint, diagnose.RowStartUp, diagnose.RowTail:
			f.nameFrom(r)
		case diagnose.RowAwaited:
			if line, found := f.LoopLines.FirstHeld(); found {
				r.Line, r.LineShare = line.Line, line.Share.Point
			}
		case diagnose.RowBetween:
			if line, found := f.LoopLines.FirstWork(); found && f.Requests.Known() {
				r.Line, r.LineShare = line.Line, line.Share.Point
				break
			}
			r.Line, r.LineShare = f.lineBetween(r.Seconds, edge)
		case diagnose.RowTraining, diagnose.RowInference:
			if r.MostlyWaitsFor() == diagnose.WaitInput && len(f.Lines) > 0 {
				r.Line, r.LineShare = f.Lines[0], f.Lines[0].Share.Point
			}
		default:
		}
	}
	if r := f.rows[diagnose.RowEvaluation]; r != nil { // of the lines that no other row has
		f.nameEvaluation(r)
	}
}

// nameEvaluation says where evaluation iterates its loader, and whether starting that loader's workers
// takes long. If evaluation keeps the host busy, it names the line of the program that is working.
func (f *filler) nameEvaluation(r *diagnose.Row) {
	r.Line = lineOf(f.whereIterated(recording.Evaluate))
	n := len(r.Spans)
	if n == 0 {
		return
	}
	seen := live.FindLoopLines(f.run, f.Costs.Window.PID, r.Spans[0].From, r.Spans[n-1].To)
	if !(seen.Looks >= diagnose.FewLooks) {
		return
	}
	if f.evaluates && seen.Evaluation.File != "" {
		r.Line = diagnose.Line{Own: seen.Evaluation, Kind: diagnose.Evaluating}
		r.LineShare = min(1, seen.Evaluating/r.Seconds)
		return
	}
	often := f.unseen(seen, r)
	if r.MostlyWaitsFor() == diagnose.WaitInput {
		if starts := often * secondsOfWorkers(seen, r.Line.Own); starts >= diagnose.NamedLine*r.Idle {
			r.Line.Kind, r.LineShare = diagnose.StartingWorkers, min(1, starts/r.Seconds)
		}
		return
	}
	line, seconds := f.busiest(seen.Lines, r)
	few := often*seconds < diagnose.NamedLine*r.Idle
	// the line that calls a framework says nothing of the program's functions that are called from there
	if few || line.Kind == diagnose.Launching && line.Own.IsAt(f.whereIterated(recording.Evaluate)) {
		if at, within := f.evaluatesAt(seen.Lines); often*within >= diagnose.NamedLine*r.Idle {
			r.Line = diagnose.Line{Own: at, Kind: diagnose.Evaluating}
			r.LineShare = min(1, often*within/r.Seconds)
			return
		}
	}
	if !few {
		r.Line, r.LineShare = line.Line, min(1, often*line.Seconds/r.Seconds)
		if computesOnHost(line, r) {
			r.Line.Kind = diagnose.OnHost
		}
		return
	}
	read, found := seen.FirstOf(diagnose.DeviceWait)
	if found && read.Own.File != "" && often*read.Seconds >= diagnose.NamedLine*r.Seconds {
		r.Line, r.LineShare = read.Line, min(1, often*read.Seconds/r.Seconds)
		r.Line.Kind = diagnose.Syncing
	}
}

// evaluatesAt returns the busiest line of the program's function that evaluates, and the seconds of that function with
// all its calls.
func (f *filler) evaluatesAt(lines []diagnose.LoopLine) (at recording.Place, seconds float64) {
	of, most := map[recording.Place]float64{}, 0.0
	for _, line := range lines {
		if line.Kind.IsWait() || !line.Evaluates() || f.isSaved(line) {
			continue
		}
		seconds += line.Seconds
		if of[line.Evaluation] += line.Seconds; of[line.Evaluation] > most {
			at, most = line.Evaluation, of[line.Evaluation]
		}
	}
	return at, seconds
}

// noKernels is the share of a row in which the device idles, from which calls of a model that have most of it compute
// on the CPU. [J] Launching takes the host some times as long as the smallest kernel, not twenty times.
const noKernels = 0.95

// computesOnHost reports whether a line calls modules of a model that compute on the CPU in a row's time.
func computesOnHost(line diagnose.LoopLine, r *diagnose.Row) bool {
	return line.Kind == diagnose.Launching && strings.HasPrefix(line.Call.File, "torch/nn/") &&
		r.LineShare >= mostlyWork && r.Idle >= noKernels*r.Seconds
}

// busiest is the line of the program on which a row's thread is at work most, and the seconds of its function.
func (f *filler) busiest(lines []diagnose.LoopLine, r *diagnose.Row) (first diagnose.LoopLine, seconds float64) {
	return diagnose.BusiestFunction(lines, func(line diagnose.LoopLine) bool {
		return !line.Kind.IsWait() && line.Own.File != "" && !f.isSaved(line) && !f.isNamed(line.Line, r)
	})
}

// unseen is by how much the time from a row's first span to its last is longer than the samples
// account for: on a machine without a free core they come late. A launching thread that loads
// is looked at elsewhere meanwhile, so that nothing is known there.
func (f *filler) unseen(seen diagnose.LoopLines, r *diagnose.Row) float64 {
	span := r.Spans[len(r.Spans)-1].To - r.Spans[0].From
	if f.Costs.Workers == 0 || !(seen.Seconds > 0) {
		return 1
	}
	return max(1, span/seen.Seconds)
}

// isNamed reports whether a longer row has a line already.
func (f *filler) isNamed(line diagnose.Line, than *diagnose.Row) bool {
	for name, r := range f.rows {
		if name != diagnose.RowStartUp && r.Seconds > than.Seconds && r.Line.Own == line.Own {
			return true
		}
	}
	return false
}

// secondsOfWorkers is how long the workers of the loader that a line iterates start and end.
func secondsOfWorkers(seen diagnose.LoopLines, at recording.Place) (seconds float64) {
	function := ""
	for _, line := range seen.Lines {
		if line.Own.IsAt(fmt.Sprint(at.File, ":", at.Line)) {
			function = line.Own.Function
		}
	}
	for _, line := range seen.Lines {
		starts := line.Kind == diagnose.StartingWorkers || line.Kind == diagnose.EndingWorkers
		if starts && function != "" && line.Own.Function == function {
			seconds += line.Seconds
		}
	}
	return seconds
}

// nameEdge says where the launching thread is from an epoch's end to its next batch: on a line of
// the program, in the sampler, or in the loader, whose line is the one that iterates it.
func (f *filler) nameEdge(r *diagnose.Row) {
	if l := f.run.FindLoader(f.Costs.Window.PID, f.loaderOfEdges()); l != nil {
		r.Line = lineOf(l.Where)
	}
	n := len(r.Spans)
	if n == 0 {
		return
	}
	seen := live.FindLoopLines(f.run, f.Costs.Window.PID, r.Spans[0].From, r.Spans[n-1].To)
	batches, passes := f.countPasses()
	if passes >= diagnose.ManyPasses && batches <= diagnose.FewBatches*passes && !f.hasShortEpochs() {
		for _, line := range seen.Lines {
			if line.Own.File != "" && slices.Contains(diagnose.OfLoader, line.Kind) {
				r.Line.Own = line.Own
				break
			}
		}
		r.Line.Kind = diagnose.Iterating
		return
	}
	often, outside := f.unseen(seen, r), f.outsideLoader(r)
	for _, line := range seen.Lines {
		most := r.Seconds
		if !slices.Contains(atEdge, line.Kind) {
			if most = outside; !f.isBeside(line, r) {
				continue
			}
		}
		if seconds := min(most, often*line.Seconds); seen.Looks >= diagnose.FewLooks &&
			seconds >= diagnose.NamedLine*r.Seconds {
			r.Line, r.LineShare = line.Line, min(1, seconds/r.Seconds)
			if host := min(r.Idle, seconds); most == outside && host > 0 { // the loader is not asked meanwhile
				input := r.Idle - host
				r.Waits = sortWaits(map[diagnose.WaitFor]float64{diagnose.WaitHost: host, diagnose.WaitInput: input})
			}
			return
		}
	}
	if r.Busy > r.Seconds/2 {
		f.nameBusyEdge(r, seen, often)
	}
}

// nameBusyEdge names the line of the program from which the device works between epochs, if one has enough of the
// time. The function that trains waits there for the steps that it has launched.
func (f *filler) nameBusyEdge(r *diagnose.Row, seen diagnose.LoopLines, often float64) {
	trains := map[string]bool{}
	for _, line := range seen.Lines {
		trains[line.Own.Function] = trains[line.Own.Function] || slices.Contains(diagnose.OfLoader, line.Kind)
	}
	for _, line := range seen.Lines {
		drains := line.Kind == diagnose.DeviceWait && strings.Contains(line.Call.Function, "synchronize")
		if line.Own.File == "" || trains[line.Own.Function] || drains || f.isNamed(line.Line, r) {
			continue
		}
		if often*line.Seconds >= diagnose.NamedLine*r.Seconds {
			r.Line, r.LineShare = line.Line, min(1, often*line.Seconds/r.Seconds)
		}
		return
	}
}

// outsideLoader is how much of the time between epochs passes outside of the loader, in the
// program's own code: from the end of a pass until the next one is asked for.
func (f *filler) outsideLoader(edge *diagnose.Row) float64 {
	inside := 0.0
	for i, s := range f.steps {
		if i > 0 && s.First && f.hasEdges(s.Loader) {
			inside += stat.Or(s.Wait, 0)
		}
	}
	return max(0, edge.Seconds-inside)
}

// isBeside reports whether a line is work of the program outside of its steps. More time has to pass
// between epochs than between steps, as the samples do not tell the two apart.
func (f *filler) isBeside(line diagnose.LoopLine, edge *diagnose.Row) bool {
	between := f.rows[diagnose.RowBetween]
	return line.Own.File != "" && !slices.Contains(beside, line.Kind) && !f.isSaved(line) &&
		(between == nil || between.Seconds < edge.Seconds) && !line.Own.IsAt(f.Costs.SyncsAt)
}

// countPasses is how many batches the judged loader gave, and in how many passes. Of thinned steps, all are counted.
func (f *filler) countPasses() (batches, passes int) {
	first, last := -1, -1
	for i, s := range f.steps {
		if s.Loader != f.loaderOfEdges() {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		batches++
		if s.First {
			passes++
		}
	}
	if f.Costs.Window.OneIn > 1 && first >= 0 {
		passes = max(passes, f.steps[last].Pass-f.steps[first].Pass+1)
		batches = max(batches, f.steps[last].N-f.steps[first].N+1)
	}
	return batches, passes
}

// hasShortEpochs reports whether all of the data set makes no more than a batch or two.
func (f *filler) hasShortEpochs() bool {
	l := f.run.FindLoader(f.Costs.Window.PID, f.loaderOfEdges())
	if l == nil {
		return false
	}
	each, known := l.Settings.Int(stoker.BatchSize)
	return known && l.Samples > 0 && l.Samples <= diagnose.FewBatches*each
}

// hasEdges reports whether the passes of a loader begin at the edges of epochs.
func (f *filler) hasEdges(loader int) bool {
	return loader == f.loaderOfEdges() || f.Costs.Window.TakesTurns(loader)
}

// loaderOfEdges is the loader whose passes begin at the edges of epochs: the judged one, and of
// steps that cannot be judged that of the first.
func (f *filler) loaderOfEdges() int {
	if !f.HasSteps && len(f.steps) > 0 {
		return f.steps[0].Loader
	}
	return f.Costs.Window.Loader
}

// nameFrom takes a row's line from the samples in its time: of a checkpoint the line that saves.
func (f *filler) nameFrom(r *diagnose.Row) {
	n := len(r.Spans)
	if n == 0 {
		return
	}
	seen := live.FindLoopLines(f.run, f.Costs.Window.PID, r.Spans[0].From, r.Spans[n-1].To)
	if !(seen.Looks >= diagnose.FewLooks) || len(seen.Lines) == 0 {
		return
	}
	line, found := seen.Lines[0], true
	switch r.Name {
	case diagnose.RowCheckpoint:
		line, found = seen.FirstOf(diagnose.Saving)
		if !found { // its file may be an object of the program's own
			line, found = firstOwn(seen, r.Seconds)
			line.Kind = diagnose.Saving
		}
	case diagnose.RowTail: // the samples may be those of the loop's last seconds
		found = seen.Seconds >= diagnose.NamedLine*r.Seconds
	case diagnose.RowStartUp:
		work, seconds := diagnose.BusiestFunction(seen.Lines, func(line diagnose.LoopLine) bool {
			return isWorkOfStart(line.Line)
		})
		all := secondsOfStart(seen.Lines)
		shared := all >= slowStart && seconds >= diagnose.NamedLine*all // by a function and those that it calls
		if (seconds >= slowStart || shared) && !f.Requests.Known() {
			r.Line, r.LineShare, r.OwnShare = work.Line, seconds/seen.Seconds, all/seen.Seconds
			return
		}
	default:
	}
	if found {
		r.Line, r.LineShare = line.Line, line.Share.Point
	}
}

// secondsOfStart is how long lines work for the program's start.
func secondsOfStart(lines []diagnose.LoopLine) (seconds float64) {
	for _, line := range lines {
		if isWorkOfStart(line.Line) {
			seconds += line.Seconds
		}
	}
	return seconds
}

// isWorkOfStart reports whether a line is work of the program's own before its first step, and no import.
func isWorkOfStart(line diagnose.Line) bool {
	imports := line.Call.Imports() || line.Call.Function == "<module>"
	return line.Own.File != "" && !imports && !slices.Contains(noStart, line.Kind)
}

// Kinds of lines of a launching thread: what a loader does mostly between epochs, what belongs to the steps
// themselves, and what is no work of the program's before them.
var (
	atEdge  = []diagnose.Kind{diagnose.Sampling, diagnose.StartingWorkers, diagnose.EndingWorkers}
	beside  = slices.Concat(diagnose.OfDevice, diagnose.OfLoader)
	noStart = append([]diagnose.Kind{diagnose.Compiling}, beside...)
)

// firstOwn is the program's own line on which most samples lie, if they have so many seconds of a row within them that
// some of its samples must be the row's.
func firstOwn(seen diagnose.LoopLines, seconds float64) (diagnose.LoopLine, bool) {
	at := slices.IndexFunc(seen.Lines, func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && !slices.Contains(beside, line.Kind) &&
			line.Seconds+seconds >= (1+diagnose.NamedLine)*seen.Seconds
	})
	if at < 0 {
		return diagnose.LoopLine{}, false
	}
	return seen.Lines[at], true
}

// besideSteps is the share of samples of the launching thread that find it on lines of the program that are
// neither steps nor waiting for a batch, which is not counted. It is 0 if no single line is frequent.
func (f *filler) besideSteps() float64 {
	if !(f.LoopLines.Looks >= diagnose.FewLooks) {
		return 0
	}
	on, all, first := 0.0, 0.0, 0.0
	for _, line := range f.LoopLines.Lines {
		switch {
		case line.Kind.IsWait(), line.Own.IsAt(f.Costs.SyncsAt), f.isEvaluated(line):
			continue
		case line.Kind != diagnose.Launching && line.Own.File != "" && !f.isSaved(line):
			on, first = on+line.Seconds, max(first, line.Seconds)
		}
		all += line.Seconds
	}
	if !(all > 0) || first < diagnose.NamedLine*all {
		return 0
	}
	return on / all
}

// lineOfSync is the line on which steps wait for the device, if the host's other work is
// short enough to hide behind the device's: without the wait it would cost nothing. The zero Line elsewhere.
func (f *filler) lineOfSync() diagnose.Line {
	c := f.Costs
	at := lineOf(c.SyncsAt)
	busy := f.Util * c.Step
	own := c.HostStep - stat.Or(c.Window.Asks().SyncTime, 0) - stat.Or(c.Wait, 0)
	steady := f.Parts.Long
	if c.Window.Asks().Syncs >= diagnose.ManySyncs { // on a machine without a free core that time is waiting for one
		steady = max(steady, f.Parts.Host, f.Parts.Queued)
	}
	rare := c.Rare.Count > 0 && c.RareShare() >= steady
	if at.Own.File == "" || !(c.Window.Asks().Syncs >= 1) || !(own <= busy) || rare {
		return diagnose.Line{}
	}
	at.Kind = diagnose.Syncing
	return at
}

// isEvaluated reports whether a line's time is that of the row of evaluation.
func (f *filler) isEvaluated(line diagnose.LoopLine) bool {
	return line.Evaluates() && f.rows[diagnose.RowEvaluation] != nil
}

// isSaved reports whether a line's time is that of the row of checkpoints.
func (f *filler) isSaved(line diagnose.LoopLine) bool {
	return line.Kind == diagnose.Saving && f.rows[diagnose.RowCheckpoint] != nil
}

// lineBetween is the line on which the launching thread is seen most outside of its steps, if that
// accounts for a good part of the time.
func (f *filler) lineBetween(seconds float64, edge *diagnose.Row) (diagnose.Line, float64) {
	if line, found := f.lineOfExchange(seconds); found {
		return line.Line, line.Share.Point
	}
	if line, found := f.lineOfRanks(seconds); found {
		return line.Line, line.Share.Point
	}
	all := f.LoopLines
	if all.Looks >= diagnose.FewLooks && all.Evaluating >= mostlyWork*seconds && f.Costs.Rare.Count > 0 {
		return diagnose.Line{Own: all.Evaluation, Kind: diagnose.Evaluating}, min(1, all.Evaluating/all.Seconds)
	}
	sync, least := f.lineOfSync(), diagnose.NamedLine
	if sync.Kind != "" {
		least = mostlyWork
	}
	for _, line := range f.LoopLines.Lines {
		if f.isSaved(line) || f.isEvaluated(line) || slices.Contains(beside, line.Kind) ||
			line.Own.IsAt(f.Costs.SyncsAt) ||
			sync.Kind != "" && slices.Contains(ofLogs, line.Kind) && f.LoopLines.SecondsAt(line) < mostlyWork*seconds {
			continue
		}
		if edge != nil && edge.Line.Own == line.Own {
			continue
		}
		needed := least
		if f.LoopLines.WorksWithWait(line.Own, f.Costs.SyncsAt) {
			needed = diagnose.NamedLine
		}
		if f.LoopLines.Looks >= diagnose.FewLooks && f.LoopLines.SecondsAt(line) >= needed*seconds {
			if line.Kind == diagnose.Collective {
				line = f.followToLateRank(line)
			}
			return line.Line, line.Share.Point
		}
		break
	}
	if sync.Kind != "" {
		if line, found := f.workBesideSync(seconds); found {
			return line.Line, line.Share.Point
		}
		return sync, math.NaN()
	}
	// of no work outside of the model: the calls of the model itself
	line, launches := f.LoopLines.Launches()
	if f.LoopLines.Looks >= diagnose.FewLooks && launches > 0 && launches >= mostlyModel*f.LoopLines.Seconds {
		return line.Line, line.Share.Point
	}
	if line, found := f.lineOfLateEnd(seconds); found {
		return line.Line, line.Share.Point
	}
	return diagnose.Line{}, math.NaN()
}

// lineOfLateEnd is the line that waits for a loader behind the last batch of each epoch. No step has that wait.
func (f *filler) lineOfLateEnd(seconds float64) (diagnose.LoopLine, bool) {
	line, found := f.LoopLines.FirstOf(diagnose.Awaiting)
	line.Kind = diagnose.LateEnd
	atEnds := f.Costs.EpochSteps > 0 && math.Round(f.Costs.Rare.Every) == math.Round(f.Costs.EpochSteps)
	return line, found && atEnds && f.LoopLines.Looks >= diagnose.FewLooks &&
		f.LoopLines.SecondsOf(diagnose.Awaiting) >= mostlyWork*seconds
}

// lineOfExchange is the line of backward, or of the program's own exchange of gradients, if ranks that accumulate
// gradients over several batches spend most of the time between steps there. They need to exchange in the last backward
// only.
func (f *filler) lineOfExchange(seconds float64) (diagnose.LoopLine, bool) {
	launches := f.Parts.Host > f.Parts.Long
	if launches || !exchanges(f.Case) || !(optimizedPerStep(f.Case) < mostlyAccumulates) {
		return diagnose.LoopLine{}, false
	}
	line, spent := diagnose.BusiestFunction(f.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		own := line.Kind == diagnose.Collective && recording.ContainsAny(line.Own.Function, "backward", "grad")
		return line.Own.File != "" && (own || line.Kind == diagnose.Launching && strings.Contains(line.Call.Function, "backward"))
	})
	line.Kind = diagnose.Exchanging
	return line, f.LoopLines.Looks >= diagnose.FewLooks && spent >= mostlyWork*seconds && spent > 0
}

// lineOfRanks is the line of backward, if the thread is blocked there for most of the time between steps, in each of
// which the ranks exchange gradients. The device idles then, so that no work of backward's own is waited for.
func (f *filler) lineOfRanks(seconds float64) (diagnose.LoopLine, bool) {
	launches := f.Parts.Host > f.Parts.Long
	if launches || !f.SeveralRanks || f.LoopLines.Looks < diagnose.FewLooks {
		return diagnose.LoopLine{}, false
	}
	for _, line := range f.LoopLines.Lines {
		blocked := line.Own.File != "" && strings.Contains(line.Call.Function, "backward") && line.Locked > 0
		if blocked && line.Locked >= mostlyWork*seconds {
			line.Kind = diagnose.OtherRanks
			return f.followToLateRank(line), true
		}
	}
	return diagnose.LoopLine{}, false
}

// mostlyAccumulates is the mean number of the optimizer's steps in a step, below which gradients are accumulated. [J]
const mostlyAccumulates = 0.6

// optimizedPerStep is how often the optimizer steps in a step of the loop.
func optimizedPerStep(c *diagnose.Case) float64 {
	sum := 0.0
	for _, s := range c.Costs.Window.Steps {
		sum += float64(s.Optimized)
	}
	return sum / float64(len(c.Costs.Window.Steps))
}

// workBesideSync is the first line of the class that works most, if all of the program's work on the host outside of
// its steps has most of the time between them: it lies on many lines, as that of a metric in plain Python.
func (f *filler) workBesideSync(seconds float64) (line diagnose.LoopLine, found bool) {
	whole := 0.0
	works := func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && !f.isSaved(line) && !f.isEvaluated(line) && !slices.Contains(beside, line.Kind) &&
			!line.Own.IsAt(f.Costs.SyncsAt) && line.Asleep < line.Seconds/2
	}
	for _, line := range f.LoopLines.Lines {
		if works(line) {
			whole += line.Seconds
		}
	}
	line, _ = diagnose.BusiestFunction(f.LoopLines.Lines, works)
	return line, f.LoopLines.Looks >= diagnose.FewLooks && whole >= mostlyWork*seconds && line.Own.File != ""
}

// ofLogs are kinds of work that comes with a value that is read of the device, to show or to keep it.
var ofLogs = []diagnose.Kind{
	diagnose.Pausing, diagnose.Logging, diagnose.Uploading, diagnose.Plotting, diagnose.Metrics, diagnose.Disk,
	diagnose.Writing,
}

// mostlyWork is the share of the time between steps that a line of the program works, from which it is named though it
// could hide behind the device's work if no step waited for the device. [J]
const mostlyWork = 0.5

// mostlyModel is the share of the looks at the launching thread from which one call of the model is where time goes
// between steps that nothing else explains. [J]
const mostlyModel = 0.5

// followToLateRank returns the line on which another rank works meanwhile, if it does so for a good part of the time
// in which this one waits for it, and more than this one; else the line of the wait.
func (f *filler) followToLateRank(wait diagnose.LoopLine) diagnose.LoopLine {
	for _, rank := range f.run.Windows() {
		if rank.PID == f.Costs.Window.PID {
			continue
		}
		all := live.FindLoopLines(f.run, rank.PID, f.From, f.To)
		if all.Evaluating >= workOfLateRank*wait.Seconds {
			line := diagnose.Line{Own: all.Evaluation, Kind: diagnose.Evaluating, Share: wait.Share}
			return diagnose.LoopLine{Line: line, Seconds: all.Evaluating}
		}
		for _, line := range all.Lines {
			works := line.Own.File != "" && line.Kind != diagnose.Collective && !slices.Contains(beside, line.Kind)
			more := line.Seconds - f.LoopLines.SecondsAt(line)
			if works && more >= workOfLateRank*wait.Seconds {
				return line
			}
		}
	}
	return wait
}

// workOfLateRank is the share of a wait in a collective in which another rank works on one line, from which that
// line is what is waited for. [J]
const workOfLateRank = 0.4

// whereIterated is the line that asks for most of the batches of a phase; "" unknown.
func (f *filler) whereIterated(phase recording.Phase) string {
	seconds := map[int]float64{}
	best := recording.OwnLoop
	for _, s := range f.steps {
		if s.Phase != phase || s.Loader == recording.OwnLoop || math.IsNaN(s.Period) {
			continue
		}
		if seconds[s.Loader] += s.Period; seconds[s.Loader] > seconds[best] {
			best = s.Loader
		}
	}
	if l := f.run.FindLoader(f.Costs.Window.PID, best); l != nil {
		return l.Where
	}
	return ""
}

// lineOf reads "train.py:41"; the zero Line where that is unknown.
func lineOf(where string) (l diagnose.Line) {
	if at := recording.ParseLine(where); at.Line > 0 {
		l.Own = at
	}
	return l
}
