// Package lanes cuts a stretch of a Timeline into as many cells as a terminal has
// columns: what the device did above, what its launching thread did below. Which
// letter or colour a cell gets is the report's business.
package lanes

import (
	"iter"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// Lanes are two rows of cells over the same time.
type Lanes struct {
	From, To int64 // nanoseconds
	Step     int   // number of the step as recorded, -1: the whole recording
	Device   []Activity
	// where the device is idle the cause of that; else what the launching thread did, Unrecorded
	// where nothing is known
	Host []idle.Cause
}

// Activity is what a device did most of a cell.
type Activity uint8

// What a device does, in order of what counts where several run.
const (
	Idle Activity = iota
	Kernel
	Copy
	Communication
)

// Of cuts the step of a device that has most idle time; of a file that shows no steps its
// whole window.
func Of(run *recording.Run, all *idle.Analysis, d *idle.Device, columns int) *Lanes {
	l := &Lanes{From: d.From, To: d.To, Step: -1}
	if worst := worst(run.Timeline, d); worst >= 0 && run.Facts.MarksSteps() {
		s := d.Steps[worst]
		l.From, l.To, l.Step = s.From, s.To, run.Steps[s.Index].N
	}
	if columns < 1 || l.To <= l.From {
		return l
	}
	l.fillDevice(run.Timeline, all, d, columns)
	l.Host = l.most(columns, all.Doing(d, l.From, l.To))
	causes := l.most(columns, all.Slices(d, l.From, l.To))
	for c, on := range l.Device {
		if on == Idle {
			l.Host[c] = causes[c]
		}
	}
	return l
}

// worst is the step with most idle time, -1 without steps. Steps follow each other
// without a space between them.
func worst(t *recording.Timeline, d *idle.Device) int {
	if len(d.Steps) == 0 {
		return -1
	}
	empty := make([]int64, len(d.Steps))
	at, end := 0, d.From
	gap := func(to int64) {
		for end < to && at < len(d.Steps) {
			until := min(to, d.Steps[at].To)
			empty[at] += max(0, until-end)
			if end = max(end, until); end >= d.Steps[at].To {
				at++
			}
		}
	}
	w := &t.Device
	for i := range w.Start {
		if w.Device[i] == d.Index {
			gap(min(w.Start[i], d.To))
			end = max(end, w.End[i])
			for at < len(d.Steps) && d.Steps[at].To <= end {
				at++
			}
		}
	}
	gap(d.To)
	worst := 0
	for i := range empty {
		if empty[i] > empty[worst] {
			worst = i
		}
	}
	return worst
}

// columnAt is the column of an instant.
func (l *Lanes) columnAt(at int64, columns int) int {
	return min(columns-1, max(0, int(float64(at-l.From)/float64(l.To-l.From)*float64(columns))))
}

// edge is where a column begins.
func (l *Lanes) edge(column, columns int) int64 {
	return l.From + int64(float64(l.To-l.From)*float64(column)/float64(columns))
}

// spread adds a stretch of time to the columns that it touches.
func (l *Lanes) spread(from, to int64, columns int, add func(column int, ns int64)) {
	from, to = max(from, l.From), min(to, l.To)
	for c := l.columnAt(from, columns); from < to && c < columns; c++ {
		end := min(to, l.edge(c+1, columns))
		if c == columns-1 {
			end = to
		}
		if end > from {
			add(c, end-from)
			from = end
		}
	}
}

// fillDevice fills the upper row. Work that overlaps is counted once for each kind,
// in the order kernel, copy, collective, as in the shares.
func (l *Lanes) fillDevice(t *recording.Timeline, all *idle.Analysis, d *idle.Device, columns int) {
	times := make([][Communication + 1]int64, columns)
	var end [Communication + 1]int64
	w := &t.Device
	for i := range int32(len(w.Start)) {
		if w.Device[i] != d.Index || w.Start[i] >= l.To || w.End[i] <= l.From {
			continue
		}
		on := Kernel
		switch {
		case all.IsCollective(i):
			on = Communication
		case w.Kind[i] != recording.Kernel:
			on = Copy
		}
		for level := on; level <= Communication; level++ {
			l.spread(max(w.Start[i], end[level]), w.End[i], columns, func(c int, ns int64) { times[c][level] += ns })
			end[level] = max(end[level], w.End[i])
		}
	}
	l.Device = make([]Activity, columns)
	for c := range times {
		l.Device[c] = mostly(times[c], l.edge(c+1, columns)-l.edge(c, columns))
	}
}

// mostly picks what a cell shows: times are of kernels, of kernels and copies, of
// all work.
func mostly(times [Communication + 1]int64, length int64) Activity {
	parts := [Communication + 1]int64{
		length - times[Communication], times[Kernel], times[Copy] - times[Kernel],
		times[Communication] - times[Copy],
	}
	on := Idle
	for i, part := range parts {
		if part > parts[on] {
			on = Activity(i)
		}
	}
	return on
}

// most gives each column the cause with most of it.
func (l *Lanes) most(columns int, slices iter.Seq[idle.Slice]) []idle.Cause {
	times := make([][idle.Causes]int64, columns)
	for s := range slices {
		l.spread(s.From, s.To, columns, func(c int, ns int64) { times[c][s.Cause] += ns })
	}
	out := make([]idle.Cause, columns)
	for c := range times {
		out[c] = idle.Unrecorded
		most := int64(0)
		for cause, ns := range times[c] {
			if ns > most {
				out[c], most = idle.Cause(cause), ns
			}
		}
	}
	return out
}
