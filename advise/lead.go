package advise

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// leadWith puts what helps the row that costs the run most before all else. A change of a setting
// that the plan has already, as workers that stay from epoch to epoch, comes first.
func (a adviser) leadWith(plan Plan) Plan {
	lead := a.verdict.Lead
	if lead == nil {
		return a.shortenOwn(a.evaluateLess(plan))
	}
	if lead.Class == diagnose.WaitsOutside {
		return Plan{} // no input is no fault of the program
	}
	if lead.Name == diagnose.RowEdge && !lead.IsOwnWork() && a.costs.Workers == 0 && len(plan.Fixes) > 0 {
		return plan // num_workers=0: a change that makes each batch cheaper helps the first one as well
	}
	for i, f := range plan.Fixes {
		if lead.Name == diagnose.RowEdge && f.Name == string(stoker.PersistentWorkers) && !lead.IsOwnWork() {
			copy(plan.Fixes[1:i+1], plan.Fixes[:i])
			plan.Fixes[0] = f
			return plan
		}
	}
	fix := Fix{
		Name: string(lead.Name), Title: lead.Advice(), Forecast: predict.NoForecast(), Effort: Code,
		Risk: riskOfLine(lead.Line.Kind), Mind: mindOfRow(lead.Row),
		Run: stoker.Interval{Low: 1, Point: math.NaN(), High: lead.Most},
	}
	if at := lead.Line.Short(); at != "" {
		fix.At = at
	}
	if other := a.verdict.Measured.Beside; lead.Line.Kind == diagnose.Locking && other.Own.File != "" {
		fix.Title, fix.At = whileHeld, other.Short()
	}
	switch lead.Name {
	case diagnose.RowEvaluation:
		a.feedEvaluation(&fix, lead)
	case diagnose.RowBetween:
		if lead.Line.Kind == diagnose.Syncing {
			fix.Mind = readsDecide
		}
		if lead.Line.Kind == diagnose.Syncing && lead.Passes {
			fix.Mind = resultsDecide
		}
	case diagnose.RowEdge:
		if !lead.IsOwnWork() {
			a.bridgeEpochs(&fix, lead)
		} else if lead.MakesAnew() {
			fix.Mind = "whether it is the same in every epoch"
		} else if lead.Line.Kind != diagnose.Iterating && lead.Line.Kind != diagnose.Sampling {
			fix.Mind = "whether training goes on by what comes of it (early stopping, a schedule)"
		}
	default:
	}
	syncing := lead.Name == diagnose.RowBetween && lead.Line.Kind == diagnose.Syncing
	same := func(f Fix) bool { // the step's own advice on that line
		if syncing && f.readsLess() && f.At == fix.At {
			return true
		}
		return f.Name == diagnose.SlowTransform && lead.Line.Own.File != "" &&
			strings.HasSuffix(f.Title, lead.Line.String())
	}
	plan.Fixes = append([]Fix{fix}, slices.DeleteFunc(plan.Fixes, same)...)
	if lead.Name == diagnose.RowBetween && !syncing {
		plan = a.doubtReads(plan, a.verdict.Ledger.Recurring()/lead.Seconds)
	}
	return plan
}

// shortenOwn proposes to shorten the program's own work that costs most beside the steps, if other programs have the
// cores: it is there on a free machine as well.
func (a adviser) shortenOwn(plan Plan) Plan {
	all := a.verdict.Ledger.Recurring()
	named := len(plan.Fixes) > 0 && plan.Fixes[0].Name == diagnose.SlowTransform
	if a.verdict.Class != diagnose.Neighbour || !(all > 0) || named {
		return plan
	}
	own := diagnose.Row{Saves: diagnose.LeadingUnknown * all}
	for _, r := range a.verdict.Ledger.Rows {
		work := r.Name == diagnose.RowBetween || r.Name == diagnose.RowCheckpoint
		if work && r.IsOwnWork() && !r.Line.Kind.IsWait() && r.Line.Kind != diagnose.Launching && r.Saves > own.Saves {
			own = r
		}
	}
	lead := diagnose.Lead{Row: own, Class: diagnose.ClassOfRow(own.Name), Every: math.NaN()}
	same := func(f Fix) bool { return strings.HasSuffix(f.Title, own.Line.String()) }
	if own.Line.Own.File == "" || slices.ContainsFunc(plan.Fixes, same) {
		return plan
	}
	fix := Fix{
		Name: string(own.Name), Title: lead.Advice(), At: own.Line.Short(),
		Effort: Code, Risk: riskOfLine(own.Line.Kind), Mind: mindOfRow(own), Forecast: predict.NoForecast(),
		Run:   stoker.Interval{Low: 1, Point: math.NaN(), High: atRemoval(own.Saves / all)},
		Notes: []string{own.Line.Kind.Words() + ": " + own.Line.String()},
	}
	lines := a.verdict.Measured.LoopLines
	if first := plan.Fixes; len(first) > 0 && first[0].readsLess() && lines.WorksWithWait(own.Line.Own, first[0].At) {
		plan = a.doubtReads(plan, atRemoval(own.Saves/all)) // it reads what it works on
		plan.Fixes = append([]Fix{fix}, plan.Fixes...)
		return plan
	}
	plan.Fixes = append(plan.Fixes, fix)
	return plan
}

// mindOfRow is what to know before a row is made shorter; "" nothing.
func mindOfRow(r diagnose.Row) string {
	if mind := mindOfLine(r.Line.Kind); mind != "" {
		return mind
	}
	if r.Name == diagnose.RowCheckpoint || r.Line.Kind == diagnose.Saving || r.Line.Kind == diagnose.SaveQueue {
		return "how much work may be lost: a run that fails loses all since its last checkpoint"
	}
	if r.Name == diagnose.RowSkipping {
		return "how long the whole run is: batches are skipped once, when it is resumed"
	}
	return ""
}

// readsLess reports whether it is that values are read from the device less often.
func (f Fix) readsLess() bool {
	return slices.ContainsFunc(f.Changes, func(c stoker.Change) bool { return c.Setting == stoker.SyncEvery })
}

// doubtReads moves changes that read values less often to the doubtful ones if other work of the host costs more: that
// work may need them. It bounds their gain as well: no step gets shorter than the host's own work.
func (a adviser) doubtReads(plan Plan, most float64) Plan {
	var fixes []Fix
	for _, f := range plan.Fixes {
		if !f.readsLess() {
			fixes = append(fixes, f)
			continue
		}
		if f.Forecast.Speedup.High > most {
			f.Forecast = a.atMost(most)
		}
		plan.Doubtful = append(plan.Doubtful, f)
	}
	plan.Fixes = fixes
	return plan
}

// muchEvaluation is the share of a run without its start and end that evaluation takes, from which less of it is
// proposed. [J]
const muchEvaluation = 0.2

// evaluateLess proposes to evaluate less often, if evaluation keeps the device busy and takes much of a run that
// trains.
func (a adviser) evaluateLess(plan Plan) Plan {
	r, train := a.verdict.Ledger.Find(diagnose.RowEvaluation), a.verdict.Ledger.Find(diagnose.RowTraining)
	share := r.Seconds / a.verdict.Ledger.Recurring()
	if !(share >= muchEvaluation) || r.Count < 2 || !(train.Seconds > 0) {
		return plan
	}
	title, effort := "evaluate less often (eval_steps, once in several epochs), or on fewer samples", Flag
	for _, f := range a.verdict.Findings {
		if f.Advice == diagnose.EvaluateOnAllAdvice {
			title, effort = f.Advice, Code
		}
	}
	plan.Fixes = append(plan.Fixes, Fix{
		Name: string(diagnose.RowEvaluation), Title: title,
		At: r.Line.Short(), Effort: effort, Risk: NoRisk, Forecast: predict.NoForecast(),
		Run:   stoker.Interval{Low: 1, Point: math.NaN(), High: atRemoval(share)},
		Mind:  "whether training goes on by what comes of it (early stopping, the best checkpoint)",
		Notes: []string{fmt.Sprintf("evaluation takes %s of the time of training and evaluation", quantity.Percent(share))},
	})
	return plan
}

// bridgeEpochs says what helps at the edge of epochs of a loader as it is set.
func (a adviser) bridgeEpochs(fix *Fix, lead *diagnose.Lead) {
	l := a.judgedLoader()
	if l == nil || l.Kind != "" {
		return
	}
	if a.costs.StartsWithWork() {
		fix.Title = fmt.Sprintf("the first batch of an epoch takes a worker %s of its own work, in each epoch again: a smaller "+
			"shuffle buffer, an index that is read once and kept, or a data set that goes on from epoch to epoch",
			quantity.AboutSeconds(a.costs.FirstFetch))
		if line := a.verdict.Lines; len(line) > 0 && line[0].Own.File != "" {
			fix.At = line[0].Short()
		}
		return
	}
	stay, _ := l.Settings.Bool(stoker.PersistentWorkers)
	workers, known := l.Settings.Int(stoker.NumWorkers)
	if lines := a.verdict.Lines; workers > 0 && !stay && a.costs.StartsWithBatch() && len(lines) > 0 {
		fix.Title, fix.At = fmt.Sprintf(firstIsWork, quantity.AboutSeconds(a.costs.Fetch)), lines[0].Short()
		return
	}
	if l.Changes {
		fix.Mind = changesData
		fix.Title = "load in worker processes that are started for each epoch's data (num_workers)"
		if !known || workers > 0 {
			fix.Title = "change the data set less often, or hand what changes over in a tensor in shared memory " +
				"(share_memory_()): the workers are started anew for each epoch's data"
		}
		if known && workers > 0 && l.Anew {
			fix.Title, fix.At = oneForAll, path.Base(l.Call)
		}
		return
	}
	if known && workers > 0 && l.Anew {
		fix.Title, fix.At = makeOnce, path.Base(l.Call)
		return
	}
	if !known {
		return
	}
	if workers > 0 && !stay {
		fix.Changes = []stoker.Change{{Setting: stoker.PersistentWorkers, From: false, To: true}}
		fix.Title, fix.Effort, fix.At, fix.Where = "keep the workers from epoch to epoch", Flag, "", placeOfLoader(l)
		return
	}
	if workers > 0 && lead.Line.Kind == diagnose.StartingWorkers { // they stay, so that none is started
		fix.Title = "keep large tables out of the data set, in a file, a memory map or an array. The loader's __iter__ works long " +
			"at each epoch: an IterDataPipe is pickled whole to find the pipes in it, and a map-style data set is not"
		return
	}
	fix.Title = fmt.Sprintf("make epochs longer for the loader: a sampler that goes over the data several times before it "+
		"ends. An epoch has %.0f batches now, and the queue of %s is filled anew in each",
		a.costs.EpochSteps, quantity.Many(workers, "worker"))
	if workers > 0 && a.costs.EpochSteps <= float64(2*workers) {
		fix.Title += ". Smaller batches share an epoch's work out more evenly, and alter training"
	}
	if workers == 0 {
		fix.Title = "load in worker processes (num_workers, persistent_workers=True): the loop prepares the first batch by itself"
	}
}

// firstIsWork is what helps if a worker takes as long for the first batch of an epoch as the device waits for it.
const firstIsWork = "one worker prepares the first batch of an epoch alone, which takes it %s: make that cheaper. More workers and " +
	"workers that stay do not shorten it, unless the line does what a worker needs to do once. They do in longer epochs, by a " +
	"sampler that goes over the data several times. Smaller batches share it out, and alter training"

// oneForAll is what keeps the workers of a loader that is made for each epoch over other samples.
const oneForAll = "make one DataLoader over all of the data, with persistent_workers=True, and give each epoch's samples " +
	"by its sampler (indices that change from epoch to epoch), not by another data set"

// changesData is what to know before workers stay where the program changes its data set between epochs.
const changesData = "the program changes its data set between epochs: workers that stay go on with what they have"

// muchSmaller is how many times training's batch is an evaluation's, from which the evaluation's is too small. [J]
const muchSmaller = 4

// batchesOf is how many samples a batch of a loader has, and one of training; 0 unknown.
func (a adviser) batchesOf(evaluation *recording.Loader) (its, trainings int) {
	its, _ = evaluation.Settings.Int(stoker.BatchSize)
	if l := a.judgedLoader(); l != nil {
		trainings, _ = l.Settings.Int(stoker.BatchSize)
	}
	return its, trainings
}

// feedEvaluation proposes workers for the loader of an evaluation that is short of batches.
func (a adviser) feedEvaluation(fix *Fix, lead *diagnose.Lead) {
	loader := a.findLoaderAt(lead.Line.Own)
	if its := a.findEvaluated(); loader != nil && its != nil && its.Where == loader.Where { // one loop for both
		loader = its
	}
	if loader == nil {
		if lead.Line.Kind == diagnose.Syncing { // fewer batches are waited for
			a.enlargeEvaluation(fix, lead, a.findEvaluated())
		}
		return
	}
	stays, known := loader.Settings.Bool(stoker.PersistentWorkers)
	late := a.lateFirsts(loader.ID)
	starts := lead.Line.Kind == diagnose.StartingWorkers || late >= mostlyFirsts && !loader.Anew
	workers, _ := loader.Settings.Int(stoker.NumWorkers)
	if starts && workers > 0 && known && !stays && !loader.Changes {
		fix.Changes = []stoker.Change{{Setting: stoker.PersistentWorkers, From: false, To: true}}
		fix.Title, fix.Effort = "keep the workers of evaluation's loader", Flag
		fix.Where, fix.Beside = placeOfLoader(loader), true
		if lead.Line.Kind == diagnose.StartingWorkers {
			share := quantity.Percent(lead.LineShare)
			fix.Notes = []string{"starting and ending its workers takes " + share + " of evaluation"}
			return
		}
		fix.Notes = []string{fmt.Sprintf("its workers start anew for each evaluation: first batches have %s of the wait "+
			"for batches", quantity.Percent(late))}
		return
	}
	if a.enlargeEvaluation(fix, lead, loader) {
		return
	}
	if loader.Kind != "" || loader.Iterable || lead.MostlyWaitsFor() != diagnose.WaitInput {
		return
	}
	now, counted := loader.Settings.Int(stoker.NumWorkers)
	to := a.workersForEvaluation(now)
	if !counted || to <= now {
		return
	}
	fix.Changes = []stoker.Change{{Setting: stoker.NumWorkers, From: now, To: to}}
	fix.Title, fix.Effort, fix.Risk = "load evaluation in worker processes", Flag, MemoryRisk
	fix.Where, fix.Beside = placeOfLoader(loader), true
	fix.Mind = "whether it can take more of the cores while it runs: training's workers wait meanwhile"
	batches, work, wait := a.evaluationOf(loader.ID)
	if batches == 0 {
		return
	}
	each := max(work, wait/float64(to)*float64(max(1, now)))
	fix.Notes = []string{fmt.Sprintf(
		"a batch of evaluation takes %s now, and waits %s of it for its data. With %s it takes %s at best",
		quantity.AboutSeconds(work+wait), quantity.AboutSeconds(wait), quantity.Many(to, "worker"),
		quantity.AboutSeconds(each))}
}

// mostlyFirsts is the part of an evaluation's waits for batches that its first batches have, from which workers that
// stay are proposed. [J]
const mostlyFirsts = 0.5

// lateFirsts is the part of all waits for a loader's batches in evaluation that is for first ones; 0 if it is seldom
// asked again.
func (a adviser) lateFirsts(loader int) float64 {
	first, all, passes := 0.0, 0.0, 0
	for _, s := range a.run.Steps {
		if s.PID != a.costs.Window.PID || s.Loader != loader || s.Phase != recording.Evaluate {
			continue
		}
		if all += stat.Or(s.Wait, 0); s.First {
			first, passes = first+stat.Or(s.Wait, 0), passes+1
		}
	}
	if passes < 2 || !(all > 0) {
		return 0
	}
	return first / all
}

// enlargeEvaluation proposes larger batches of a loader for evaluation, if its batches are much smaller than
// training's.
func (a adviser) enlargeEvaluation(fix *Fix, lead *diagnose.Lead, loader *recording.Loader) bool {
	if loader == nil {
		return false
	}
	now, to := a.batchesOf(loader)
	if now <= 0 || now*muchSmaller > to {
		return false
	}
	fix.Changes = []stoker.Change{{Setting: stoker.BatchSize, From: now, To: to}}
	fix.Title, fix.Effort = "evaluate in batches as large as training's", Flag
	fix.Where, fix.Beside = placeOfLoader(loader), true
	fix.Notes = []string{"evaluation keeps no gradients, so a batch that fits in training fits there. Means of batches " +
		"have to be weighted by their samples"}
	fix.Run.High = atRemoval(lead.Seconds / a.verdict.Ledger.Recurring()) // the device's part gets shorter as well
	return true
}

// findEvaluated is the judged process's loader that evaluation takes most batches from; nil without one.
func (a adviser) findEvaluated() *recording.Loader {
	batches, most := map[int]int{}, -1
	for _, s := range a.run.Steps {
		if s.PID == a.costs.Window.PID && s.Phase == recording.Evaluate && s.Loader >= 0 {
			if batches[s.Loader]++; most < 0 || batches[s.Loader] > batches[most] {
				most = s.Loader
			}
		}
	}
	return a.run.FindLoader(a.costs.Window.PID, most)
}

// workersForEvaluation is how many workers evaluation may have: as many as training has, whose wait
// meanwhile, else as many as there are cores.
func (a adviser) workersForEvaluation(now int) int {
	if n := a.costs.Workers; n > now {
		return n
	}
	return max(now, int(a.run.Facts.Machine.Cores()))
}

// evaluationOf is how many batches of a loader were evaluated, and how long one takes without its
// wait, and the wait, seconds in the mean.
func (a adviser) evaluationOf(loader int) (n int, work, wait float64) {
	for _, s := range a.run.Steps {
		if s.PID == a.costs.Window.PID && s.Loader == loader && s.Phase == recording.Evaluate && s.Period > 0 {
			n, work, wait = n+1, work+s.Period-stat.Or(s.Wait, 0), wait+stat.Or(s.Wait, 0)
		}
	}
	return n, work / float64(n), wait / float64(n)
}

// findLoaderAt is the judged process's loader that a line makes.
func (a adviser) findLoaderAt(at recording.Place) *recording.Loader {
	for i := range a.run.Facts.Loaders {
		l := &a.run.Facts.Loaders[i]
		if l.PID == a.costs.Window.PID && l.Where != "" && at.IsAt(l.Where) {
			return l
		}
	}
	return nil
}

// spreadOverRun says what each change of the steps gains the run: evaluation, checkpoints and the
// like stay as they are.
func (a adviser) spreadOverRun(plan Plan) Plan {
	all, steps := a.verdict.Ledger.Recurring(), 0.0
	for _, r := range a.verdict.Ledger.Rows {
		switch r.Name {
		case diagnose.RowTraining, diagnose.RowInference, diagnose.RowBetween, diagnose.RowRanks, diagnose.RowEdge:
			steps += r.Seconds
		default:
		}
	}
	for _, fixes := range [][]Fix{plan.Fixes, plan.Doubtful} {
		for i := range fixes {
			fixes[i].Run = nothingKnown
			if s := fixes[i].Forecast.Speedup; all > 0 && steps <= mostlySteps*all {
				part := steps / all
				fixes[i].Run = stoker.Interval{
					Low: overRun(s.Low, part), Point: overRun(s.Point, part), High: overRun(s.High, part),
				}
			}
		}
	}
	if a.costs.Window.TurnTime > 0 {
		a.spreadOverTurns(&plan)
	}
	return plan
}

// mostlySteps is the share of a run that its steps take from which their gain is the run's. [J]
const mostlySteps = 0.95

var nothingKnown = stoker.Interval{Low: math.NaN(), Point: math.NaN(), High: math.NaN()}

// overRun is the gain of a whole of which a share gains.
func overRun(gain, share float64) float64 { return 1 / (1 - share + share/gain) }
