package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Traced is one trace with its verdict and its analysis.
type Traced struct {
	Run     *recording.Run
	Verdict diagnose.Verdict
	Gaps    *idle.Analysis
}

// TraceOutcome is the answer to the question what changed between two traces. Its Outcome
// compares the time of a step on the device clock; rows are per step.
type TraceOutcome struct {
	Outcome
	// share of the device's time in kernels or operators that both traces have, by name; 0 to 1
	Alike    float64
	Rows     []Row           // time, shares, causes, launches
	Work     []Row           // kernels, copies and collectives by name, largest change first
	Promises []TracedPromise // advised fixes of the trace before that were made
}

// Row is one quantity per step, before and after.
type Row struct {
	Group  string // "step", "share", "cause", "launches", "kernel", "copy", "collective", "set"
	Name   string
	Unit   string // "s", "ratio", "calls"
	Before StepRange
	After  StepRange
	Calls  [2]float64 // calls per step, for work; NaN for other rows
	Bytes  [2]float64 // recorded bytes per step, for copies and collectives; NaN if none
}

// Only returns "new" or "gone" for work that is in only one of the two traces, else "".
func (r Row) Only() string {
	switch {
	case r.Calls[0] == 0 && r.Calls[1] > 0:
		return "new"
	case r.Calls[1] == 0 && r.Calls[0] > 0:
		return "gone"
	}
	return ""
}

// StepRange is a quantity over the judged steps: mean, minimum and maximum.
type StepRange struct {
	Mean  float64 `json:"mean"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// TracedPromise is a fix that was advised for the trace before, with its promise.
type TracedPromise struct {
	Fix      string          `json:"fix"`
	Changes  []stoker.Change `json:"changes"`
	Promised stoker.Interval `json:"promised"`
	Kept     PromiseState    `json:"kept"`
	Asked    bool            `json:"-"` // the user says that this is the change; otherwise the files must show it
}

// Thresholds for comparing traces. [J]
const (
	fewestTraced = 3   // steps of a side: two say nothing about spread
	sameProgram  = 0.5 // share of the device's time under common names, below which the programs count as different
)

// Traces compares traces step by step; each side needs at least three steps. A side may have
// several traces of the same program; the rows of work by name come from the first. promises
// are the fixes advised for the trace before; the first that Changes shows to have been made is
// judged.
func Traces(before, after []Traced, promises []TracedPromise) TraceOutcome {
	was, now := sideOf(before), sideOf(after)
	o := TraceOutcome{Outcome: Outcome{
		Basis: PerStep, Difference: NotCompared, Promise: untestedPromise(stoker.Unknown()), Changes: []stoker.Change{},
		Before: was.makeSide(), After: now.makeSide(), Was: string(was.Verdict.Class), Now: string(now.Verdict.Class),
		Emulated: slices.ContainsFunc(slices.Concat(before, after), func(t Traced) bool { return t.Run.Emulated() }),
		Warnings: []string{},
	}, Promises: promises}
	o.Refused = cmp.Or(was.refusal("before"), now.refusal("after"))
	if len(was.parts) == 0 || len(now.parts) == 0 {
		return o
	}
	o.Alike = alike(was, now)
	o.Changes = append(o.Changes, Changes(was.Run, now.Run)...)
	if c, changed := loadsElsewhere(was, now); changed && !slices.ContainsFunc(o.Changes,
		func(o stoker.Change) bool { return o.Setting == c.Setting }) {
		o.Changes = append(o.Changes, c)
	}
	// also for too few steps, because these are facts of the recording
	o.Rows, o.Work = rowsOf(was, now), workOf(was, now)
	o.addDoubts(was, now)
	if o.Refused == "" {
		o.tell(was, now)
	}
	return o
}

// traceSide holds the judged steps of one side's traces.
type traceSide struct {
	Traced             // the first trace
	parts  []idle.Part // of all traces
	works  []idle.Named
	times  [][]float64 // seconds of each step, by trace
}

// sideOf collects the judged steps of a side's traces.
func sideOf(traces []Traced) traceSide {
	s := traceSide{Traced: traces[0]}
	for i, t := range traces {
		parts, works := t.steps()
		if i == 0 {
			s.works = works
		}
		s.parts = append(s.parts, parts...)
		times := make([]float64, len(parts))
		for n, p := range parts {
			times[n] = float64(p.To-p.From) / 1e9
		}
		s.times = append(s.times, times)
	}
	return s
}

// steps returns the judged steps; none if no device worked.
func (t Traced) steps() ([]idle.Part, []idle.Named) {
	for i := range t.Gaps.Devices {
		if d := &t.Gaps.Devices[i]; t.Verdict.Device >= 0 && int(d.Index) == t.Verdict.Device {
			return t.Gaps.PerStep(d)
		}
	}
	return nil, nil
}

// refusal says why a side cannot be compared; "" if it can.
func (s traceSide) refusal(name string) string {
	if s.Verdict.Device < 0 {
		return fmt.Sprintf("the trace %s holds no work of a device", name)
	}
	if n := s.fewest(); n < fewestTraced {
		return fmt.Sprintf(
			"the trace %s has %d steady step%s, %d are needed to tell a difference from their spread: record five and more", name, n, quantity.Ending(n, "", "s"), fewestTraced)
	}
	return ""
}

// fewest returns the number of steps of the shortest trace.
func (s traceSide) fewest() int {
	n := len(s.times[0])
	for _, times := range s.times[1:] {
		n = min(n, len(times))
	}
	return n
}

// makeSide returns the number of steps and their total time.
func (s traceSide) makeSide() Side {
	side := Side{Runs: len(s.times), Steps: len(s.parts)}
	for _, p := range s.parts {
		side.Seconds += float64(p.To-p.From) / 1e9
	}
	return side
}

// measure estimates the mean time of a step from all traces.
func (s traceSide) measure() sample {
	samples := make([]sample, len(s.times))
	for i, times := range s.times {
		samples[i] = fewMeasured(times)
	}
	return together(samples)
}

// tell fills in the times of a step and what their ratio proves.
func (o *TraceOutcome) tell(was, now traceSide) {
	a, b := was.measure(), now.measure()
	o.Before.fill(a, 0)
	o.After.fill(b, 0)
	if o.Alike < sameProgram {
		return // a speed-up between different programs has no meaning
	}
	ratio := a.over(b)
	floor := noise(ratio)
	o.Speedup, o.Noise, o.Difference = &ratio, &floor, differ(ratio)
	o.Promises = slices.DeleteFunc(slices.Clone(o.Promises), func(p TracedPromise) bool {
		return !p.Asked && !carriedOut(p.Changes, o.Changes) // a fix that was not made promises nothing
	})
	for i := range o.Promises {
		held := hold(o.Promises[i].Promised, ratio)
		if o.Promises[i].Kept = held.Kept; o.Promise.Promised == nil {
			o.Promise = held
		}
	}
	if o.Promise.Promised == nil {
		o.Promise = Promise{Kept: NotPromised, Achieved: &ratio}
	}
	o.fillNeeded()
}

// loadsElsewhere returns the change from loading in the main process to workers, or back, found
// by the names of the iterators. A trace need not record the number of workers.
func loadsElsewhere(was, now traceSide) (stoker.Change, bool) {
	marks := func(s traceSide, iterator string) bool {
		return slices.ContainsFunc(s.Run.Timeline.Names, func(name string) bool {
			return strings.Contains(name, iterator)
		})
	}
	const single, several = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"
	switch {
	case marks(was, single) && !marks(was, several) && marks(now, several) && !marks(now, single):
		return stoker.Change{Setting: stoker.NumWorkers, From: 0}, true
	case marks(was, several) && !marks(was, single) && marks(now, single) && !marks(now, several):
		return stoker.Change{Setting: stoker.NumWorkers, To: 0}, true
	}
	return stoker.Change{}, false
}

// carriedOut reports whether the first change of a fix was found, with the same value or with
// an unknown one.
func carriedOut(changes, found []stoker.Change) bool {
	return len(changes) > 0 && slices.ContainsFunc(found, func(c stoker.Change) bool {
		return c.Setting == changes[0].Setting && (c.To == nil || fmt.Sprint(c.To) == fmt.Sprint(changes[0].To))
	})
}

// fewMeasured summarises times like takeSample, but also fewer than leastSteps, which it treats
// as independent; addDoubts warns about that.
func fewMeasured(times []float64) sample {
	n := len(times)
	if n >= leastSteps {
		return takeSample(times)
	}
	s := sample{
		steps: float64(n), mean: stat.Mean(times), median: stat.Median(times), spread: stat.CV(times),
		rare: float64(n), independent: float64(n), runs: 1,
	}
	s.alone = student95(n-1) * s.spread / math.Sqrt(float64(n))
	s.paired = s.alone
	return s
}

// student95 returns the two-sided 95 % quantile of Student's t distribution for few degrees of
// freedom.
func student95(degrees int) float64 {
	table := [...]float64{
		1: 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
		2.145, 2.131, 2.120, 2.110, 2.101,
	}
	return table[min(degrees, len(table)-1)]
}

// addDoubts adds warnings about the comparison and those of both verdicts.
func (o *TraceOutcome) addDoubts(was, now traceSide) {
	w := &work{}
	if o.Alike < sameProgram {
		w.addWarning("these are different programs: %s of the device's time is under names that both have, of "+
			"kernels or operators. What follows compares as far as names agree", quantity.Percent(o.Alike))
	}
	if n, m := was.fewest(), now.fewest(); min(n, m) < leastSteps {
		w.addWarning("%d and %d steps are few: the interval takes them as independent of each other, and cannot see "+
			"what changes slowly", n, m)
	}
	if a, b := was.Verdict.Rank, now.Verdict.Rank; a != b {
		w.addWarning("rank %d is judged before, rank %d after", a, b)
	}
	if a, b := len(was.Run.Timeline.Frames.Start) > 0, len(now.Run.Timeline.Frames.Start) > 0; a != b {
		w.addWarning("only one of the two was recorded with stacks, which slow the host")
	}
	if a, b := was.deviceName(), now.deviceName(); a != b && a != "" && b != "" {
		w.addWarning("another device: %s before, %s after", a, b)
	}
	for _, side := range []struct {
		name string
		traceSide
	}{{"before", was}, {"after", now}} {
		for _, text := range side.Verdict.Warnings {
			w.addWarning("the trace %s: %s", side.name, text)
		}
	}
	o.Warnings = w.warnings
}

// deviceName returns the name of the judged device; "" if unknown.
func (s traceSide) deviceName() string {
	if at := s.Run.Timeline.Devices[s.Verdict.Device].GPU; at >= 0 && at < len(s.Run.Facts.GPUs) {
		return s.Run.Facts.GPUs[at].Name
	}
	return ""
}

// name returns the name of a piece of work.
func (s traceSide) name(n idle.Named) string { return s.Run.Timeline.Names[n.Name] }

// spreadOf returns a quantity over all steps, in the unit of the function.
func (s traceSide) spreadOf(of func(idle.Part) float64) StepRange {
	var values []float64
	for _, p := range s.parts {
		values = append(values, of(p))
	}
	return spread(values)
}

// spread returns mean, minimum and maximum.
func spread(values []float64) StepRange {
	return StepRange{stat.Mean(values), slices.Min(values), slices.Max(values)}
}

// shareOf returns a part of the total time of all steps. The mean of the steps' shares would be
// another number if steps differ in length; the verdict uses this one.
func (s traceSide) shareOf(of func(idle.Part) int64) float64 {
	part, all := int64(0), int64(0)
	for _, p := range s.parts {
		part, all = part+of(p), all+p.To-p.From
	}
	return float64(part) / float64(max(1, all))
}

// rowsOf returns the quantities that every trace has.
func rowsOf(was, now traceSide) []Row {
	var rows []Row
	add := func(group, name, unit string, of func(idle.Part) float64) {
		row := Row{
			Group: group, Name: name, Unit: unit, Before: was.spreadOf(of), After: now.spreadOf(of),
			Calls: [2]float64{math.NaN(), math.NaN()}, Bytes: [2]float64{math.NaN(), math.NaN()},
		}
		if row.Before.Most > 0 || row.After.Most > 0 {
			rows = append(rows, row)
		}
	}
	seconds := func(of func(idle.Part) int64) func(idle.Part) float64 {
		return func(p idle.Part) float64 { return float64(of(p)) / 1e9 }
	}
	share := func(of func(idle.Part) int64) func(idle.Part) float64 {
		return func(p idle.Part) float64 { return float64(of(p)) / float64(p.To-p.From) }
	}
	add("step", "time", "s", seconds(func(p idle.Part) int64 { return p.To - p.From }))
	addShare := func(name string, of func(idle.Part) int64) {
		add("share", name, "ratio", share(of))
		if n := len(rows); n > 0 && rows[n-1].Name == name && rows[n-1].Group == "share" {
			rows[n-1].Before.Mean, rows[n-1].After.Mean = was.shareOf(of), now.shareOf(of)
		}
	}
	addShare("kernel", func(p idle.Part) int64 { return p.Kernel })
	addShare("copy alone", func(p idle.Part) int64 { return p.Copy })
	addShare("communication alone", func(p idle.Part) int64 { return p.Communication })
	addShare("idle", func(p idle.Part) int64 { return p.Idle })
	for c := range idle.Causes {
		add("cause", idle.Cause(c).String(), "s", seconds(func(p idle.Part) int64 { return p.Causes[c] }))
	}
	add("launches", "calls that launch", "calls", func(p idle.Part) float64 { return float64(p.Launches) })
	add("launches", "pieces of work", "calls", func(p idle.Part) float64 { return float64(p.Works) })
	return rows
}

// workOf returns a row for each name of work, largest change first.
func workOf(was, now traceSide) []Row {
	type key struct {
		kind recording.WorkKind
		name string
	}
	place := map[key]int{}
	var rows []Row
	for i, side := range []traceSide{was, now} {
		for _, n := range side.works {
			k := key{n.Kind, side.name(n)}
			at, known := place[k]
			if !known {
				at = len(rows)
				place[k] = at
				rows = append(rows, Row{
					Group: n.Kind.String(), Name: k.name, Unit: "s",
					Bytes: [2]float64{math.NaN(), math.NaN()},
				})
			}
			row := &rows[at]
			values := make([]float64, len(n.Time))
			for step, ns := range n.Time {
				values[step] = float64(ns) / 1e9
			}
			calls, bytes := 0, int64(0)
			for step := range n.Calls {
				calls, bytes = calls+n.Calls[step], bytes+n.Bytes[step]
			}
			row.Calls[i] = float64(calls) / float64(len(n.Time))
			if bytes > 0 {
				row.Bytes[i] = float64(bytes) / float64(len(n.Time))
			}
			if i == 0 {
				row.Before = spread(values)
			} else {
				row.After = spread(values)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(math.Abs(b.After.Mean-b.Before.Mean), math.Abs(a.After.Mean-a.Before.Mean)),
			strings.Compare(a.Name, b.Name))
	})
	return rows
}

// total returns the sum of a list.
func total(list []int64) (sum int64) {
	for _, v := range list {
		sum += v
	}
	return sum
}
