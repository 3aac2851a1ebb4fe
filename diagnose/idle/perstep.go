package idle

import (
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// Part is what one judged step of a device went into; without steps, the whole window.
// Nanoseconds.
type Part struct {
	From, To                                    int64
	Kernel, Copy, Crossing, Communication, Idle int64 // as of a Device
	Causes                                      [Causes]int64
	Launches, Works                             int // calls that launched work, and pieces of work

	total [levels]int64
}

// Named is all work of one name and kind within the judged steps, by step.
type Named struct {
	Name  int32
	Kind  recording.WorkKind
	Calls []int
	Time  []int64
	Bytes []int64 // of the recorded copies
}

// CutSteps cuts a device's judged window into its steps, with what the device did in each.
func (a *Analysis) CutSteps(d *Device) []Part {
	parts := []Part{{From: d.From, To: d.To}}
	if len(d.Steps) > 0 {
		parts = make([]Part, len(d.Steps))
		for i, s := range d.Steps {
			parts[i].From, parts[i].To = s.From, s.To
		}
	}
	a.levels(d, func(level int, from, to int64) {
		spreadOver(parts, from, to, func(p *Part, ns int64) { p.total[level] += ns })
	})
	for i := range parts {
		p := &parts[i]
		p.Kernel, p.Copy, p.Crossing, p.Communication = apart(p.total)
		p.Idle = p.To - p.From - p.Kernel - p.Copy - p.Communication
	}
	return parts
}

// PerStep is CutSteps with the causes of idle time and the work of each step. Work counts
// for the step in which it starts.
func (a *Analysis) PerStep(d *Device) ([]Part, []Named) {
	parts := a.CutSteps(d)
	for s := range a.Slices(d, d.From, d.To) {
		spreadOver(parts, s.From, s.To, func(p *Part, ns int64) { p.Causes[s.Cause] += ns })
	}
	return parts, a.namedWork(d, parts)
}

// stepAt is the place of the step at an instant.
func stepAt(parts []Part, ns int64) int {
	return max(0, sort.Search(len(parts), func(i int) bool { return parts[i].From > ns })-1)
}

// spreadOver hands each step its part of a time.
func spreadOver(parts []Part, from, to int64, add func(p *Part, ns int64)) {
	for i := stepAt(parts, from); i < len(parts) && from < to; i++ {
		end := to
		if i+1 < len(parts) {
			end = min(to, parts[i].To)
		}
		add(&parts[i], max(0, end-from))
		from = max(from, end)
	}
}

// namedWork adds up work by name, and counts it in its step.
func (a *Analysis) namedWork(d *Device, parts []Part) []Named {
	type key struct {
		name int32
		kind recording.WorkKind
	}
	w := &a.t.Device
	place := map[key]int{}
	var out []Named
	for _, i := range a.works.members(d.Index) {
		if w.Start[i] < d.From || w.Start[i] >= d.To {
			continue
		}
		step := stepAt(parts, w.Start[i])
		kind := w.Kind[i]
		if a.IsCollective(i) {
			kind = recording.Collective
		}
		k := key{w.Name[i], kind}
		n, known := place[k]
		if !known {
			n = len(out)
			place[k] = n
			out = append(out, Named{
				k.name, kind, make([]int, len(parts)), make([]int64, len(parts)),
				make([]int64, len(parts)),
			})
		}
		out[n].Calls[step]++
		out[n].Time[step] += w.End[i] - w.Start[i]
		out[n].Bytes[step] += max(0, w.Bytes[i])
		parts[step].Works++
		if call := w.Call[i]; call < 0 || a.first[call] == i {
			parts[step].Launches++
		}
	}
	return out
}
