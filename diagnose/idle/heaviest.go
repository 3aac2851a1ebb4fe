package idle

import (
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Heaviest is the function in which most of some idle time passed.
type Heaviest struct {
	Name  int32 // index into Timeline.Names; -1 if nothing was recorded
	Time  int64 // of it, nanoseconds
	Total int64 // of all that was asked for
}

// mostOf is the part of the time that a function must have to be named for it. [J]
const mostOf = 0.5

// aroundAll is the share of a window from which a call that lasts so long explains nothing of it. [J]
const aroundAll = 0.9

// stretches are times of one thread in order, with their sums.
type stretches struct {
	from, to, before []int64
	total            int64
}

func (s *stretches) addStretch(from, to int64) {
	s.from, s.to, s.before = append(s.from, from), append(s.to, to), append(s.before, s.total)
	s.total += to - from
}

// extend adds a stretch that begins no earlier than those before it, and may overlap them.
func (s *stretches) extend(from, to int64) {
	last := len(s.to) - 1
	switch {
	case last < 0 || from > s.to[last]:
		s.addStretch(from, to)
	case to > s.to[last]:
		s.total += to - s.to[last]
		s.to[last] = to
	}
}

// until is how much of the stretches is before an instant.
func (s *stretches) until(at int64) int64 {
	i := sort.Search(len(s.from), func(i int) bool { return s.from[i] >= at }) - 1
	if i < 0 {
		return 0
	}
	return s.before[i] + min(at, s.to[i]) - s.from[i]
}

// FindHeaviest finds the innermost function, frame or operator, in which at least half of
// the idle time passed that fits, between two instants of a device. Work around
// all of it by its nature, a loader's span and a module, explains nothing.
func (a *Analysis) FindHeaviest(d *Device, from, to int64, fits func(Slice) bool) Heaviest {
	threads := map[int32]*stretches{}
	best := Heaviest{Name: -1}
	for s := range a.Slices(d, from, to) {
		if s.Thread < 0 || !fits(s) {
			continue
		}
		if threads[s.Thread] == nil {
			threads[s.Thread] = &stretches{}
		}
		threads[s.Thread].addStretch(s.From, s.To)
		best.Total += s.To - s.From
	}
	sums := map[int32]*inside{}
	for thread, times := range threads {
		a.within(thread, times, sums)
	}
	for name, in := range sums {
		if from == d.From && to == d.To && float64(in.longest) > aroundAll*float64(to-from) {
			delete(sums, name) // main(), the range around everything
		}
	}
	for name, in := range sums {
		if float64(in.time) < mostOf*float64(best.Total) {
			continue
		}
		deeper := best.Name < 0 || in.depth > sums[best.Name].depth ||
			in.depth == sums[best.Name].depth && (in.time > best.Time || in.time == best.Time && name < best.Name)
		if deeper {
			best.Name, best.Time = name, in.time
		}
	}
	return best
}

// inside is how much of some stretches is within a function.
type inside struct {
	time, until int64
	longest     int64 // of its calls
	depth       int   // of its innermost call
}

// explains reports whether a frame's name says what was done.
func explains(name string) bool {
	return !strings.HasPrefix(name, "<built-in") && !strings.HasPrefix(name, "torch/nn/modules/module.py(") &&
		!strings.HasSuffix(name, ": <module>")
}

// operatorsDeep is the depth of operators: within all of Python's frames.
const operatorsDeep = 1 << 20

// within adds up the time in each frame and operator of a thread; of one that calls
// itself the outer one counts.
func (a *Analysis) within(thread int32, times *stretches, sums map[int32]*inside) {
	see := func(name int32, start, end int64, depth int) {
		part := times.until(end) - times.until(start)
		if part == 0 {
			return
		}
		in := sums[name]
		if in == nil {
			in = &inside{}
			sums[name] = in
		}
		in.longest = max(in.longest, end-start)
		if in.depth = max(in.depth, depth); start >= in.until {
			in.time, in.until = in.time+part, end
		}
	}
	f, h := &a.t.Frames, &a.t.Host
	var open []int32
	for _, i := range a.frames.members(thread) {
		open = append(alive(open, f.End, f.Start[i]), i)
		if name := a.t.Names[f.Name[i]]; explains(name) {
			see(f.Name[i], f.Start[i], f.End[i], len(open))
		}
	}
	open = open[:0]
	for _, i := range a.calls.members(thread) {
		open = append(alive(open, h.End, h.Start[i]), i)
		if name := a.t.Names[h.Name[i]]; h.Kind[i] == recording.Op ||
			h.Kind[i] == recording.Annotation && noStep(name) && !recording.LoaderSpan(name) {
			see(h.Name[i], h.Start[i], h.End[i], operatorsDeep+len(open))
		}
	}
}
