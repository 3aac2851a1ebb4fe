package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// MarkNames are what replay needs to know of a timeline's kernels.
func MarkNames(t *recording.Timeline) replay.Marks {
	if t == nil {
		return replay.Marks{}
	}
	n := len(t.Names)
	m := replay.Marks{
		Elementwise: make([]bool, n), Scaling: make([]bool, n), Memory: make([]bool, n), Matrix: make([]bool, n),
		Plain: make([]bool, n),
	}
	seen := make([]bool, n)
	for i, name := range t.Device.Name {
		if seen[name] || t.Device.Kind[i] != recording.Kernel {
			continue
		}
		seen[name] = true
		switch family := idle.FamilyOf(t.Names[name]); family {
		case idle.Elementwise:
			m.Elementwise[name], m.Memory[name], m.Scaling[name] = true, true, idle.ScalesChannels(t.Names[name])
		case idle.Reduction, idle.Moving, idle.Fused:
			m.Memory[name] = true
		case idle.Matmul, idle.Convolution:
			m.Matrix[name] = true
			m.Plain[name] = idle.CoresOf(t.Names[name]) == idle.PlainCores
		case idle.Other, idle.Attention, idle.Exchange:
		}
	}
	return m
}

// candidate is a change that a finding of a trace calls for.
type candidate struct {
	title   string
	changes []stoker.Change
	effort  Effort
	risk    Risk
	notes   []string
	alone   bool // not to be taken together with others: the model learns differently
}

func (c candidate) name() string { return string(c.changes[0].Setting) }

// Limits of the search for a trace's num_workers, and of settings that have no
// best value. [J]
const (
	mostTraced  = 16 // more is not tried if the number of cores is unknown
	logEvery    = 50 // steps between two values that the loop reads
	accumulated = 4
)

// Titles of waiting less: takeOut is of waits in which no value is read.
const (
	waitLess = "do not wait for the device in every step"
	takeOut  = "take the waits for the device out of the step"
)

// candidates are the changes that the findings call for. What a finding advises
// beyond that, a replay has no model of.
func (a adviser) candidates(t *replay.Trace) []candidate {
	var out []candidate
	add := func(title string, effort Effort, risk Risk, note string, changes ...stoker.Change) {
		if len(changes) == 0 { // no setting does it
			return
		}
		if slices.ContainsFunc(out, func(c candidate) bool {
			return c.name() == string(changes[0].Setting) && c.changes[0].To == changes[0].To
		}) {
			return
		}
		c := candidate{title: title, changes: changes, effort: effort, risk: risk, alone: risk == NumericsRisk ||
			risk == LearningRisk || changes[0].Setting == stoker.BatchSize}
		if note != "" {
			c.notes = []string{note}
		}
		out = append(out, c)
	}
	to := func(name stoker.Setting, value any) stoker.Change {
		return stoker.Change{Setting: name, From: a.found()[name], To: value}
	}
	for _, f := range a.verdict.Findings {
		switch f.Name {
		case diagnose.FindingDataLoaderWait:
			changes, note := a.tracedWorkers(t)
			add("prepare batches in worker processes", Flag, MemoryRisk, note, changes...)
		case diagnose.FindingPageableCopies:
			add("copy from page-locked memory, without blocking", Code, MemoryRisk, f.Advice,
				to(stoker.PinMemory, true), to(stoker.NonBlocking, true))
		case diagnose.FindingSerialCopies:
			changes := []stoker.Change{to(stoker.SideStream, true)}
			if a.verdict.Has(diagnose.FindingPageableCopies) { // else all of it is page-locked already
				changes = append(changes, to(stoker.PinMemory, true))
			}
			add("copy the next batch while this one is computed", Code, MemoryRisk, f.Advice,
				append(changes, to(stoker.NonBlocking, true))...)
		case diagnose.FindingTinyCopies:
			add("copy small tensors together", Code, NoRisk, f.Advice, to(stoker.MergeCopies, true))
		case diagnose.FindingExplicitSync:
			title := takeOut
			if a.verdict.Has(diagnose.FindingHiddenSync) {
				title = waitLess
			}
			add(title, Code, NoRisk, f.Advice, to(stoker.SyncEvery, logEvery))
		case diagnose.FindingHiddenSync:
			add(waitLess, Code, NoRisk, f.Advice, to(stoker.SyncEvery, logEvery))
		case diagnose.FindingLaunchBound:
			if a.verdict.Grounds.LaunchesByCompiling() {
				add("launch a step as one graph", Code, NumericsRisk, f.Advice, to(stoker.Compile, "reduce-overhead"))
			} else {
				add("launch a step as one graph", Code, MemoryRisk, f.Advice, to(stoker.CUDAGraphs, true))
			}
			add("more work per launch", Flag, a.riskOfBatches(), a.twice(), to(stoker.BatchSize, "2x"))
		case diagnose.FindingSmallGrids:
			add("more work per launch", Flag, a.riskOfBatches(), a.twice(), to(stoker.BatchSize, "2x"))
		case diagnose.FindingElementwiseChains:
			add("fuse elementwise kernels", Code, NumericsRisk, f.Advice, to(stoker.Compile, "default"))
		case diagnose.FindingNoTensorCores:
			for _, c := range f.Settings {
				add("compute on Tensor Cores", Code, NumericsRisk, f.Advice, c)
			}
		case diagnose.FindingExposedCommunication:
			add("exchange gradients less often", Code, LearningRisk, accumulates(a.run),
				to(stoker.Accumulation, accumulated))
		case diagnose.FindingAllocator:
			add("let the allocator grow its segments", Flag, NoRisk, f.Advice, f.Settings...)
		case diagnose.FindingGarbageCollection:
			add("collect garbage between steps", Code, NoRisk, f.Advice, f.Settings...)
		}
	}
	return out
}

// twice is what to mind of a doubled batch, with what the trace tells of memory. Weights do
// not double: where twice the peak fits, the batch does.
func (a adviser) twice() string {
	note := "per sample, while memory lasts"
	follows := ""
	if a.verdict.Grounds.ReadsLoss() {
		note, follows = note+", and the learning rate follows", ". The learning rate follows"
	}
	if a.verdict.Device < 0 || a.run.Timeline == nil {
		return note
	}
	at := a.run.Timeline.Devices[a.verdict.Device].GPU
	if at < 0 || at >= len(a.run.Facts.GPUs) {
		return note
	}
	g := a.run.Facts.GPUs[at]
	switch {
	case g.PeakBytes == nil && a.run.Facts.Software.Framework != "":
		return note
	case g.PeakBytes == nil || g.MemoryBytes == nil:
		return note + ", and how much is free was not recorded (profile_memory=True)"
	}
	fits := "twice that fits"
	if 2**g.PeakBytes > *g.MemoryBytes {
		fits = "twice that does not fit, and how much of it are weights, which do not double, is not recorded"
	}
	return fmt.Sprintf("per sample. Tensors took %s of %s at most: %s%s", quantity.AboutBytes(*g.PeakBytes),
		quantity.AboutBytes(*g.MemoryBytes), fits, follows)
}

func accumulates(run *recording.Run) string {
	const all = "the optimizer sees larger batches: the learning rate follows"
	if run.Facts.Software.Framework != "" {
		return all
	}
	return all + ", with no_sync() around the other steps"
}

// found are the loader's settings as far as the trace tells them.
func (a adviser) found() stoker.Settings {
	for i := range a.run.Facts.Loaders {
		return a.run.Facts.Loaders[i].Settings
	}
	return nil
}

// tracedWorkers is the fewest workers whose step is within 2 % of what the most
// would give. If the number of workers is unknown: twice as many.
func (a adviser) tracedWorkers(t *replay.Trace) (changes []stoker.Change, note string) {
	now, known := a.found().Int(stoker.NumWorkers)
	if n, inferred := t.Workers(); inferred {
		now, known = n, true
	}
	if !known && t.Several() {
		return []stoker.Change{{Setting: stoker.NumWorkers, To: "2x"}}, "" // the forecast says which part is unknown
	}
	most := mostTraced
	if cores := a.run.Facts.Machine.Cores(); cores >= 1 {
		most = max(now+1, int(cores))
	}
	best := t.Likely(replay.Edit{Workers: most})
	n := now + 1
	for n < most && goodEnough*t.Likely(replay.Edit{Workers: n}) < best {
		n += max(1, n/4)
	}
	n = min(n, most)
	ceiling := t.Likely(replay.Edit{NoLoading: true})
	note = fmt.Sprintf("%d %s enough: %d are worth %s, batches that are always there %s", n,
		quantity.Ending(n, "is", "are"), most, quantity.AboutRatio(best), quantity.AboutRatio(ceiling))
	changes = []stoker.Change{{Setting: stoker.NumWorkers, From: now, To: n}}
	if now == 0 && a.verdict.Grounds.HasEpochs(len(a.costs.Window.Steps)) {
		changes = append(changes, stoker.Change{Setting: stoker.PersistentWorkers, To: true})
	}
	return changes, note
}

// replayable is the run's timeline, ready to be played again; nil if it cannot be.
func (a adviser) replayable() *replay.Trace {
	if t := a.verdict.Replay; t != nil && t.IsOf(a.run) {
		t.Mark(MarkNames(a.run.Timeline))
		return t
	}
	t, why := replay.New(a.run, MarkNames(a.run.Timeline))
	if why != "" {
		return nil
	}
	return t
}

// proposeReplayed plans by playing the run's timeline again with each change.
func (a adviser) proposeReplayed(t *replay.Trace) (plan Plan) {
	countOutliers(t, a.verdict)
	check := t.Check()
	plan.Replay = &check
	if len(a.run.Facts.Loaders) > 0 && a.idleKnown() && !a.isStarved() {
		plan.Rejected = append(plan.Rejected, Rejected{
			Name: string(stoker.NumWorkers),
			Why: fmt.Sprintf("the device does not wait for input (%s of the time): faster input is worth 1.00x",
				quantity.Percent(a.verdict.Stall)),
		})
	}
	var taken []stoker.Change
	e := a.onEvidence(t)
	for _, c := range a.candidates(t) {
		g, modelled := e.gainOf(t, c)
		if !modelled {
			continue
		}
		fix, refused := g.weigh()
		if refused != nil {
			plan.refuse(*refused)
			continue
		}
		plan.Fixes = append(plan.Fixes, fix)
		if !c.alone {
			taken = append(taken, c.changes...)
		}
	}
	plan.orderFixes(a.verdict.Class)
	a.together(&plan, t, taken)
	a.boundByFindings(&plan)
	return plan
}

// isUntested reports whether the gain of such a change was never compared with a pair of recordings
// (bench/replay/RESULTS.md has the compared ones).
func isUntested(changes []stoker.Change) bool {
	without := []stoker.Setting{
		stoker.SideStream, stoker.Precision, stoker.TF32, stoker.Compile, stoker.CUDAGraphs, stoker.Device,
	}
	return slices.ContainsFunc(changes, func(c stoker.Change) bool { return slices.Contains(without, c.Setting) })
}

// leastPlayed is the likely gain below which an edit is not played for its worst
// and best cases: it cannot be worth it.
const leastPlayed = 1.03

func boundOnly(f Fix) bool {
	return math.IsNaN(f.Forecast.Speedup.Point) && f.Forecast.Speedup.High >= leastGain
}

// orderFixes orders fixes and leaves out rejections of what another value of the same
// setting is worth. What the verdict is about comes first, and what changes what the
// optimizer learns from last: other training was not asked for.
func (p *Plan) orderFixes(class diagnose.Class) {
	order(p.Fixes)
	place := func(f Fix) int {
		switch {
		case f.Risk == LearningRisk:
			return 2
		case class.Starves() && slices.Contains(ofInput, f.Changes[0].Setting),
			class == diagnose.TransferBound && slices.Contains(ofCopies, f.Changes[0].Setting):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.Fixes, func(f, g Fix) int { return cmp.Compare(place(f), place(g)) })
	p.settleRejected()
}

// ofCopies are settings that make copies to the device cost less.
var ofCopies = []stoker.Setting{stoker.PinMemory, stoker.NonBlocking, stoker.SideStream, stoker.MergeCopies}

func (p *Plan) settleRejected() {
	p.Rejected = slices.DeleteFunc(p.Rejected, func(r Rejected) bool {
		return slices.ContainsFunc(p.Fixes, func(f Fix) bool { return f.Name == r.Name })
	})
	seen := map[string]bool{}
	p.Rejected = slices.DeleteFunc(p.Rejected, func(r Rejected) bool {
		again := seen[r.Name]
		seen[r.Name] = true
		return again
	})
}

// Together is the Name of the fix that holds the others that go together.
const Together = "together"

// together plays what may be taken together, together: gains do not add up.
func (a adviser) together(plan *Plan, t *replay.Trace, changes []stoker.Change) {
	fixes := 0
	for _, f := range plan.Fixes {
		if slices.ContainsFunc(changes, func(c stoker.Change) bool { return c == f.Changes[0] }) {
			fixes++
		}
	}
	if fixes < 2 {
		return
	}
	var all []stoker.Change
	for _, f := range plan.Fixes { // in the order of their worth; of two values of a setting the first
		for _, c := range f.Changes {
			wanted := slices.Contains(changes, c)
			if wanted && !slices.ContainsFunc(all, func(o stoker.Change) bool { return o.Setting == c.Setting }) {
				all = append(all, c)
			}
		}
	}
	g, _ := a.onEvidence(t).gainOf(t, candidate{
		title: "all that change neither results nor batch", changes: all, effort: Code, risk: MemoryRisk,
		notes: []string{"replayed together: the gains above do not add up"},
	})
	g.fix.Name = Together
	if fix, refused := g.weigh(); refused == nil {
		plan.Fixes = append(plan.Fixes, fix)
	}
}

// boundByFindings adds advice of findings that a replay cannot model. The time of the finding is an
// upper bound of its gain.
func (a adviser) boundByFindings(plan *Plan) {
	verdict := a.verdict
	verdict.Findings = slices.DeleteFunc(slices.Clone(verdict.Findings), func(f diagnose.Finding) bool {
		if len(f.Settings) == 0 {
			_, worded := inWords[f.Name]
			return !overlaps(f) && !worded
		}
		_, unknown := replay.EditOf(f.Settings[:1])
		_, rejected := plan.verdictOn(string(f.Settings[0].Setting))
		return len(unknown) == 0 || rejected
	})
	rest := a
	rest.verdict = verdict
	rest.proposeTraced(plan)
}

func (p *Plan) verdictOn(name string) (why string, rejected bool) {
	for _, r := range p.Rejected {
		if r.Name == name {
			return r.Why, true
		}
	}
	return "", false
}

// WhatIf plays a run's timeline with changes that somebody asks for. The error
// says why it cannot be, or that the device has no units for one of them.
func WhatIf(run *recording.Run, v diagnose.Verdict, changes []stoker.Change) (Plan, error) {
	elsewhere := slices.ContainsFunc(changes, func(c stoker.Change) bool { return c.Setting == stoker.Device })
	if why := v.Grounds.LacksAnyUnit(changes); why != "" && !elsewhere {
		return Plan{}, fmt.Errorf("replay trace: %s. gpu=NAME asks for another device", why)
	}
	t, why := replay.New(run, MarkNames(run.Timeline))
	if why != "" {
		return Plan{}, fmt.Errorf("replay trace: %s", why)
	}
	found := adviser{run: run}.found()
	for i := range changes {
		changes[i].From = found[changes[i].Setting]
	}
	edit, _ := replay.EditOf(changes)
	countOutliers(t, v)
	forecast := t.Forecast(edit)
	fix := Fix{
		Name: "what-if", Title: "what was asked for", Changes: changes, Effort: effortOfAll(changes),
		Risk: riskOfAll(changes), Mind: mindOfWorkers(t, v, changes),
		Forecast: forecast, Untested: isUntested(changes), Notes: forecast.Notes,
	}
	check := t.Check()
	by := adviser{run: run, verdict: v, costs: v.Costs}.onEvidence(t)
	g := gain{evidence: by, trace: t, check: check, edit: edit, fix: &fix, played: true}
	fix.Notes = append(fix.Notes, g.keepToJudged()...)
	g.keepBelowIdle() // the plan does so, too
	g.settleStep()
	return Plan{Fixes: []Fix{fix}, Replay: &check}, nil
}

// countOutliers has a replay count all steps that are judged, where their mean is another than the usual one.
func countOutliers(t *replay.Trace, v diagnose.Verdict) {
	same := func(step float64) bool { return math.Abs(step/v.Costs.Step-1) <= sameStep }
	if c := t.Check(); v.HasSteps && same(c.Mean) && !same(c.Recorded) {
		t.CountAll()
	}
}

// keepToJudged makes a forecast one of the steps that are judged, where those of the replay are others: they begin with
// the program's start, they are parts of judged ones, or of several steps.
func (g *gain) keepToJudged() []string {
	played, judged := g.check.Recorded, g.costs.Step
	switch lead := g.lead(); {
	case lead > 0:
		g.takeOff(lead)
	case g.verdict.HasSteps && judged > (1+sameStep)*played:
		g.addRest(judged - played)
		return []string{fmt.Sprintf("%s of each judged step, %s long, are replayed: the rest is taken to stay",
			quantity.AboutSeconds(played), quantity.AboutSeconds(judged))}
	case g.verdict.HasSteps && played > (1+sameStep)*judged:
		return []string{fmt.Sprintf("the replay plays the judged steps, of %s, as parts of steps of %s",
			quantity.AboutSeconds(judged), quantity.AboutSeconds(played))}
	}
	return nil
}

// addRest makes a gain one of steps that are longer than those of the replay: the gain is of the whole step.
func (g *gain) addRest(rest float64) {
	s, batches := &g.fix.Forecast.Speedup, max(1, g.edit.Batch)
	for _, end := range []*float64{&s.Low, &s.Point, &s.High} {
		after := batches * g.check.Recorded / *end
		*end = batches * (g.check.Recorded + rest) / (after + batches*rest)
	}
}

// mindOfWorkers is what to look at before num_workers is changed; "" if it is not.
func mindOfWorkers(t *replay.Trace, v diagnose.Verdict, changes []stoker.Change) string {
	at := slices.IndexFunc(changes, func(c stoker.Change) bool { return c.Setting == stoker.NumWorkers })
	if at < 0 {
		return ""
	}
	said := []string{v.Grounds.UnknownData(), sayFewer(t, changes, at)}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ". ")
}

// sayFewer says how many of the workers that changes[at] asks for do as much, if half of them do; "" if they do not.
func sayFewer(t *replay.Trace, changes []stoker.Change, at int) string {
	if !t.Loads() {
		return "no batch is loaded in the steps that are replayed: num_workers changes nothing there"
	}
	asked, _ := changes[at].To.(int)
	enough := predict.CountEnough(asked, func(workers int) float64 {
		fewer := slices.Clone(changes)
		fewer[at].To = workers
		edit, _ := replay.EditOf(fewer)
		return t.Forecast(edit).Step.Point
	})
	if enough == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s as much as %d: the others take memory and wait", quantity.Many(enough, "worker"),
		quantity.Ending(enough, "does", "do"), asked)
}
