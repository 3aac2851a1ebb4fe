package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// Check is a replay without an edit. What the graph does not explain stays as
// recorded, so Replayed differs from Recorded only where the graph contradicts the
// recording. Usual is the stricter question: how far off is a replay in which the
// trace's usual latencies stand for the recorded ones?
type Check struct {
	Recorded float64 // a judged step as recorded, seconds: the median, unless steps are uneven by themselves
	Mean     float64 // the mean of the judged steps as recorded
	Replayed float64 // the same, replayed
	Usual    float64 // the same, replayed with usual latencies
	Steps    int     // that were judged
	Seen     int     // that were recorded, of all ranks
	Cut      bool    // only the beginning of the trace is replayed
	Path     Path    // what the judged steps were spent on
	Spent    []Spent // the same by name, most time first
}

// tolerance is how far a replay without an edit may be from the recording for
// gains to be more than upper bounds (published procedure).
const tolerance = 0.05

// Off is how far the replay with usual latencies is from the recording, as a
// share of it.
func (c Check) Off() float64 { return c.Usual/c.Recorded - 1 }

// Bounds reports whether gains are upper bounds only.
func (c Check) Bounds() bool {
	return !(math.Abs(c.Off()) <= tolerance && math.Abs(c.Replayed/c.Recorded-1) <= tolerance)
}

// Check replays the trace as it is.
func (t *Trace) Check() Check {
	if t.check == nil {
		c := t.checked()
		t.check = &c
	}
	return *t.check
}

func (t *Trace) checked() Check {
	p := t.play()
	p.run()
	t.uneven = uneven(p.steps())
	t.unedited = typical(p.steps())
	c := Check{Recorded: t.recordedStep() / 1e9, Mean: mean(t.recorded().steps()) / 1e9, Replayed: t.unedited / 1e9, Steps: t.judged[1] - t.judged[0], Seen: t.seen, Cut: t.calls < len(t.t.Host.Start), Path: p.path(), Spent: p.spent()}
	p = t.play()
	p.usual()
	p.run()
	c.Usual = typical(p.steps()) / 1e9
	return c
}

// usual takes the trace's usual latencies for the recorded ones.
func (p *play) usual() {
	for i := range p.t.works {
		w := &p.t.works[i]
		if w.loose {
			continue
		}
		if w.dep < 0 {
			if byCall, byStream := p.t.ready(w); byCall > byStream {
				p.flight[i] = p.t.usual
			}
			p.gap[i] = min(p.gap[i], p.t.latest)
		} else {
			p.depGap[i] = min(p.depGap[i], p.t.latest)
		}
	}
}

// recordedStep is a judged step as recorded, nanoseconds.
func (t *Trace) recordedStep() float64 {
	return typical(t.recorded().steps())
}

// recorded is a play whose times are the recorded ones.
func (t *Trace) recorded() *play {
	p := &play{t: t, from: make([]int64, len(t.items)), begin: make([]int64, len(t.works)), end: make([]int64, len(t.works))}
	for i := range t.items {
		p.from[i] = t.items[i].start
	}
	for i := range t.works {
		p.begin[i], p.end[i] = t.works[i].start, t.works[i].end
	}
	return p
}

// outcome is one view's answer.
type outcome struct {
	step float64 // nanoseconds
	path Path
}

// solve plays an edit in one view. A wait every n steps, and an optimizer every n,
// are a mixture of steps with and without: their times add up.
func (t *Trace) solve(e Edit, v view) outcome {
	if n := e.SyncEvery; n > 1 && n != Never {
		with, without := e, e
		with.SyncEvery, without.SyncEvery = 0, Never
		return mixed(t.solve(with, v), t.solve(without, v), n)
	}
	if n := e.Accumulate; n > 1 && n != Never {
		with, without := e, e
		with.Accumulate, without.Accumulate = 0, Never
		return mixed(t.solve(with, v), t.solve(without, v), n)
	}
	p := t.play()
	if e.any() {
		p.apply(e, v)
	}
	p.run()
	return outcome{t.usualStep(e, p.steps()), p.path()}
}

// mixed is a step of which one in n is the first kind and the others the second.
func mixed(first, second outcome, n int) outcome {
	share := 1 / float64(n)
	o := outcome{step: share*first.step + (1-share)*second.step}
	for part := range o.path {
		o.path[part] = int64(share*float64(first.path[part]) + (1-share)*float64(second.path[part]))
	}
	return o
}

// Limits of what counts for uneven steps. [J]
const (
	unevenSteps = 0.1  // by how much the mean may exceed the median
	outliers    = 0.15 // of the steps, the longest, that are no pattern
)

// uneven reports whether steps differ otherwise than by a few outliers: where
// batches come in bursts.
func uneven(steps []int64) bool {
	if len(steps) < 4 {
		return false
	}
	sorted := slices.Clone(steps)
	slices.Sort(sorted)
	n := len(sorted) - max(1, int(outliers*float64(len(sorted))))
	middle := median(steps)
	return math.Abs(mean(sorted[:n])-middle) > unevenSteps*middle
}

// typical is one step's time: the median, which outliers do not move, but of
// uneven steps the mean: only that tells how many come.
func typical(steps []int64) float64 {
	if uneven(steps) {
		return mean(steps)
	}
	return median(steps)
}

// usualStep is the time of a step after an edit. Only workers make even steps
// uneven; else it is the recorded outliers that stand out among shorter steps.
func (t *Trace) usualStep(e Edit, steps []int64) float64 {
	switch workers, _ := t.loaderAfter(e); {
	case t.uneven:
		return mean(steps)
	case workers > 0:
		return typical(steps)
	}
	return median(steps)
}

// Forecast says how long a step takes after an edit. Unknown where the edit says
// nothing of this trace.
func (t *Trace) Forecast(e Edit) predict.Forecast {
	check := t.Check()
	ends := [3]outcome{t.solve(e, optimist), t.solve(e, likely), t.solve(e, pessimist)}
	scale := check.Recorded / t.unedited // seconds per nanosecond of the replay
	f := predict.Forecast{Stall: stoker.Unknown(), Throughput: stoker.Unknown()}
	f.Step = sorted(ends[0].step*scale*replayError.Low, ends[1].step*scale, ends[2].step*scale*replayError.High)
	if !e.any() {
		f.Step = stoker.Exactly(check.Recorded)
	}
	if e.removes() { // what takes nothing but time away makes no step longer
		f.Step.Point, f.Step.High = min(f.Step.Point, check.Recorded), min(f.Step.High, check.Recorded)
		f.Step.Low = min(f.Step.Low, f.Step.Point)
	}
	gain := max(1, e.Batch) // of samples per step
	f.Speedup = stoker.Interval{Low: gain * check.Recorded / f.Step.High, Point: gain * check.Recorded / f.Step.Point, High: gain * check.Recorded / f.Step.Low}
	f.Stall = sorted(ends[0].stall(), ends[1].stall(), ends[2].stall())
	workers, several := t.loaderAfter(e)
	f.Bound, f.Next = ends[1].path.binds(workers > 0 || several)
	f.Notes = t.notes(e)
	if check.Bounds() {
		f.Speedup = stoker.Interval{Low: math.NaN(), Point: math.NaN(), High: f.Speedup.High}
		f.Notes = append(f.Notes, fmt.Sprintf("the replay without a change is %+.0f %% off the recording: the gain is an upper bound", 100*check.Off()))
	}
	return f
}

// Likely is how many times as fast a step is after an edit in the likely case
// alone: a third of Forecast's work, to choose among edits.
func (t *Trace) Likely(e Edit) float64 {
	t.Check()
	return max(1, e.Batch) * t.unedited / t.solve(e, likely).step
}

// stall is the part of the path that waits for batches.
func (o outcome) stall() float64 {
	return float64(o.path[Loading]) / math.Max(1, float64(o.path.sum()))
}

// sorted makes an interval whose point lies inside.
func sorted(a, point, b float64) stoker.Interval {
	return stoker.Interval{Low: min(a, point, b), Point: point, High: max(a, point, b)}
}

// notes say what a forecast of an edit assumes.
func (t *Trace) notes(e Edit) []string {
	var notes []string
	if workers, several := t.loaderAfter(e); workers > 0 {
		if e.Cores <= 0 && t.cores <= 0 {
			notes = append(notes, fmt.Sprintf("a trace does not tell how many cores the job has: %d are assumed to be free for the workers", workers))
		}
		if several && t.workers <= 0 {
			notes = append(notes, "the trace does not tell how many workers there were: as many times more")
		}
	}
	if e.Times > 0 && !t.Several() {
		notes = append(notes, "the loop loads its batches itself: there are no workers to multiply")
	}
	if e.PinMemory && t.pinnedRate() == 0 {
		notes = append(notes, "neither the trace nor the table tells how fast pinned copies are here: as fast as recorded")
	}
	if e.GPU != nil && (t.machine.GPU.Name == "" || e.GPU.Name == "") {
		notes = append(notes, "one of the two devices is not in the table: its kernels keep their times")
	}
	return notes
}
