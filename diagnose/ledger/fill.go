package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Fill accounts for the time of a run, from the steps of the judged trainer and what was measured
// of its window.
func Fill(run *recording.Run, c *diagnose.Case) diagnose.Ledger {
	if len(c.Rows) > 0 {
		return fillMeasured(c.Rows)
	}
	if c.WorksRecorded == 0 && !run.Facts.MarksSteps() { // a profiler's file without a device's work and without steps
		return diagnose.Ledger{}
	}
	f := filler{Case: c, run: run, rows: map[diagnose.RowName]*diagnose.Row{}}
	f.steps = stepsOf(run, c.Costs.Window.PID)
	f.meter = newMeter(run.KernelSeries(deviceOf(run, c.Costs.Window.PID)))
	from, _ := run.Newest()
	end := max(run.End(), f.lastEnd())
	f.spans = f.paint(from, end)
	f.addRows(from, end)
	f.splitSteps()
	f.nameLines()
	f.bound()
	f.splitUnseen()
	if r := f.rows[diagnose.RowTraining]; r != nil && f.Requests.Known() { // a server's passes, though gradients are on
		delete(f.rows, diagnose.RowTraining)
		r.Name, f.rows[diagnose.RowInference] = diagnose.RowInference, r
	}
	return diagnose.Ledger{Rows: f.inOrder(), Wall: end}
}

// fillMeasured takes rows that the device's own clock gave.
func fillMeasured(rows []diagnose.Row) (l diagnose.Ledger) {
	for _, r := range rows {
		l.Rows, l.Wall = append(l.Rows, rounded(r)), l.Wall+r.Seconds
	}
	return l
}

// filler puts a Ledger together.
type filler struct {
	*diagnose.Case
	run   *recording.Run
	steps []recording.Step // of the judged trainer, all loaders
	meter meter
	spans []span
	rows  map[diagnose.RowName]*diagnose.Row

	evaluates bool // the steps that are long now and then are so because the program evaluates in them
}

// stepsOf are the steps of a process, in order.
func stepsOf(run *recording.Run, pid int) (steps []recording.Step) {
	for _, s := range run.Steps {
		if s.PID == pid {
			steps = append(steps, s)
		}
	}
	return steps
}

// deviceOf is the subject of a process's device, of the only one if that is not known.
func deviceOf(run *recording.Run, pid int) string {
	device := -1
	if p := run.FindProcess(pid); p != nil {
		device = p.Device
	}
	if device < 0 && len(run.Facts.GPUs) == 1 {
		device = run.Facts.GPUs[0].Index
	}
	return fmt.Sprintf("gpu/%d", device)
}

// lastEnd is when the last step ended, 0 if none was seen.
func (f *filler) lastEnd() (end float64) {
	for _, s := range f.steps {
		end = max(end, s.Start+stat.Or(s.Period, stat.Or(s.Wait, 0)))
	}
	return end
}

// paint is whose each moment of the run is, from the part that is judged on.
func (f *filler) paint(from, end float64) []span {
	if !recording.ShowLoop(f.steps) {
		return f.paintSaves(f.paintDevice(from, end))
	}
	window := f.Costs.Window
	window.Loader = f.loaderOfEdges()
	spans := f.paintEvaluation(f.drain(paintSteps(f.steps, window, f.stepsRow(), from, end)))
	if hung := f.hungSince(); hung > 0 {
		for i := range spans {
			if s := &spans[i]; s.from >= hung-rounding && s.row == diagnose.RowTail {
				s.row = diagnose.RowHung
			}
		}
	}
	return spans
}

// mostlyEvaluates is the part of long steps' time that samples beneath functions which evaluate account for, from which
// those steps are long for that. [J]
const mostlyEvaluates = 0.8

// paintEvaluation moves long steps in which the program evaluates to the row of evaluation, if the device is busy in
// them. The hook sees no step in evaluation without a loader. What leaves the device idle stays between the steps.
func (f *filler) paintEvaluation(spans []span) []span {
	lines, long := f.LoopLines, f.Costs.Rare.Spans
	if len(long) == 0 || lines.Looks < diagnose.FewLooks ||
		lines.Evaluating < mostlyEvaluates*f.Costs.RareShare()*lines.Seconds {
		return spans
	}
	var within []span
	for _, at := range long {
		within = append(within, span{at[0], at[1], diagnose.RowEvaluation})
	}
	busy, whole := f.meter.busyIn(within), 0.0
	for _, s := range within {
		whole += s.to - s.from
	}
	if !(busy > whole/2) {
		return spans
	}
	f.evaluates = true
	var painted []span
	for _, s := range spans {
		for _, at := range within {
			if s.row != f.stepsRow() || at.to <= s.from || at.from >= s.to {
				continue
			}
			painted = appendSpan(painted, span{s.from, at.from, s.row})
			painted = appendSpan(painted, span{max(s.from, at.from), min(s.to, at.to), at.row})
			s.from = min(s.to, at.to)
		}
		painted = appendSpan(painted, s)
	}
	return painted
}

// drain gives the steps what the device still had of them to do when something else began: a loop
// that does not wait runs ahead of its device.
func (f *filler) drain(spans []span) (drained []span) {
	queued, work := 0.0, f.workOfStep()
	for _, s := range spans {
		switch s.row {
		case f.stepsRow():
			queued = f.queueUp(queued, work, s)
		case diagnose.RowTail, diagnose.RowEvaluation, diagnose.RowCheckpoint, diagnose.RowEdge:
			until := min(s.to, s.from+queued)
			if s.row == diagnose.RowEdge { // once a batch is asked for, the wait for it is the edge's
				until = min(until, f.nextPass(s.from))
			}
			if done := f.meter.busyUntil(s.from, until); done > s.from {
				drained = appendSpan(drained, span{s.from, done, f.stepsRow()})
				queued -= done - s.from
				s.from = done
			}
			if queued -= s.to - s.from; queued < 0 || f.meter.busyUntil(s.from, s.to) < s.to {
				queued = 0
			}
		default:
		}
		drained = appendSpan(drained, s)
	}
	return drained
}

// nextPass is when a loader is asked for the first batch of a pass, from one moment on.
func (f *filler) nextPass(from float64) float64 {
	for _, s := range f.steps {
		if s.First && f.hasEdges(s.Loader) && s.Start >= from-rounding {
			return s.Start
		}
	}
	return math.Inf(1)
}

// queueUp is how much of the steps' work the device still has at the end of a span, if it had so much at the begin. A
// step's work is queued once its batch is there.
func (f *filler) queueUp(queued, work float64, in span) float64 {
	at := in.from
	first := sort.Search(len(f.steps), func(i int) bool { return f.steps[i].Start >= in.from })
	for _, s := range f.steps[max(0, first-1):] { // the one before may have waited until then
		if s.Start >= in.to {
			break
		}
		got := s.Start + stat.Or(s.Wait, 0)
		if s.Loader == f.Costs.Window.Loader && got >= in.from-rounding && got < in.to {
			queued, at = max(0, queued-(got-at))+work, got
		}
	}
	return max(0, queued-(in.to-at))
}

// workOfStep is how long the device works on a step in the middle, seconds; by the host's clock where its own is
// unknown.
func (f *filler) workOfStep() float64 {
	var all []float64
	for _, s := range f.Costs.Window.Steps {
		if work := s.DevicePeriod - s.Idle; work > 0 {
			all = append(all, work)
		}
	}
	return min(f.Costs.Step, stat.Or(stat.Median(all), f.Costs.Step))
}

// begunIn are the steps of all loaders that begin in a time.
func (f *filler) begunIn(from, to float64) []recording.Step {
	first := sort.Search(len(f.steps), func(i int) bool { return f.steps[i].Start >= from })
	after := sort.Search(len(f.steps), func(i int) bool { return f.steps[i].Start >= to })
	return f.steps[first:max(first, after)]
}

// stepsRow is the row of the judged steps.
func (f *filler) stepsRow() diagnose.RowName {
	for _, s := range f.steps {
		if s.Phase == recording.Train {
			return diagnose.RowTraining
		}
	}
	switch {
	case f.OnlySkips:
		return diagnose.RowTraining
	case diagnose.IsBare(f.Grounds.Framework):
		return diagnose.RowUnknown
	}
	return diagnose.RowInference
}

// hungSince is when the last step was made, if the job is still running without one; 0 if it does not hang.
func (f *filler) hungSince() float64 {
	for _, found := range f.Findings {
		if found.Name == diagnose.FindingHung {
			return found.From
		}
	}
	return 0
}

// paintDevice is the time of a run without a recorded step: before the device worked, while it did,
// and after.
func (f *filler) paintDevice(from, end float64) []span {
	first, last := math.NaN(), math.NaN()
	if s := f.run.KernelSeries(deviceOf(f.run, f.Costs.Window.PID)); s != nil {
		for i, v := range s.V {
			if v > 0 {
				if last = s.T[i]; math.IsNaN(first) {
					first = s.T[i]
				}
			}
		}
	}
	if math.IsNaN(first) {
		return appendSpan(nil, span{from, end, diagnose.RowUnknown})
	}
	spans := appendSpan(nil, span{from, first, diagnose.RowStartUp})
	spans = appendSpan(spans, span{max(from, first), last, diagnose.RowUnknown})
	return appendSpan(spans, span{last, end, diagnose.RowTail})
}

// paintSaves puts the checkpoints of a run without a recorded step on its time. Those that follow each other closely
// are files of one.
func (f *filler) paintSaves(spans []span) []span {
	n := len(spans)
	for _, s := range f.steps {
		end := s.Start + s.Period
		for i := range spans[:n] {
			if at := &spans[i]; at.from > s.Start && at.from < end {
				at.from = end // what begins within a save is not on top of it
			}
		}
		if last := len(spans) - 1; last >= n && s.Start-spans[last].to < betweenFiles {
			spans[last].to = max(spans[last].to, end)
			continue
		}
		spans = append(spans, span{s.Start, end, diagnose.RowCheckpoint})
	}
	return flatten(spans)
}

// betweenFiles is how far apart two saves are at most to be one checkpoint's, seconds, where no step is seen. [J]
const betweenFiles = 0.1

// splitUnseen gives evaluation its part of the time in which no step was seen, by the names of the functions around
// the launching thread's lines. For how much of it the device worked is unknown.
func (f *filler) splitUnseen() {
	unseen, lines := f.rows[diagnose.RowUnknown], f.LoopLines
	if recording.ShowLoop(f.steps) || unseen == nil || !(lines.Looks >= diagnose.FewLooks) || !(lines.Evaluating > 0) {
		return
	}
	part := min(1, lines.Evaluating/lines.Seconds)
	r := f.row(diagnose.RowEvaluation)
	r.Seconds, r.Share, r.Saves = part*unseen.Seconds, part*unseen.Share, part*unseen.Seconds
	r.Line.Own = lines.Evaluation
	for _, rest := range []*float64{&unseen.Seconds, &unseen.Share, &unseen.Busy, &unseen.Idle} {
		*rest *= 1 - part
	}
}

// addRows adds up the spans of each row.
func (f *filler) addRows(from, end float64) {
	of := map[diagnose.RowName][]span{}
	for _, s := range f.spans {
		of[s.row] = append(of[s.row], s)
	}
	scale := f.scaleUnkept(of)
	if from > 0 {
		of[diagnose.RowEarlier] = []span{{0, from, diagnose.RowEarlier}}
	}
	for name, spans := range of {
		r := f.row(name)
		for _, s := range spans {
			r.Seconds += s.to - s.from
			r.Spans = append(r.Spans, diagnose.Stretch{From: s.from, To: s.to})
		}
		r.Count = f.countTimes(spans)
		if name != diagnose.RowEarlier {
			r.Busy = f.meter.busyIn(spans)
			r.Idle = r.Seconds - r.Busy
		}
		if !name.ComesOnce() {
			r.Seconds, r.Busy, r.Idle = scale*r.Seconds, scale*r.Busy, scale*r.Idle
		}
		r.Share = r.Seconds / end
	}
	f.countSteps(from)
	f.settleEdges()
}

// countTimes is how often a row comes: spans between which no step begins are one time, as the files of a checkpoint.
func (f *filler) countTimes(spans []span) (n int) {
	for i, s := range spans {
		if i == 0 || !recording.ShowLoop(f.steps) || len(f.begunIn(spans[i-1].to-rounding, s.from-rounding)) > 0 {
			n++
		}
	}
	return n
}

// scaleUnkept takes off the time of steps that were not kept, and says by which factor the rows of
// those that were stand for it.
func (f *filler) scaleUnkept(of map[diagnose.RowName][]span) float64 {
	kept, gone := 0.0, 0.0
	for name, spans := range of {
		for _, s := range spans {
			switch {
			case name == unkept:
				gone += s.to - s.from
			case !name.ComesOnce():
				kept += s.to - s.from
			}
		}
	}
	delete(of, unkept)
	if !(kept > 0) {
		return 1
	}
	return 1 + gone/kept
}

// row is a row to fill.
func (f *filler) row(name diagnose.RowName) *diagnose.Row {
	if f.rows[name] == nil {
		nan := math.NaN()
		f.rows[name] = &diagnose.Row{Name: name, Busy: nan, Idle: nan, Saves: nan, LineShare: nan}
	}
	return f.rows[name]
}

// countSteps counts what rows of steps are made of: steps, and batches that are thrown away. Those that were not kept
// lie between two that were.
func (f *filler) countSteps(from float64) {
	counts := map[diagnose.RowName]int{}
	last := map[int]recording.Step{}
	for _, s := range f.steps {
		name := diagnose.RowOf(s.Phase)
		if s.Phase == recording.Evaluate && f.stepsRow() == diagnose.RowInference {
			name = diagnose.RowInference
		}
		if s.Start < from || name.IsSteps() && s.Loader != f.Costs.Window.Loader {
			continue
		}
		n := 1
		if before, known := last[s.Loader]; known && before.Phase == s.Phase && s.N > before.N {
			n = s.N - before.N
		}
		counts[name] += n
		last[s.Loader] = s
	}
	for _, name := range []diagnose.RowName{diagnose.RowTraining, diagnose.RowInference, diagnose.RowSkipping} {
		if r := f.rows[name]; r != nil {
			r.Count = counts[name]
		}
	}
	if edge := f.rows[diagnose.RowEdge]; edge != nil { // edges that touch are one span
		_, passes := f.countPasses()
		edge.Count = max(edge.Count, passes-1)
	}
}

// settleEdges takes what the device's own clock says of the edges of epochs, which are short for a
// meter. Busy time that is left over there belongs to the steps.
func (f *filler) settleEdges() {
	edge, steps := f.rows[diagnose.RowEdge], f.rows[f.stepsRow()]
	if edge == nil || steps == nil || math.IsNaN(edge.Busy) || math.IsNaN(steps.Busy) {
		return
	}
	idle, known := 0.0, 0.0
	for i, s := range f.steps {
		if s.First && i > 0 && f.hasEdges(s.Loader) && !math.IsNaN(s.Idle) {
			idle, known = idle+min(s.Idle, s.Wait), known+s.Wait
		}
	}
	if !(known > edge.Seconds/2) {
		return
	}
	busy := max(0, known-idle)
	steps.Busy = min(steps.Seconds, max(0, steps.Busy+edge.Busy-busy))
	edge.Busy = min(edge.Seconds, busy)
	steps.Idle, edge.Idle = steps.Seconds-steps.Busy, edge.Seconds-edge.Busy
}

// splitSteps divides the device's idle time within steps by its causes. It moves the time between
// steps and the exchange between ranks to rows for those.
func (f *filler) splitSteps() {
	steps := f.rows[f.stepsRow()]
	if steps == nil {
		return
	}
	p, seconds := f.Parts, steps.Seconds
	part := func(share float64) float64 { return max(0, stat.Or(share, 0)) * seconds }
	idle := stat.Or(steps.Idle, seconds)
	take := func(wanted float64) float64 {
		taken := min(idle, wanted)
		idle -= taken
		return taken
	}
	input := take(f.inputWithin(seconds))
	rare := 0.0
	if !f.evaluates {
		rare = take(max(part(p.Rare), part(f.rareUnseen())))
	}
	exchange := min(seconds, part(p.Exchange))
	unasked, awaited := take(part(p.Unasked)), take(part(p.Awaited))
	launch, long, copies, queued := take(part(p.Host)), take(part(p.Long)), take(part(p.Copies)), take(part(p.Queued))
	unnamed := take(part(p.Unnamed))
	// on a line outside of the steps the thread does its work also while it queues for a core
	beside := f.besideSteps()
	held := f.heldInRare(rare)
	if f.Requests.Known() {
		beside = 0 // Parts say what its host does
	}
	work, blind := beside*queued, min(unnamed, beside*seconds)
	rare, queued, unnamed, long = rare-held, queued-work+held, unnamed-blind, long+work+blind
	f.moveOut(steps, diagnose.RowBetween, rare+long, diagnose.WaitHost)
	f.moveOut(steps, diagnose.RowUnasked, unasked, diagnose.WaitRequest)
	f.moveOut(steps, diagnose.RowAwaited, awaited, diagnose.WaitOthers)
	f.moveOut(steps, diagnose.RowRanks, exchange, diagnose.WaitRanks)
	steps.Waits = sortWaits(map[diagnose.WaitFor]float64{
		diagnose.WaitInput: input, diagnose.WaitLaunch: launch, diagnose.WaitCopy: copies, diagnose.WaitCore: queued,
		diagnose.WaitUnknown: unnamed,
	})
	between := f.rows[diagnose.RowBetween]
	if between != nil {
		between.Count = f.countBetween(long)
	}
	if between != nil && !f.evaluates {
		for _, s := range f.Costs.Rare.Spans {
			between.Spans = append(between.Spans, diagnose.Stretch{From: s[0], To: s[1]})
		}
	}
	f.waitBeside()
}

// rareUnseen is the part of steps that do something now and then, where no device tells whether it
// idles meanwhile.
func (f *filler) rareUnseen() float64 {
	if !math.IsNaN(f.Idle) {
		return 0
	}
	return f.Costs.RareShare()
}

// countBetween is in how many steps the launching thread does other work.
func (f *filler) countBetween(long float64) int {
	if n := f.Costs.Rare.Count; n > 0 && !f.evaluates && long <= f.Costs.Rare.Seconds {
		return n
	}
	return len(f.Costs.Window.Steps)
}

// inputWithin is for how long the device waited for input within steps, without the edges of epochs.
func (f *filler) inputWithin(seconds float64) float64 {
	w := f.Costs.Window
	idle, took, unclocked := 0.0, 0.0, 0
	for _, s := range append(slices.Clone(w.Steps), w.Side...) {
		if s.Loader == w.Loader {
			took += s.Period
			if s.First {
				took -= s.Wait
			}
		}
		switch {
		case math.IsNaN(s.Idle):
			unclocked++
		case !s.First:
			idle += s.Idle
		}
	}
	if float64(unclocked) > diagnose.UnclockedSteps*float64(len(w.Steps)+len(w.Side)) { // as the window has it
		return max(0, stat.Or(f.Stall, 0)) * seconds
	}
	if !(took > 0) {
		return 0
	}
	return idle / took * seconds
}

// moveOut makes a row of idle time inside the steps.
func (f *filler) moveOut(steps *diagnose.Row, name diagnose.RowName, seconds float64, why diagnose.WaitFor) {
	if !(seconds > 0) {
		return
	}
	wall := steps.Seconds / steps.Share
	r := f.row(name)
	r.Seconds, r.Share = seconds, seconds/wall
	steps.Seconds -= seconds
	steps.Share = steps.Seconds / wall
	if math.IsNaN(steps.Idle) {
		return
	}
	r.Idle = min(seconds, steps.Idle)
	r.Busy = seconds - r.Idle
	steps.Idle -= r.Idle
	steps.Busy = max(0, steps.Seconds-steps.Idle)
	r.Waits = sortWaits(map[diagnose.WaitFor]float64{why: r.Idle})
}

// waitBeside gives the cause of idle time in the rows other than the steps.
func (f *filler) waitBeside() {
	for name, r := range f.rows {
		if len(r.Waits) > 0 || !(r.Idle > 0) || name.IsSteps() {
			continue
		}
		why := diagnose.WaitHost
		input := 0.0
		switch name {
		case diagnose.RowEdge, diagnose.RowSkipping:
			input = r.Idle
		case diagnose.RowEvaluation:
			input = min(r.Idle, f.inputOfEvaluation()*r.Seconds)
		case diagnose.RowEarlier, diagnose.RowHung, diagnose.RowUnknown, diagnose.RowTail, diagnose.RowStartUp:
			continue
		default:
		}
		r.Waits = sortWaits(map[diagnose.WaitFor]float64{diagnose.WaitInput: input, why: r.Idle - input})
	}
}

// inputOfEvaluation is the share of its time that evaluation waited for its batches: the device by its own clock,
// else the loop.
func (f *filler) inputOfEvaluation() float64 {
	waited, took := 0.0, 0.0
	for _, s := range f.steps {
		if s.Phase == recording.Evaluate && s.Loader != recording.OwnLoop {
			waited += stat.Or(s.Idle, stat.Or(s.Wait, 0))
			took += stat.Or(s.Period, stat.Or(s.Wait, 0))
		}
	}
	if !(took > 0) {
		return 0
	}
	return min(1, waited/took)
}

// sortWaits orders parts of idle time, the largest first.
func sortWaits(seconds map[diagnose.WaitFor]float64) (all []diagnose.Wait) {
	for why, s := range seconds {
		if s > 0 {
			all = append(all, diagnose.Wait{For: why, Seconds: s})
		}
	}
	slices.SortFunc(all, func(a, b diagnose.Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.For, b.For))
	})
	return all
}

// bound says what the run would save at most without each row: the device's idle time in steps and
// in evaluation, which have work to do, all of the others.
func (f *filler) bound() {
	for name, r := range f.rows {
		switch {
		case name == diagnose.RowEarlier || name == diagnose.RowUnknown:
		case name.IsSteps() || name == diagnose.RowEvaluation:
			r.Saves = r.Idle
		default:
			r.Saves = stat.Or(r.Idle, r.Seconds)
		}
	}
}

// inOrder are the rows that have any time, in the order of a run.
func (f *filler) inOrder() (rows []diagnose.Row) {
	for _, w := range diagnose.LedgerRows {
		if r := f.rows[diagnose.RowName(w.Name)]; r != nil && r.Seconds > 0 {
			rows = append(rows, rounded(*r))
		}
	}
	return rows
}

// rounded returns a row in whole microseconds, so that it does not depend on the order in which sums were made, and
// one below a millisecond in nanoseconds, as profilers write them. Its share is in millionths.
func rounded(r diagnose.Row) diagnose.Row {
	grain := 1e6
	if r.Seconds < millisecond {
		grain = 1e9
	}
	for _, v := range []*float64{&r.Seconds, &r.Busy, &r.Idle, &r.Saves} {
		*v = math.Round(grain**v) / grain
	}
	r.Share = math.Round(1e6*r.Share) / 1e6
	kept := r.Waits[:0:0]
	for _, w := range r.Waits {
		if w.Seconds = math.Round(grain*w.Seconds) / grain; w.Seconds > 0 {
			kept = append(kept, w)
		}
	}
	r.Waits = kept
	return r
}

// millisecond is the length below which the order of a sum changes it by less than a nanosecond.
const millisecond = 1e-3
