package replay

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// Floor is the least time of a step, whatever the host does. A stream runs one kernel after the
// other. A device runs as many side by side as the recording shows. Each direction of its link
// carries one copy after the other, at the recorded rate.
type Floor struct {
	Seconds float64
	On      Resource
}

// Resource is what does one thing after the other.
type Resource uint8

// The resources of a device.
const (
	NoResource Resource = iota
	Stream              // kernels of one stream
	LinkDown            // copies to the device
	LinkUp              // copies to the host
	AllStreams          // kernels of all streams, which the recording does not show next to each other
	BothLinks           // copies of both directions, which the recording does not show next to each other
)

// lane is one resource of one device.
type lane struct {
	on             Resource
	device, stream int32
}

// laneOf returns the resource that a piece of work holds; NoResource for what may end earlier when
// something else changes, such as a collective that blocks on other ranks.
func (t *Trace) laneOf(i int32) lane {
	d, w := &t.t.Device, &t.works[i]
	switch {
	case w.kind == recording.Kernel:
		return lane{Stream, d.Device[i], d.Stream[i]}
	case w.down:
		return lane{LinkDown, d.Device[i], 0}
	case w.kind == recording.Copy && recording.ToHost(t.t.Names[w.name]):
		return lane{LinkUp, d.Device[i], 0}
	}
	return lane{}
}

// listResources returns the resources that work on a lane takes: a kernel's stream, and the
// device; a copy's direction, and the link.
func (l lane) listResources() []lane {
	if l.on == Stream {
		return []lane{l, {AllStreams, l.device, 0}}
	}
	return []lane{l, {BothLinks, l.device, 0}}
}

// queueCopies finds, for each copy over a link, the one before it in its direction. Two copies
// that ran at the same time already share the link, and do not wait for each other.
func (t *Trace) queueCopies() {
	last := map[lane]int32{}
	for i := range int32(len(t.works)) {
		w := &t.works[i]
		on := t.laneOf(i)
		if w.link = -1; on.on != LinkDown && on.on != LinkUp {
			continue
		}
		before, known := last[on]
		if known && t.works[before].end <= w.start {
			w.link = before
		}
		if !known || t.works[before].end < w.end {
			last[on] = i
		}
	}
}

// laneTime is the time of work on one lane.
type laneTime struct {
	until int64   // the end of what was added, as recorded
	steps []int64 // by judged step
}

// floor returns the least that a judged step of a play takes, nanoseconds, and on what.
func (p *play) floor() (ns float64, on Resource) {
	t := p.t
	sums := map[lane]*laneTime{}
	var held []*laneTime // of the last lane: most works follow one of the same
	var last lane
	for i := range t.works {
		w, l := &t.works[i], t.laneOf(int32(i))
		step := w.step
		if w.loose && step < 0 { // it counts if it runs
			step = t.stepAt(t.steps[t.judged[0]].process, w.start)
		}
		if l.on == NoResource || !t.isJudged(step) {
			continue
		}
		if l != last {
			last, held = l, held[:0]
			for _, of := range l.listResources() {
				if sums[of] == nil {
					sums[of] = &laneTime{steps: make([]int64, t.judged[1]-t.judged[0])}
				}
				held = append(held, sums[of])
			}
		}
		for _, sum := range held {
			alone := max(0, w.end-max(w.start, sum.until)) // a kernel may begin while the one before it ends
			sum.until = max(sum.until, w.end)
			if whole := w.end - w.start; whole > 0 {
				sum.steps[int(step)-t.judged[0]] += scaleTime(p.length[i], float64(alone)/float64(whole))
			}
		}
	}
	var most [BothLinks + 1]float64
	for l, sum := range sums {
		most[l.on] = max(most[l.on], t.typical(sum.steps))
	}
	for _, l := range []Resource{Stream, LinkDown, LinkUp, AllStreams, BothLinks} { // those of one thing first
		if most[l] > ns {
			if ns*sharedShows < most[l] {
				on = l
			}
			ns = most[l]
		}
	}
	return ns, on
}

// sharedShows is how many times as long as one stream or direction all of them take for the limit to be that they
// share. [J]
const sharedShows = 1.02

// Floor returns the least that a step takes after an edit, at its best.
func (t *Trace) Floor(e Edit) Floor {
	f, known := t.floors[e]
	if !known {
		check := t.Check()
		ns, on := t.floorOf(e)
		f = Floor{min(ns*check.Recorded/t.unedited, check.Recorded), on}
		t.floors[e] = f
	}
	return f
}

// floorOf returns the floor of an edit in nanoseconds of the replay.
func (t *Trace) floorOf(e Edit) (ns float64, on Resource) {
	if n := e.Accumulate; n > 1 && n != Never {
		with, without := e, e
		with.Accumulate, without.Accumulate = 0, Never
		first, _ := t.floorOf(with)
		second, on := t.floorOf(without)
		return first/float64(n) + second*(1-1/float64(n)), on
	}
	p := t.startPlay()
	if e.changesAny() {
		p.apply(e, bounds.Optimist)
	}
	defer t.endPlay(p)
	return p.floor()
}

// raise keeps a forecast's step at what physics allows: its resources' time, and for a larger
// batch alone the step as it is.
func (t *Trace) raise(e Edit, step stoker.Interval) stoker.Interval {
	least := t.Floor(e).Seconds
	if bare := e; e.Batch > 1 {
		if bare.Batch = 0; !bare.changesAny() {
			least = t.Check().Recorded
		}
	}
	return stoker.Interval{Low: max(step.Low, least), Point: max(step.Point, least), High: max(step.High, least)}
}

// LateShare returns the share of the judged steps in which work is waiting, after its launch and
// the work before it, for no reason that was recorded.
func (t *Trace) LateShare() float64 {
	if math.IsNaN(t.late) {
		t.late = t.measureLate()
	}
	return t.late
}

func (t *Trace) measureLate() float64 {
	p := t.startPlay()
	late, all := int64(0), int64(0)
	for i := range t.works {
		if t.isJudged(t.works[i].step) {
			late += p.late[i]
		}
	}
	for _, ns := range t.playRecorded().stepTimes() {
		all += ns
	}
	return float64(late) / float64(max(1, all))
}
