package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

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

// TracedPromise is a fix that was advised for the trace before, with its promise.
type TracedPromise struct {
	Fix      string          `json:"fix"`
	Changes  []stoker.Change `json:"changes"`
	Promised stoker.Interval `json:"promised"`
	Kept     PromiseState    `json:"kept"`
	Asked    bool            `json:"-"` // the user says that this is the change; otherwise the files must show it
}

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
	const single, several = "SingleProcessDataLoaderIter", "MultiProcessingDataLoaderIter"
	switch {
	case was.hasName(single) && !was.hasName(several) && now.hasName(several) && !now.hasName(single):
		return stoker.Change{Setting: stoker.NumWorkers, From: 0}, true
	case was.hasName(several) && !was.hasName(single) && now.hasName(single) && !now.hasName(several):
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
	if was.hasStacks() != now.hasStacks() {
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
			k := key{n.Kind, side.workName(n)}
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
