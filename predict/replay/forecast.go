package replay

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Check replays the trace as it is.
func (t *Trace) Check() Check {
	if t.check == nil {
		c := t.checkReplay()
		t.check = &c
	}
	return *t.check
}

func (t *Trace) checkReplay() Check {
	p := t.startPlay()
	p.runAll()
	t.uneven = t.byMean || t.supply.saturated || uneven(p.stepTimes())
	t.unedited = t.typical(p.stepTimes())
	c := Check{
		Recorded: t.recordedStep() / 1e9, Mean: mean(t.playRecorded().stepTimes()) / 1e9, Replayed: t.unedited / 1e9,
		Steps: t.judged[1] - t.judged[0], Seen: t.seen, Cut: t.calls < len(t.t.Host.Start), Path: p.criticalPath(),
		Spent: p.pathByName(),
	}
	t.endPlay(p)
	p = t.startPlay()
	p.takeUsual()
	p.runAll()
	c.Usual = t.typical(p.stepTimes()) / 1e9
	t.endPlay(p)
	return c
}

// takeUsual takes the trace's usual latencies for the recorded ones.
func (p *play) takeUsual() {
	for i := range p.t.works {
		w := &p.t.works[i]
		if w.loose {
			continue
		}
		if w.dep < 0 {
			if byCall, byStream := p.t.readyTimes(w); byCall > byStream && p.late[i] == 0 {
				p.flight[i] = p.t.usual
			}
			p.gap[i] = min(p.gap[i], p.t.latest)
		} else {
			p.depGap[i] = min(p.depGap[i], p.t.latest)
		}
	}
}

// outcome is the answer of one view.
type outcome struct {
	step float64 // nanoseconds
	path CriticalTime
}

// playEdit plays an edit in one view. With a wait or an optimizer every n steps, the result is a
// mixture of steps with and without it: their times add up.
func (t *Trace) playEdit(e Edit, v bounds.View) outcome {
	if n := e.SyncEvery; n > 1 && n != Never {
		with, without := e, e
		with.SyncEvery, without.SyncEvery = 0, Never
		return mixOutcomes(t.playEdit(with, v), t.playEdit(without, v), n)
	}
	if n := e.Accumulate; n > 1 && n != Never {
		with, without := e, e
		with.Accumulate, without.Accumulate = 0, Never
		return mixOutcomes(t.playEdit(with, v), t.playEdit(without, v), n)
	}
	p := t.startPlay()
	if e.changesAny() {
		p.apply(e, v)
	}
	p.runAll()
	defer t.endPlay(p)
	return outcome{t.usualStep(e, p.stepTimes()), p.criticalPath()}
}

// mixOutcomes returns the mean step if one step in n is of the first kind and the others are of
// the second.
func mixOutcomes(first, second outcome, n int) outcome {
	share := 1 / float64(n)
	o := outcome{step: share*first.step + (1-share)*second.step}
	for part := range o.path {
		o.path[part] = int64(share*float64(first.path[part]) + (1-share)*float64(second.path[part]))
	}
	return o
}

// usualStep returns the time of a step after an edit. With workers, the edit may
// make even steps uneven. Without them, a step that is longer than the others is a recorded
// outlier, and the median leaves it out.
func (t *Trace) usualStep(e Edit, steps []int64) float64 {
	switch workers, _ := t.loaderAfter(e); {
	case t.uneven:
		return mean(steps)
	case workers > 0:
		return t.typical(steps)
	}
	return median(steps)
}

// Forecast returns how long a step takes after an edit. It is unknown if the edit does not apply
// to this trace.
func (t *Trace) Forecast(e Edit) predict.Forecast {
	check := t.Check()
	ends := [3]outcome{t.playEdit(e, bounds.Optimist), t.playLikely(e), t.playEdit(e, bounds.Pessimist)}
	scale := check.Recorded / t.unedited // seconds per nanosecond of the replay
	f := predict.Forecast{Stall: stoker.Unknown(), Throughput: stoker.Unknown()}
	f.Step = orderEnds(ends[0].step*scale*replayError.Low, ends[1].step*scale, ends[2].step*scale*replayError.High)
	if !e.changesAny() {
		f.Step = stoker.Exactly(check.Recorded)
	}
	if e.removes() { // what takes nothing but time away makes no step longer
		f.Step.Point, f.Step.High = min(f.Step.Point, check.Recorded), min(f.Step.High, check.Recorded)
		f.Step.Low = min(f.Step.Low, f.Step.Point)
	}
	f.Step = t.raise(e, f.Step)
	gain := max(1, e.Batch) // of samples per step
	f.Speedup = stoker.Interval{
		Low: gain * check.Recorded / f.Step.High, Point: gain * check.Recorded / f.Step.Point,
		High: gain * check.Recorded / f.Step.Low,
	}
	f.Stall = orderEnds(ends[0].stallShare(), ends[1].stallShare(), ends[2].stallShare())
	workers, several := t.loaderAfter(e)
	f.Bound, f.Next = ends[1].path.binds(workers > 0 || several)
	if several && e.Workers > 0 && t.workers <= 0 || e.Accumulate > 1 && t.Lone() {
		f.Speedup = atMost(f.Speedup.High) // there may have been as many; all of it may be waiting for others
	}
	f.Notes = t.listNotes(e)
	if check.Bounds() {
		f.Speedup = atMost(f.Speedup.High)
		f.Notes = append(f.Notes, fmt.Sprintf("the replay without a change is %+.0f %% off the recording: the "+
			"gain is an upper bound", 100*check.Off()))
	}
	return f
}

// atMost returns a gain of which only an upper bound is known. The lower bound is no change.
func atMost(gain float64) stoker.Interval {
	return stoker.Interval{Low: min(1, gain), Point: math.NaN(), High: gain}
}

// Likely returns how many times as fast a step is after an edit in the likely case
// alone: a third of Forecast's work, to choose among edits.
func (t *Trace) Likely(e Edit) float64 {
	t.Check()
	return max(1, e.Batch) * t.unedited / t.playLikely(e).step
}

// playLikely returns an edit's outcome in the likely view, played once: a candidate is asked for
// it before its forecast is.
func (t *Trace) playLikely(e Edit) outcome {
	o, played := t.likely[e]
	if !played {
		o = t.playEdit(e, bounds.Likely)
		t.likely[e] = o
	}
	return o
}

// stallShare returns the part of the path that blocks on batches.
func (o outcome) stallShare() float64 {
	return float64(o.path[Loading]) / math.Max(1, float64(o.path.total()))
}

// orderEnds makes an interval whose point is inside.
func orderEnds(a, point, b float64) stoker.Interval {
	return stoker.Interval{Low: min(a, point, b), Point: point, High: max(a, point, b)}
}

// unknownWorkers returns the note for a forecast whose number of workers before the change is
// unknown.
func (t *Trace) unknownWorkers(e Edit) string {
	if e.Times > 0 {
		return "the trace does not tell how many workers there were: as many times more"
	}
	return fmt.Sprintf("the trace does not tell how many workers there were: if there were %d already, it is "+
		"worth 1.00x", e.Workers)
}

// listNotes returns the assumptions of a forecast of an edit.
func (t *Trace) listNotes(e Edit) []string {
	var notes []string
	if workers, several := t.loaderAfter(e); workers > 0 {
		if e.Cores <= 0 && t.cores <= 0 {
			notes = append(notes, fmt.Sprintf("a trace does not tell how many cores the job has: the workers are assumed "+
				"to get %d", workers))
		}
		if several && t.workers <= 0 {
			notes = append(notes, t.unknownWorkers(e))
		}
		if t.inferred {
			notes = append(notes,
				fmt.Sprintf("there were %d workers, by the waits: the loop waits for one batch in %d", t.workers,
					t.workers))
		}
	}
	if e.Times > 0 && !t.Several() {
		notes = append(notes, "the loop loads its batches itself: there are no workers to multiply")
	}
	if e.PinMemory && t.pinnedRate() == 0 {
		notes = append(notes, "neither the trace nor the table tells how fast pinned copies are here: as fast as "+
			"recorded")
	}
	if e.Accumulate > 1 && t.Lone() {
		notes = append(notes, "one rank's file does not tell how much of its collectives is waiting for other "+
			"ranks, which stays: trace the folder with the files of all ranks")
	}
	if e.GPU != nil && (t.machine.GPU.Name == "" || e.GPU.Name == "") {
		notes = append(notes, "one of the two devices is not in the table: its kernels keep their times")
	}
	return notes
}
