package replay

import (
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// The time that a loop waits for batches of worker processes is not the loop's own: a batch
// arrives when a worker has made it, however fast the loop was. A faster loop asks earlier and
// waits longer.

// takenFrom is the longest wait, as a share of a step, that still counts as taking a batch from
// a full queue. [J]
const takenFrom = 0.1

// longWait returns the shortest wait, in nanoseconds, that counts as a wait for the batch
// itself. Taking a batch that is ready lasts up to takeBatch.High on a busy machine, and is a
// small part of a step.
func (t *Trace) longWait() int64 {
	step := median(t.playRecorded().stepTimes())
	return max(nanos(takeBatch.Point), min(nanos(takeBatch.High), int64(takenFrom*step)))
}

// findSupply derives from the judged wait times how fast workers deliver. A worker that always
// has work delivers at even intervals, so somewhere in each round of all workers the loop has to
// wait.
func (t *Trace) findSupply() {
	t.supply.long = t.longWait()
	var waited []bool
	first, last := t.steps[t.judged[0]], t.steps[t.judged[1]-1]
	for i := range t.loads {
		l := &t.loads[i]
		if l.by == others && l.process == first.process && l.start >= first.from && l.start < last.to {
			waited = append(waited, l.end-l.start > t.supply.long)
		}
	}
	if t.loadingShare() < leastStarved {
		return
	}
	t.supply.period = periodOf(waited)
	round := t.supply.period
	if t.workers > 0 {
		round = t.workers
	}
	t.supply.saturated = round > 0 && comesWithin(waited, round)
	if t.workers < 0 && t.supply.period > 1 && t.supply.saturated {
		t.workers, t.inferred = t.supply.period, true
	}
}

// findOpenings finds the loaders that are made in the recording. A loader is one of them if a
// Python frame that makes a loader comes before its first wait. In a program whose only step has
// several batches, the loader of that step counts too.
func (t *Trace) findOpenings() {
	var makes []int64 // in order of time
	for i, name := range t.t.Frames.Name {
		if text := t.t.Names[name]; recording.MakesLoader(text) {
			makes = append(makes, t.t.Frames.Start[i])
		}
	}
	first, inside := -1, 0
	for i := range t.loads {
		l := &t.loads[i]
		for ; len(makes) > 0 && makes[0] <= l.start; makes = makes[1:] {
			l.opens = true
		}
		if l.start >= t.steps[t.judged[0]].from && l.start < t.steps[t.judged[0]].to {
			if inside++; first < 0 {
				first = i
			}
		}
	}
	if t.seen == 1 && inside > 1 {
		t.loads[first].opens = true
	}
}

// periodOf returns the number of batches after which the pattern of wait times repeats, seen at
// least twice; 0 if it does not.
func periodOf(waited []bool) int {
	for period := 1; 2*period <= len(waited); period++ {
		same, some := true, false
		for i := range waited {
			some = some || waited[i]
			same = same && (i < period || waited[i] == waited[i-period])
		}
		if same && some {
			return period
		}
	}
	return 0
}

// comesWithin reports whether of so many neighbours one was always waited for.
func comesWithin(waited []bool, round int) bool {
	seen, since := 0, 0
	for _, w := range waited {
		if since++; w {
			seen, since = seen+1, 0
		}
		if since >= round {
			return false
		}
	}
	return seen > 1
}

// arrives reports whether a view counts a wait as waiting for an arrival. If the workers are not
// known to be saturated, a faster loop may also have set them to work earlier.
func (t *Trace) arrives(l *load, v bounds.View) bool {
	switch {
	case l.by == itself || l.end-l.start <= t.supply.long:
		return false
	case l.by == others && t.supply.saturated:
		return true
	}
	return v == bounds.Pessimist
}

// arriving lets batches arrive when they did, with a larger batch in proportion later.
func (p *play) arriving(grow float64, v bounds.View) {
	t := p.t
	p.ready = make([]int64, len(t.items))
	longest := recording.NoPlaces(len(t.loads)) // the piece of each wait in which it stalls
	for i := range t.items {
		if it := &t.items[i]; it.kind == loading {
			if at := longest[it.load]; at < 0 || it.end-it.start > t.items[at].end-t.items[at].start {
				longest[it.load] = int32(i)
			}
		}
	}
	for i := range t.items {
		it := &t.items[i]
		if it.kind != loading {
			continue
		}
		if l := &t.loads[it.load]; !t.arrives(l, v) {
			p.own[i] = scaleTime(p.own[i], grow)
		} else if longest[it.load] == int32(i) {
			origin := t.loads[0].start
			p.own[i] = min(p.own[i], nanos(v.PickCost(takeBatch)))
			p.ready[i] = origin + scaleTime(it.end-origin, grow)
		}
	}
}

// Saturated reports whether the recorded workers always have a batch to prepare: then
// nothing but more of them, or cheaper batches, makes a step shorter.
func (t *Trace) Saturated() bool { return t.supply.saturated }

// Workers returns how many worker processes prepared batches, and whether that was inferred from
// the wait times instead of read from the file. It returns -1 if neither shows it.
func (t *Trace) Workers() (n int, inferred bool) { return t.workers, t.inferred }
