package xplane

import (
	"cmp"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// sortCalls puts the host's columns in order of start.
func sortCalls(v *collect) {
	h, f := &v.t.Host, &v.t.Frames
	order := columns.ByStart(h.Start, h.End)
	h.Reorder(order)
	recording.Reorder(order, v.callKey)
	f.Reorder(columns.ByStart(f.Start, f.End))
}

// sortWorks puts the devices' columns in order of start.
func sortWorks(v *collect) {
	d := &v.t.Device
	order := columns.ByStart(d.Start, d.End)
	d.Reorder(order)
	recording.Reorder(order, v.workKey)
}

// linkWork finds the call that launched each piece of work: the one with its
// correlation id. Work of a TPU has none.
func linkWork(v *collect) {
	v.t.Device.Call = columns.LinkCalls(v.callKey, v.t.Host.Start, v.workKey, v.t.Device.Start)
}

// A thread that only calls the driver is written apart from the same thread's
// spans where the profiler of the driver numbers threads in its own way (ROCm).
// It is put together with the thread whose spans of XLA operators hold nearly all
// of its calls, while those of no other thread hold nearly as many. (Of eight
// threads that launch at the same time on an MI300, the right one holds all calls
// of each, the next best at most 78 %.)
const (
	holdsNearly = 0.95
	holdsOthers = 0.85
	leastCalls  = 8
	longestOp   = 5_000_000 // ns; what lasts longer is no operator that launches
	mostMerged  = 512       // threads that are compared
)

func (v *collect) mergeThreads() {
	t := v.t
	calls, spans := make([]int, len(t.Threads)), make([]int, len(t.Threads))
	for i, kind := range t.Host.Kind {
		if kind == recording.Runtime {
			calls[t.Host.Thread[i]]++
		} else {
			spans[t.Host.Thread[i]]++
		}
	}
	for _, thread := range t.Frames.Thread {
		spans[thread]++
	}
	if len(t.Threads) > mostMerged {
		return
	}
	var outer [][]interval
	for thread := range t.Threads {
		var s []interval
		if spans[thread] > 0 && calls[thread] == 0 {
			s = v.busyTimes(int32(thread))
		}
		outer = append(outer, s)
	}
	into := map[int32]int32{}
	for thread := range t.Threads {
		if calls[thread] >= leastCalls && spans[thread] == 0 {
			if to := v.holder(int32(thread), outer); to >= 0 {
				into[int32(thread)] = to
			}
		}
	}
	for i, thread := range t.Host.Thread {
		if to, found := into[thread]; found {
			t.Host.Thread[i] = to
		}
	}
}

type interval struct{ start, end int64 }

// busyTimes are the times of a thread within spans of operators. Names with colons are
// those of the runtime's own functions, which may last as long as a step.
func (v *collect) busyTimes(thread int32) []interval {
	var out []interval
	h := &v.t.Host
	for i := range h.Start {
		if h.Thread[i] == thread && h.Kind[i] == recording.Op && h.End[i]-h.Start[i] < longestOp &&
			!v.names.roles[h.Name[i]].function {
			out = append(out, interval{h.Start[i], h.End[i]})
		}
	}
	slices.SortFunc(out,
		func(a, b interval) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	kept := out[:0]
	for _, s := range out {
		if n := len(kept); n == 0 || s.end > kept[n-1].end {
			kept = append(kept, s)
		}
	}
	return kept
}

// holder is the thread within whose spans a thread's calls lie; -1 if none or
// several do.
func (v *collect) holder(thread int32, outer [][]interval) int32 {
	h := &v.t.Host
	n := 0
	inside := make([]int, len(outer))
	for i := range h.Start {
		if h.Thread[i] != thread {
			continue
		}
		n++
		for o, spans := range outer {
			k := sort.Search(len(spans), func(k int) bool { return spans[k].start > h.Start[i] }) - 1
			if k >= 0 && spans[k].end >= h.End[i] {
				inside[o]++
			}
		}
	}
	best, second := -1, 0
	for o, count := range inside {
		switch {
		case best < 0 || count > inside[best]:
			if best >= 0 {
				second = inside[best]
			}
			best = o
		case count > second:
			second = count
		}
	}
	if best < 0 || float64(inside[best]) < holdsNearly*float64(n) ||
		float64(second) > holdsOthers*float64(inside[best]) {
		return -1
	}
	return int32(best)
}

// compact keeps the names that a column refers to, in order of their first use.
func compact(t *recording.Timeline, list []string) {
	place := make([]int32, len(list))
	for i := range place {
		place[i] = -1
	}
	t.Names = nil
	for _, column := range [][]int32{t.Host.Name, t.Frames.Name, t.Device.Name} {
		for i, name := range column {
			if place[name] < 0 {
				place[name] = int32(len(t.Names))
				t.Names = append(t.Names, list[name])
			}
			column[i] = place[name]
		}
	}
}
