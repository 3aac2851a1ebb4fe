package ledger

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// span is a stretch of time that belongs to a row.
type span struct {
	from, to float64
	row      diagnose.RowName
}

// painter turns the steps of one trainer into spans.
type painter struct {
	steps   []recording.Step // of all loaders, in order of start
	beat    int              // the loader whose steps are judged
	turns   map[int]bool     // loaders that take turns with it: their passes begin at an edge as well
	phase   recording.Phase  // that is judged
	row     diagnose.RowName // of the judged steps
	typical float64          // loop of a step, seconds
	warm    float64          // when the warm-up's steps were over
	begun   bool             // the first batch was there
	spans   []span           // that were seen; the later one is on top
}

// paintSteps are the spans of a trainer's steps from one time to another: disjoint, in order, and
// without a gap.
func paintSteps(steps []recording.Step, w recording.Window, row diagnose.RowName, from, to float64) []span {
	p := painter{steps: steps, beat: w.Loader, row: row, warm: w.Start, phase: recording.Train}
	if row == diagnose.RowInference {
		p.phase = recording.Evaluate
	}
	p.turns = map[int]bool{}
	for _, s := range w.Turns {
		p.turns[s.Loader] = true
	}
	p.typical = typicalLoop(w.Steps)
	if len(w.Steps) == 0 { // too few to be judged: none of them counts as warm-up
		of := slices.Clone(steps)
		p.typical = typicalLoop(slices.DeleteFunc(of, func(s recording.Step) bool { return s.Phase != p.phase }))
	}
	if w.OneIn > 1 {
		p.addUnkept()
	}
	p.addForgotten()
	for i, s := range steps {
		if s.Phase == p.phase {
			p.addStep(s, p.endOf(i))
		}
	}
	for _, s := range recording.FindOtherPhases(steps, p.phase) {
		p.add(s.Start, s.Start+s.Period, diagnose.RowOf(s.Phase))
	}
	return fillGaps(flatten(p.spans), from, to)
}

// unkept is the row of steps that were not kept; others stand for them.
const unkept diagnose.RowName = ""

// addUnkept paints the time of steps of the beat that were not kept, below all that were.
func (p *painter) addUnkept() {
	last := -1
	for i, s := range p.steps {
		if s.Loader != p.beat || s.Phase != p.phase {
			continue
		}
		if last >= 0 && s.N > p.steps[last].N+1 {
			p.add(p.endOf(last), s.Start, unkept)
		}
		last = i
	}
}

// addForgotten paints batches that were not kept before one of another phase: they were of that phase.
func (p *painter) addForgotten() {
	last := map[int]int{}
	for i, s := range p.steps {
		before, known := last[s.Loader]
		last[s.Loader] = i
		if known && s.Phase != p.phase && s.Loader >= 0 && s.N > p.steps[before].N+1 {
			p.add(p.endOf(before), s.Start, diagnose.RowOf(s.Phase))
		}
	}
}

// typicalLoop is the loop of a step in the middle, without its wait.
func typicalLoop(steps []recording.Step) float64 {
	var loops []float64
	for _, s := range steps {
		loops = append(loops, s.Period-stat.Or(s.Wait, 0))
	}
	return stat.Or(stat.Median(loops), 0)
}

// endOf is when a judged step ends. After a break the loop never asks again, so that the end
// is not known: it lasts as long as others, or until something else begins.
func (p *painter) endOf(i int) float64 {
	s := p.steps[i]
	if end := s.Start + s.Period; !math.IsNaN(end) {
		return end
	}
	end := s.Start + stat.Or(s.Wait, 0) + p.typical
	if i+1 < len(p.steps) {
		end = min(end, max(s.Start, p.steps[i+1].Start))
	}
	return end
}

// addStep paints a judged step. The wait of the first one of an epoch is the epoch's edge, and
// of the run's very first one the start-up.
func (p *painter) addStep(s recording.Step, end float64) {
	got := min(end, s.Start+stat.Or(s.Wait, 0))
	if s.First && (s.Loader == p.beat || p.begun && p.turns[s.Loader]) {
		edge := diagnose.RowEdge
		if !p.begun {
			edge = diagnose.RowStartUp
		}
		p.add(s.Start, got, edge)
		s.Start = got
	}
	p.begun = p.begun || s.Loader == p.beat
	row := p.row
	if s.Start < p.warm && end-s.Start > diagnose.MuchLonger*p.typical+stat.Or(s.Wait, 0) {
		row = diagnose.RowWarmUp
	}
	p.add(s.Start, end, row)
}

func (p *painter) add(from, to float64, row diagnose.RowName) {
	if to > from {
		p.spans = append(p.spans, span{from, to, row})
	}
}

// flatten puts spans on each other: one that begins later is on top until it ends.
func flatten(spans []span) (flat []span) {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var stack []span
	at := math.Inf(-1)
	emit := func(until float64) {
		for at < until && len(stack) > 0 {
			top := stack[len(stack)-1]
			if top.to <= at {
				stack = stack[:len(stack)-1]
				continue
			}
			end := min(top.to, until)
			flat = appendSpan(flat, span{max(at, top.from), end, top.row})
			at = end
		}
		at = until
	}
	for _, s := range spans {
		emit(s.from)
		stack = append(stack, s)
	}
	emit(math.Inf(1))
	return flat
}

// rounding is how far apart two equal moments may be, seconds.
const rounding = 1e-9

// appendSpan adds a span, to the last one where that is of the same row and touches it.
func appendSpan(spans []span, s span) []span {
	if !(s.to > s.from+rounding) {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].row == s.row && s.from-spans[n-1].to < rounding {
		spans[n-1].to = s.to
		return spans
	}
	return append(spans, s)
}

// fillGaps gives what no step has to the rows around: before the first one, behind the last, and
// between two of them, where an epoch has ended.
func fillGaps(spans []span, from, to float64) (full []span) {
	at, begun := from, false
	for _, s := range spans {
		if s.from, s.to = max(s.from, from), min(s.to, to); !(s.to > s.from) {
			continue
		}
		gap := diagnose.RowStartUp
		if begun {
			gap = diagnose.RowEdge
		}
		full = appendSpan(full, span{at, s.from, gap})
		full = appendSpan(full, s)
		at, begun = s.to, true
	}
	rest := diagnose.RowTail
	if !begun {
		rest = diagnose.RowUnknown
	}
	return appendSpan(full, span{at, to, rest})
}
