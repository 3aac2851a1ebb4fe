package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// joiner appends one Timeline to another.
type joiner struct {
	t     *recording.Timeline
	names map[string]int32
	files int // that were added
}

// reserve makes room for all parts, so that no column is copied while it grows.
func (j *joiner) reserve(parts []part) {
	calls, works, frames := 0, 0, 0
	for _, p := range parts {
		calls += len(p.Timeline.Host.Start)
		works += len(p.Timeline.Device.Start)
		frames += len(p.Timeline.Frames.Start)
	}
	j.t.Host.Grow(calls)
	j.t.Device.Grow(works)
	j.t.Frames.Grow(frames)
}

func (j *joiner) addPart(run *recording.Run, p *part, later int64) {
	t, from := j.t, p.Timeline
	name := make([]int32, len(from.Names))
	for i, text := range from.Names {
		id, found := j.names[text]
		if !found {
			id = int32(len(t.Names))
			j.names[text] = id
			t.Names = append(t.Names, text)
		}
		name[i] = id
	}
	threads, devices := int32(len(t.Threads)), int32(len(t.Devices))
	calls, gpus := int32(len(t.Host.Start)), len(run.Facts.GPUs)
	t.Threads = append(t.Threads, from.Threads...)
	for _, d := range from.Devices {
		if d.File = j.files; d.GPU >= 0 {
			d.GPU += gpus
		}
		t.Devices = append(t.Devices, d)
	}
	by := translation{later: later, names: name, threads: threads, devices: devices, calls: calls}
	by.appendRows(t, from)
	t.End = max(t.End, from.End+later)
	for reason, n := range from.Dropped {
		if t.Dropped == nil {
			t.Dropped = map[string]int{}
		}
		t.Dropped[reason] += n
	}
	p.joinFacts(run, later)
	j.files++
}

// joinFacts adds the facts, which the Timeline does not hold.
func (p *part) joinFacts(run *recording.Run, later int64) {
	for _, s := range p.Steps {
		s.Start += float64(later) / 1e9
		run.Steps = append(run.Steps, s)
	}
	for _, q := range p.Facts.Processes {
		q.Start, q.End = q.Start+float64(later)/1e9, q.End+float64(later)/1e9
		run.Facts.Processes = append(run.Facts.Processes, q)
	}
	run.Facts.GPUs = append(run.Facts.GPUs, p.Facts.GPUs...)
	run.Facts.Loaders = append(run.Facts.Loaders, p.Facts.Loaders...)
	for _, d := range p.Facts.Damage {
		run.Facts.Damage = append(run.Facts.Damage, fmt.Sprintf("Rank %d: %s", p.Rank, d))
	}
	run.Facts.WorkLost = max(run.Facts.WorkLost, p.Facts.WorkLost)
	for _, w := range p.Warnings {
		run.Warnings = append(run.Warnings, fmt.Sprintf("Rank %d: %s", p.Rank, w))
	}
}

// translation makes rows of one Timeline rows of another.
type translation struct {
	later                   int64   // ns
	names                   []int32 // by place among the one's names: place among the other's
	threads, devices, calls int32   // that the other has already
}

// appendRows adds all rows of the one to the other.
func (m translation) appendRows(to, from *recording.Timeline) {
	for i := range from.Host.Start {
		r := from.Host.RowAt(i)
		r.Start, r.End = r.Start+m.later, r.End+m.later
		r.Name, r.Thread = m.nameAt(r.Name), offset(r.Thread, m.threads)
		r.Shapes, r.Types = m.nameAt(r.Shapes), m.nameAt(r.Types)
		to.Host.Append(r)
	}
	for i := range from.Device.Start {
		r := from.Device.RowAt(i)
		r.Start, r.End = r.Start+m.later, r.End+m.later
		r.Name, r.Group = m.nameAt(r.Name), m.nameAt(r.Group)
		r.Device, r.Call = offset(r.Device, m.devices), offset(r.Call, m.calls)
		to.Device.Append(r)
	}
	for i := range from.Frames.Start {
		r := from.Frames.RowAt(i)
		r.Start, r.End = r.Start+m.later, r.End+m.later
		r.Name, r.Thread = m.nameAt(r.Name), offset(r.Thread, m.threads)
		to.Frames.Append(r)
	}
	for i := range from.Memory.At {
		r := from.Memory.RowAt(i)
		r.At, r.Device, r.Thread = r.At+m.later, offset(r.Device, m.devices), offset(r.Thread, m.threads)
		to.Memory.Append(r)
	}
}

// nameAt and offset translate indices; -1 stays.
func (m translation) nameAt(i int32) int32 {
	if i >= 0 {
		return m.names[i]
	}
	return i
}

func offset(i, by int32) int32 {
	if i >= 0 {
		return i + by
	}
	return i
}

// sortRows puts the columns in order of start again.
func (j *joiner) sortRows() {
	h, d, f := &j.t.Host, &j.t.Device, &j.t.Frames
	order := orderByStart(h.Start)
	place := make([]int32, len(order))
	for at, i := range order {
		place[i] = int32(at)
	}
	for k, c := range d.Call {
		if c >= 0 {
			d.Call[k] = place[c]
		}
	}
	h.Reorder(order)
	d.Reorder(orderByStart(d.Start))
	f.Reorder(orderByStart(f.Start))
	j.t.Memory.Reorder(orderByStart(j.t.Memory.At))
}

func orderByStart(start []int64) []int32 {
	order := make([]int32, len(start))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(start[a], start[b]) })
	return order
}
