package replay

import (
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// What a loop blocks on when worker processes prepare its batches is not its own time:
// a batch arrives when a worker has made it, however fast the loop was. A loop that gets
// faster asks earlier and has to wait longer.

// takenFrom is the part of a step up to which a short wait is taken for the time that it
// takes to get a batch from a full queue. [J]
const takenFrom = 0.1

// longWait is from when on a wait was for the batch itself, ns: taking one that is there
// lasts up to takeBatch.High on a busy machine, and is no large part of a step.
func (t *Trace) longWait() int64 {
	step := median(t.playRecorded().stepTimes())
	return max(nanos(takeBatch.Point), min(nanos(takeBatch.High), int64(takenFrom*step)))
}

// findSupply reads the supply off the judged wait times. A worker that always has work to do
// delivers every so many batches, so somewhere in each round of all workers the loop has to wait.
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

// findOpenings finds the loaders that are made in the recording: those whose first wait comes behind a frame of Python
// that makes one, and of a program whose only step has several batches, the one of that step.
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

// periodOf is after how many batches the pattern of wait times repeats, seen at least twice;
// 0 if it does not.
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

// arrives reports whether a view takes a wait for an arrival. Behind workers that are
// not known to be saturated, a faster loop may also have set them to work earlier.
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

// Workers is how many worker processes prepared batches; inferred says that the wait times
// tell so and not the file. -1 where neither does.
func (t *Trace) Workers() (n int, inferred bool) { return t.workers, t.inferred }
