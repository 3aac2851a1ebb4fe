package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Plan is what to do, most worth first, and what not to do.
type Plan struct {
	Fixes    []Fix
	Rejected []Rejected // what people would try next, and why not

	// Doubtful are those of the rejected that may well be worth it: a run would tell.
	Doubtful []Fix

	// Replay is a trace's replay without a change: a sanity check, no accuracy. Nil
	// where nothing was replayed.
	Replay *replay.Check

	// Law is the law's own account of the job as it is. Nil if it was not asked.
	Law *Explained
}

// Explained is a measured step and the step that the law computes from its costs, seconds.
// What that leaves out is inside of every forecast's interval.
type Explained struct{ Measured, Law float64 }

// Residual is 1 where the costs explain all of a step.
func (e Explained) Residual() float64 { return e.Measured / e.Law }

// Fix is one piece of advice.
type Fix struct {
	Name     string // the setting that gives it its name: "num_workers"
	Title    string
	Changes  []stoker.Change
	Forecast predict.Forecast
	Effort   Effort
	Risk     Risk
	Saves    string   // the saving of a change that need not be faster
	Where    string   // file:line of the DataLoader whose settings change; "" of none, or unknown
	At       string   // file:line of the program that it is about, where that makes no DataLoader; "" unknown
	Notes    []string // how many and why not more; the traps checked

	Beside bool // it changes another loader than the one whose steps are judged, that of evaluation
	Cause  bool // it takes away the cause that was named, and comes first

	// Run is the gain of the whole run, if that differs from its steps: of another row the
	// only gain. NaN if it does not differ.
	Run stoker.Interval

	// Mind is what to look at before the change is made; "" if nothing calls for it.
	Mind string

	// Untested says that no pair of runs, before and after such a change, was held
	// against its gain.
	Untested bool

	Lossless bool // no loss is known to be read: a change is said without the word
}

// InWords is a change that no line of a program makes, in words: whose cores a job is to have,
// and how it gets them, the title says. False of others.
func (f Fix) InWords(c stoker.Change) (string, bool) {
	if c.Setting != stoker.Cores || f.Name != string(stoker.Cores) {
		return "", false
	}
	return fmt.Sprintf("%s (%s)", f.Title, c), true
}

// Worth is what the fix is worth, in words.
func (f Fix) Worth() string {
	if f.Untested && !math.IsNaN(f.Forecast.Speedup.High) {
		return f.gain() + ", not validated"
	}
	return f.gain()
}

func (f Fix) gain() string {
	s := f.Forecast.Speedup
	switch {
	case math.IsNaN(s.High) && f.Run.High > 0:
		return "the run at most " + quantity.AboutRatio(f.Run.High) + " faster"
	case math.IsNaN(s.High):
		return "worth unknown"
	case math.IsNaN(s.Point):
		return fmt.Sprintf("at most %s faster", quantity.AboutRatio(s.High))
	case f.Saves != "" && s.Point < leastGain:
		return fmt.Sprintf("as fast: %s, and saves %s", quantity.Factor(s), f.Saves)
	}
	return fmt.Sprintf("%s faster (%.2f to %.2f)", quantity.AboutRatio(s.Point), s.Low, s.High)
}

// Rejected is a change that is not worth it here.
type Rejected struct {
	Name string `json:"fix"`
	Why  string `json:"why"`
	Gate Gate   `json:"gate,omitempty"` // that a gain of a trace did not pass; "" if the gain is too small
}

// Effort is what a change takes.
type Effort string

// The efforts, least first.
const (
	Flag    Effort = "flag"    // an argument
	Code    Effort = "code"    // a line of the loop
	Data    Effort = "data"    // moving the data set
	Machine Effort = "machine" // another machine or quota
)

var efforts = []Effort{Flag, Code, Data, Machine}

// Risk is what a change may break.
type Risk string

// The risks.
const (
	NoRisk     Risk = "none"
	MemoryRisk Risk = "memory" // takes host memory

	SeedRisk     Risk = "seed"     // random numbers differ, as with another seed
	NumericsRisk Risk = "numerics" // results differ in their last digits, or more
	LearningRisk Risk = "learning" // the optimizer sees other batches: the learning rate follows
)

// leastGain is the speed-up below which a change is not advised: forecasts of
// the closed law are wrong by several per cent, so less cannot be promised.
const leastGain = 1.05

// adviser is what the proposals look at.
type adviser struct {
	run     *recording.Run
	verdict diagnose.Verdict
	costs   measure.Costs
	base    predict.Baseline
}

// Rank proposes every change that applies to the run and that its evidence carries, and
// orders them by worth.
func Rank(run *recording.Run, verdict diagnose.Verdict) Plan {
	a := adviser{run: run, verdict: verdict, costs: verdict.Costs}
	t := a.replayable()
	return a.leadWith(a.spreadOverRun(a.onEvidence(t).admit(a.propose(t))))
}

// propose is every change that applies, by replay where there is something to replay.
func (a adviser) propose(t *replay.Trace) Plan {
	run, verdict := a.run, a.verdict
	if t != nil {
		return a.replayed(t)
	}
	if verdict.Device >= 0 && (!verdict.HasSteps || !verdict.Costs.Fed()) { // what a trace is about bounds the gain
		var plan Plan
		a.proposeTraced(&plan)
		return plan
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
		a.split, a.shards, a.oneThread, a.handOver, a.wholeBatches, a.outOfOrder, a.workers, a.collate, a.slow, a.feed, a.deferred,
		a.augment, a.onDevice, a.pinning,
		a.prefetch, a.persistence,
		a.proposeStorage, a.proposeCores, a.outside,
		a.decoded, a.onGPU, a.proposeBatchSize, a.tf32, a.half, a.compile,
	} {
		fix, why := propose()
		if a.hostOnly() {
			fix.Forecast = bounded(fix.Forecast)
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
	order(plan.Doubtful)
	a.proposeTraced(&plan)
	return plan
}

// aboutTheSame is the ratio of gains from which one is worth more than another.
const aboutTheSame = 1.05

// order sorts fixes by worth, those with only a bound last. Fixes worth about as much as
// the best of those that are left goes together, the easiest first: being about the same
// is not passed on from neighbour to neighbour, so the order does not depend on the input's.
func order(fixes []Fix) {
	worth := func(f Fix) float64 { return stat.Or(f.Forecast.Speedup.Point, 0) }
	most := func(f Fix) float64 { return stat.Or(f.Forecast.Speedup.High, 0) }
	decreasing := func(of func(Fix) float64) func(a, b Fix) int {
		return func(a, b Fix) int { return cmp.Compare(of(b), of(a)) }
	}
	compare := func(by ...func(a, b Fix) int) func(a, b Fix) int {
		return func(a, b Fix) int {
			for _, c := range by {
				if d := c(a, b); d != 0 {
					return d
				}
			}
			return cmp.Compare(fmt.Sprint(a.Changes), fmt.Sprint(b.Changes))
		}
	}
	effort := func(a, b Fix) int {
		return cmp.Compare(slices.Index(efforts, a.Effort), slices.Index(efforts, b.Effort))
	}
	slices.SortFunc(fixes, compare(decreasing(worth), decreasing(most), effort))
	for len(fixes) > 0 {
		same := 1
		for same < len(fixes) && worth(fixes[same]) > 0 && worth(fixes[same])*aboutTheSame >= worth(fixes[0]) {
			same++
		}
		slices.SortFunc(fixes[:same], compare(effort, decreasing(worth), decreasing(most)))
		fixes = fixes[same:]
	}
}

// orderPlan orders by worth, behind what takes the named cause away.
func orderPlan(fixes []Fix) {
	order(fixes)
	slices.SortStableFunc(fixes, func(a, b Fix) int {
		switch {
		case a.Cause == b.Cause:
			return 0
		case a.Cause:
			return -1
		}
		return 1
	})
}

func worthIt(f predict.Forecast) bool {
	if math.IsNaN(f.Speedup.Point) { // only bounded
		return f.Speedup.High >= leastGain
	}
	return f.Speedup.Point >= leastGain && f.Speedup.Low > 1
}

// worthIt is worthIt for a run. If it is not known why the device is idle, the
// law explains little of the step, and a gain must be one at its worst, too.
func (a adviser) worthIt(f predict.Forecast) bool {
	return worthIt(f) && (a.verdict.Class != diagnose.Unknown || f.Speedup.Low >= leastGain)
}

func notWorth(f predict.Forecast) string {
	switch {
	case f.Speedup.Known():
	case math.IsNaN(f.Speedup.High):
		return "its gain is unknown here"
	default:
		return atMostWorth(f.Speedup.High)
	}
	return noGain(f.Speedup.Point) + ": " + quantity.Factor(f.Speedup)
}

// atMostWorth says why a change is not advised of which only a bound is known.
func atMostWorth(most float64) string { return noGain(most) + ": at most " + quantity.AboutRatio(most) }

// noGain says whether a change is not advised for want of a gain, or of certainty.
func noGain(gain float64) string {
	if gain < leastGain {
		return "no measurable gain"
	}
	return "the gain is too uncertain"
}

// forecast solves the job with the changes.
func (a adviser) forecast(changes ...stoker.Change) predict.Forecast {
	return a.base.Forecast(changes...)
}

// makeChange builds a Change from the value as found.
func (a adviser) makeChange(name stoker.Setting, to any) stoker.Change {
	return stoker.Change{Setting: name, From: a.base.Settings[name], To: to}
}

// blind advises where no step was seen: what to change follows from the class,
// the gain does not, beyond the bound that an idle device sets.
func (a adviser) blind() Plan {
	switch class := a.verdict.Class; {
	case a.verdict.Most > 1:
		fix, _ := a.outside()
		return Plan{Fixes: []Fix{fix}}
	case class == diagnose.CPUBound, class == diagnose.MainThread && len(a.run.Facts.Loaders) == 0:
		return a.inWords()
	case class != diagnose.MainThread && class != diagnose.TooFewWorkers:
		return Plan{}
	}
	if edge := a.verdict.Ledger.Find(diagnose.RowEdge); edge.Line.Kind == diagnose.Iterating {
		return Plan{} // each batch starts workers of its own: more of them start later
	}
	cores := int(math.Max(1, math.Floor(a.costs.Cores)))
	from := any(a.costs.Workers)
	if a.costs.Uncounted {
		from = nil
	}
	return Plan{Fixes: []Fix{{
		Name: string(stoker.NumWorkers), Title: "load in worker processes",
		Changes:  []stoker.Change{{Setting: stoker.NumWorkers, From: from, To: max(cores, a.costs.Workers+1)}},
		Forecast: a.atMost(a.atIdle()),
		Effort:   Flag, Risk: MemoryRisk, Mind: a.verdict.Grounds.UnknownData(),
		Notes: []string{"no step was seen, so its worth is only bounded: at most 1/utilisation, and what the cores can do" + a.whyNoSteps()},
	}}}
}

// inWords advises where nothing tells of a DataLoader, so that there is no setting to
// name: the advice in words, and an upper bound of its gain.
func (a adviser) inWords() Plan {
	_, trace := diagnose.TakeTrace(a.verdict.Grounds.Framework)
	fix := Fix{
		Name: "input-ahead", Title: "prepare what the next step needs while the device works on this one", Effort: Code,
		Risk:     MemoryRisk,
		Forecast: a.atMost(min(a.atIdle(), atOverlap(a.verdict.Idle))),
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
	if !worthIt(fix.Forecast) { // the host's work is too long to hide: several have to do it
		fix.Title, fix.Forecast = "prepare the input of several steps at a time, in worker processes", a.atMost(a.atIdle())
	}
	if !worthIt(fix.Forecast) {
		return Plan{Rejected: []Rejected{{Name: fix.Name, Why: notWorth(fix.Forecast)}}}
	}
	return Plan{Fixes: []Fix{fix}}
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
	if !worthIt(fix.Forecast) {
		return Plan{Rejected: []Rejected{{Name: fix.Name, Why: notWorth(fix.Forecast)}}}
	}
	return Plan{Fixes: []Fix{fix}}
}

// atIdle is what a device that never idles would be worth: no more than the cores can
// do. A launching thread that spins for the device may do so while that works, and no
// longer.
func (a adviser) atIdle() float64 {
	util := 1 - a.verdict.Idle
	if !(util > 0) {
		return math.NaN()
	}
	most := 1 / util
	cores, used := a.run.Facts.Machine.Cores(), a.costs.CoresUse-util
	if cores > 0 && used > 0 {
		most = max(1, min(most, cores/used))
	}
	return most
}

// atOverlap is the upper bound of running work of the host at the same time as the device's own and not
// in turns with it, if it takes such a share of the time: (a + b)/max(a, b). It gets no
// shorter by that.
func atOverlap(share float64) float64 { return 1 / max(share, 1-share) }

// atRemoval is the upper bound of removing a share of the time.
func atRemoval(share float64) float64 { return 1 / (1 - min(share, mostRemoved)) }

// mostRemoved is the share of the time that a bound is drawn for: beyond it the rest was not
// measured as well as that. [J]
const mostRemoved = 0.99

// atMost is a forecast that is only bounded.
func (a adviser) atMost(most float64) predict.Forecast {
	f := predict.NoForecast()
	if !math.IsNaN(most) {
		f.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: most}
	}
	return f
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
