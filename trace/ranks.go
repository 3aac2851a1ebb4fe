package trace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/kineto"
)

// part is one rank's file.
type part struct {
	file string
	*kineto.Trace
	told bool // the file's content or its name tells the rank
}

// Ranks of one run record the same steps at the same time. Files whose times lie
// further apart than this belong to different runs; clocks of machines differ by
// far less.
const mostApart = 600e9 // ns

// combine makes one Run of the files of all ranks.
func combine(parts []part) (*recording.Run, error) {
	run := &recording.Run{}
	if len(parts) == 1 {
		p := parts[0]
		run.Facts, run.Timeline, run.Steps, run.Warnings = p.Facts, p.Timeline, p.Steps, p.Warnings
		run.Series = p.Series
		return run, nil
	}
	if err := numberRanks(parts); err != nil {
		return nil, err
	}
	if err := oneRun(parts); err != nil {
		return nil, err
	}
	if err := alike(parts); err != nil {
		return nil, err
	}
	separate(parts, run)
	zero := parts[0].Zero
	for _, p := range parts {
		zero = min(zero, p.Zero)
	}
	run.Facts = parts[0].Facts
	run.Facts.GPUs, run.Facts.Processes, run.Facts.Loaders = nil, nil, nil
	if run.Facts.Started != 0 {
		run.Facts.Started = float64(zero) / 1e9
	}
	j := &joiner{t: &recording.Timeline{}, names: map[string]int32{}}
	j.reserve(parts)
	for i := range parts {
		j.add(run, &parts[i], parts[i].Zero-zero)
		parts[i].Timeline = nil // its memory is needed
	}
	j.sort()
	run.Timeline = j.t
	slices.SortStableFunc(run.Steps, func(a, b recording.Step) int { return cmp.Compare(a.Start, b.Start) })
	return run, nil
}

var rankInName = regexp.MustCompile(`(?i)rank[-_=]?(\d{1,6})`)

// numberRanks gives a rank to every part: from its content, else its name, else
// the first that is free.
func numberRanks(parts []part) error {
	seen := map[int]string{}
	for i := range parts {
		p := &parts[i]
		if !p.tell() {
			continue
		}
		if other, again := seen[p.Rank]; again {
			return &MixedError{[]string{other, p.file}, fmt.Sprintf("%s and %s are both of rank %d", other, p.file, p.Rank), "give one file per rank, of the same steps"}
		}
		seen[p.Rank] = p.file
	}
	free := 0
	for i := range parts {
		p := &parts[i]
		if !p.told {
			for seen[free] != "" {
				free++
			}
			p.Rank, seen[free] = free, p.file
			p.Warnings = append(p.Warnings, fmt.Sprintf("Neither the content nor the name of %s tells its rank: it is taken as rank %d.", filepath.Base(p.file), free))
		}
		p.setRank()
	}
	return nil
}

// tell reports whether a file's content or its name tells its rank, and takes that.
func (p *part) tell() bool {
	if m := rankInName.FindStringSubmatch(filepath.Base(p.file)); p.Rank < 0 && m != nil {
		p.Rank, _ = strconv.Atoi(m[1])
	}
	p.told = p.told || p.Rank >= 0
	return p.told
}

func (p *part) setRank() {
	for i := range p.Timeline.Threads {
		p.Timeline.Threads[i].Rank = p.Rank
	}
	for i := range p.Timeline.Devices {
		p.Timeline.Devices[i].Rank = p.Rank
	}
	for i := range p.Facts.Processes {
		p.Facts.Processes[i].Rank = p.Rank
	}
	for i := range p.Steps {
		p.Steps[i].Rank = p.Rank
	}
}

// oneRun refuses files that contradict each other.
func oneRun(parts []part) error {
	a := &parts[0]
	for i := range parts {
		b := &parts[i]
		pair := []string{a.file, b.file}
		switch {
		case a.World > 0 && b.World > 0 && a.World != b.World:
			return &MixedError{pair, fmt.Sprintf("%s is of a run with %d ranks, %s of one with %d", a.file, a.World, b.file, b.World), "give the files of one run"}
		case b.World > 0 && b.Rank >= b.World:
			return &MixedError{pair, fmt.Sprintf("%s is of rank %d in a run of %d ranks", b.file, b.Rank, b.World), "give the files of one run"}
		case apart(a, b) > mostApart:
			return &MixedError{pair, fmt.Sprintf("%s and %s were recorded %s apart", a.file, b.file, long(apart(a, b))), "give the files of one run, of the same steps"}
		}
	}
	return nil
}

// long prints nanoseconds of minutes and more.
func long(ns float64) string {
	switch minutes := ns / 60e9; {
	case minutes < 120:
		return fmt.Sprintf("%.0f minutes", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%.0f hours", minutes/60)
	default:
		return fmt.Sprintf("%.0f days", minutes/(24*60))
	}
}

// apart is how long after one file's end the other's beginning lies, ns.
func apart(a, b *part) float64 {
	x, y := float64(a.Zero), float64(b.Zero)
	return max(y-(x+float64(a.Timeline.End)), x-(y+float64(b.Timeline.End)), 0)
}

// processStride moves the numbers of processes that several ranks share, as
// containers number them from 1.
const processStride = 10_000_000

// separate gives every rank process numbers of its own.
func separate(parts []part, run *recording.Run) {
	owner := map[int]int{}
	var moved []string
	for i := range parts {
		p := &parts[i]
		clash := false
		for pid := range p.pids() {
			if other, found := owner[pid]; found && other != p.Rank {
				clash = true
			}
		}
		if clash {
			p.shift(processStride * (p.Rank + 1))
			moved = append(moved, strconv.Itoa(p.Rank))
		}
		for pid := range p.pids() {
			owner[pid] = p.Rank
		}
	}
	if n := len(moved); n > 0 {
		which := fmt.Sprintf("%d ranks", n)
		if n <= mostNamed {
			which = "rank " + strings.Join(moved, ", ")
		}
		run.Warnings = append(run.Warnings, fmt.Sprintf("Process numbers of %s also occur in other ranks: %d times the rank's number and one was added to them.", which, processStride))
	}
}

// mostNamed are the ranks that a sentence names.
const mostNamed = 8

func (p *part) pids() map[int]bool {
	out := map[int]bool{}
	for _, t := range p.Timeline.Threads {
		out[t.PID] = true
	}
	for _, d := range p.Timeline.Devices {
		out[d.PID] = true
	}
	for _, q := range p.Facts.Processes {
		out[q.PID] = true
	}
	return out
}

func (p *part) shift(by int) {
	for i := range p.Timeline.Threads {
		p.Timeline.Threads[i].PID += by
	}
	for i := range p.Timeline.Devices {
		p.Timeline.Devices[i].PID += by
	}
	for i := range p.Facts.Processes {
		p.Facts.Processes[i].PID += by
	}
	for i := range p.Facts.Loaders {
		p.Facts.Loaders[i].PID += by
	}
	for i := range p.Steps {
		p.Steps[i].PID += by
	}
}

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
	h, d, f := &j.t.Host, &j.t.Device, &j.t.Frames
	h.Kind, d.Kind = make([]recording.CallKind, 0, calls), make([]recording.WorkKind, 0, works)
	d.PerSM, d.Occupancy = make([]float32, 0, works), make([]float32, 0, works)
	room(calls, &h.Start, &h.End)
	room(calls, &h.Name, &h.Thread, &h.Shapes, &h.Types)
	room(works, &d.Start, &d.End, &d.Bytes)
	room(works, &d.Name, &d.Device, &d.Stream, &d.Call, &d.Blocks, &d.Threads, &d.Group)
	room(frames, &f.Start, &f.End)
	room(frames, &f.Name, &f.Thread)
}

func room[T any](n int, columns ...*[]T) {
	for _, c := range columns {
		*c = make([]T, 0, n)
	}
}

func (j *joiner) add(run *recording.Run, p *part, later int64) {
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
	j.calls(from, name, threads, later)
	j.works(from, name, devices, calls, later)
	f := &t.Frames
	f.Start, f.End = moved(f.Start, from.Frames.Start, later), moved(f.End, from.Frames.End, later)
	f.Name, f.Thread = mapped(f.Name, from.Frames.Name, name), offset(f.Thread, from.Frames.Thread, threads)
	m, g := &t.Memory, &from.Memory
	m.At, m.Device, m.Thread = moved(m.At, g.At, later), offset(m.Device, g.Device, devices), offset(m.Thread, g.Thread, threads)
	m.Bytes, m.Address, m.Total = append(m.Bytes, g.Bytes...), append(m.Address, g.Address...), append(m.Total, g.Total...)
	t.End = max(t.End, from.End+later)
	for reason, n := range from.Dropped {
		if t.Dropped == nil {
			t.Dropped = map[string]int{}
		}
		t.Dropped[reason] += n
	}
	p.join(run, later)
	j.files++
}

// join adds what is not in the Timeline.
func (p *part) join(run *recording.Run, later int64) {
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
	for _, w := range p.Warnings {
		run.Warnings = append(run.Warnings, fmt.Sprintf("Rank %d: %s", p.Rank, w))
	}
}

func (j *joiner) calls(from *recording.Timeline, name []int32, threads int32, later int64) {
	h := &j.t.Host
	h.Start, h.End = moved(h.Start, from.Host.Start, later), moved(h.End, from.Host.End, later)
	h.Name, h.Thread = mapped(h.Name, from.Host.Name, name), offset(h.Thread, from.Host.Thread, threads)
	h.Kind = append(h.Kind, from.Host.Kind...)
	h.Shapes, h.Types = mapped(h.Shapes, from.Host.Shapes, name), mapped(h.Types, from.Host.Types, name)
}

func (j *joiner) works(from *recording.Timeline, name []int32, devices, calls int32, later int64) {
	d, g := &j.t.Device, &from.Device
	d.Start, d.End = moved(d.Start, g.Start, later), moved(d.End, g.End, later)
	d.Name, d.Group = mapped(d.Name, g.Name, name), mapped(d.Group, g.Group, name)
	d.Device, d.Call = offset(d.Device, g.Device, devices), offset(d.Call, g.Call, calls)
	d.Stream, d.Kind, d.Bytes = append(d.Stream, g.Stream...), append(d.Kind, g.Kind...), append(d.Bytes, g.Bytes...)
	d.Blocks, d.Threads = append(d.Blocks, g.Blocks...), append(d.Threads, g.Threads...)
	d.PerSM, d.Occupancy = append(d.PerSM, g.PerSM...), append(d.Occupancy, g.Occupancy...)
}

func moved(to, from []int64, later int64) []int64 {
	for _, v := range from {
		to = append(to, v+later)
	}
	return to
}

// mapped and offset translate indices; -1 stays.
func mapped(to, from, table []int32) []int32 {
	for _, v := range from {
		if v >= 0 {
			v = table[v]
		}
		to = append(to, v)
	}
	return to
}

func offset(to, from []int32, by int32) []int32 {
	for _, v := range from {
		if v >= 0 {
			v += by
		}
		to = append(to, v)
	}
	return to
}

// sort puts the columns in order of start again.
func (j *joiner) sort() {
	h, d, f := &j.t.Host, &j.t.Device, &j.t.Frames
	order := sorted(h.Start)
	place := make([]int32, len(order))
	for at, i := range order {
		place[i] = int32(at)
	}
	for k, c := range d.Call {
		if c >= 0 {
			d.Call[k] = place[c]
		}
	}
	h.Start, h.End, h.Name, h.Thread = picked(h.Start, order), picked(h.End, order), picked(h.Name, order), picked(h.Thread, order)
	h.Kind, h.Shapes, h.Types = picked(h.Kind, order), picked(h.Shapes, order), picked(h.Types, order)
	order = sorted(d.Start)
	d.Start, d.End, d.Name, d.Device = picked(d.Start, order), picked(d.End, order), picked(d.Name, order), picked(d.Device, order)
	d.Stream, d.Kind, d.Call, d.Bytes = picked(d.Stream, order), picked(d.Kind, order), picked(d.Call, order), picked(d.Bytes, order)
	d.Blocks, d.Threads, d.PerSM = picked(d.Blocks, order), picked(d.Threads, order), picked(d.PerSM, order)
	d.Occupancy, d.Group = picked(d.Occupancy, order), picked(d.Group, order)
	m := &j.t.Memory
	order = sorted(m.At)
	m.At, m.Device, m.Thread = picked(m.At, order), picked(m.Device, order), picked(m.Thread, order)
	m.Bytes, m.Address, m.Total = picked(m.Bytes, order), picked(m.Address, order), picked(m.Total, order)
	order = sorted(f.Start)
	f.Start, f.End, f.Name, f.Thread = picked(f.Start, order), picked(f.End, order), picked(f.Name, order), picked(f.Thread, order)
}

func sorted(start []int64) []int32 {
	order := make([]int32, len(start))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(start[a], start[b]) })
	return order
}

func picked[T any](from []T, order []int32) []T {
	out := make([]T, len(from))
	for at, i := range order {
		out[at] = from[i]
	}
	return out
}
