package replay

import (
	"math"
	"slices"
)

// Several reports whether worker processes prepared the recorded batches.
func (t *Trace) Several() bool {
	return slices.ContainsFunc(t.loads, func(l load) bool { return l.by == others })
}

// Loads reports whether batches are loaded in the recording.
func (t *Trace) Loads() bool { return len(t.loads) > 0 }

// leastStarved is the share of the steps that have to wait for batches before the waits say what
// workers can deliver. [J]
const leastStarved = 0.03

// loadingShare returns how much of the recorded steps the loop blocks on batches.
func (t *Trace) loadingShare() float64 {
	first, last := t.steps[t.judged[0]], t.steps[t.judged[1]-1]
	sum := int64(0)
	for i := range t.loads {
		if l := &t.loads[i]; l.start >= first.from && l.start < last.to && l.process == first.process {
			sum += l.end - l.start
		}
	}
	return float64(sum) / float64(max(1, last.to-first.from))
}

func (t *Trace) isJudged(step int32) bool { return int(step) >= t.judged[0] && int(step) < t.judged[1] }

// isBefore reports whether an item is before the judged steps. That stays as it was recorded: of a start that gets
// shorter, the work would queue up before the steps.
func (t *Trace) isBefore(item int32) bool { return t.items[item].start < t.steps[t.judged[0]].from }

// endsCopyIn reports whether an item blocks on the copy to the device before it.
func (t *Trace) endsCopyIn(it *item) bool {
	return it.kind == wait && it.ofCopy && t.items[it.prev].kind == copyIn
}

// recordedStep returns a judged step as recorded, nanoseconds.
func (t *Trace) recordedStep() float64 { return t.typical(t.playRecorded().stepTimes()) }

// playRecorded returns a play whose times are the recorded ones.
func (t *Trace) playRecorded() *play {
	p := &play{
		t: t, from: make([]int64, len(t.items)), begin: make([]int64, len(t.works)),
		end: make([]int64, len(t.works)),
	}
	for i := range t.items {
		p.from[i] = t.items[i].start
	}
	for i := range t.works {
		p.begin[i], p.end[i] = t.works[i].start, t.works[i].end
	}
	return p
}

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

// CountAll makes a step of the replay the mean of the judged ones: a verdict counts those that stand out, too.
func (t *Trace) CountAll() { t.byMean, t.check = true, nil }

// typical returns the time of one step. It is the median, which outliers do not change, but the
// mean of uneven steps, because only the mean counts how many come.
func (t *Trace) typical(steps []int64) float64 {
	if t.byMean || t.supply.saturated || uneven(steps) { // workers that take turns deliver in bursts
		return mean(steps)
	}
	return median(steps)
}

// leastRated is the size from which a copy's rate is the link's: smaller ones are
// mostly latency. [J]
const leastRated = 1 << 20

// pinnedRate returns the rate of pinned copies in bytes/s, from the trace or else from the table
// of the device's link; 0 if unknown.
func (t *Trace) pinnedRate() float64 {
	bytes, ns := int64(0), int64(0)
	for i := range t.works {
		if w := &t.works[i]; w.down && isPinned(t.t.Names[w.name]) && t.t.Device.Bytes[i] >= leastRated {
			bytes, ns = bytes+t.t.Device.Bytes[i], ns+w.end-w.start
		}
	}
	if ns > 0 {
		return float64(bytes) / float64(ns) * 1e9
	}
	return t.machine.Link.Pinned.Value
}

// Limits of what counts for uneven steps. [J]
const (
	unevenSteps = 0.1  // by how much the mean may exceed the median
	outliers    = 0.15 // of the steps, the longest, that are no pattern
)
