package steps

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// ofLibraries are how ranges begin that a library marks: its calls, and no turns of a loop.
var ofLibraries = []string{
	"cublas", "cudnn", "cusolver", "cusparse", "cufft", "nccl", "MPI_", "## ", "Torch-Compiled", "aten::", "autograd::",
	"Optimizer.", "cuda", "hip",
}

// rangeBeats are the turns of a loop that somebody marked by ranges of any name, from the begin of one to the begin of
// the next: ranges of one name on one thread that lie in no other repeated range, launch work in each, and leave
// next to none of the work to others. What the work between two of them is must be a step's, and not a layer's.
func (f *finder) rangeBeats(pid int) ([]beat, string) {
	works := f.busiestStream(pid)
	if len(works) < leastRepeats {
		return nil, ""
	}
	families := f.outerRanges(pid)
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	total := func(name string) (sum int64) {
		for _, s := range families[name] {
			sum += s.end - s.start
		}
		return sum
	}
	slices.SortFunc(names, func(a, b string) int { // the longest in all first
		return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(a, b))
	})
	for _, name := range names {
		spans := families[name]
		places := f.launchedIn(works, spans)
		if len(places) != len(spans) || !f.covers(works, places) || f.withinForward(works, places) {
			continue
		}
		unit := works[places[len(places)-2]:places[len(places)-1]]
		if !f.updates(works, places) && !f.holdsExchange(works, places) && !f.isLayered(unit) {
			continue
		}
		var out []beat
		for i, s := range spans {
			out = append(out, beat{s.start, s.end, i})
		}
		return joinBeats(out), name
	}
	return nil, ""
}

// outerRanges are a process's repeated ranges that lie in no other repeated one, by name without its number.
func (f *finder) outerRanges(pid int) map[string][]span {
	h := &f.t.Host
	all := map[string][]span{}
	known := map[int32]string{}
	for k, kind := range h.Kind {
		if kind != recording.Annotation || f.processOf(int32(k)) != pid {
			continue
		}
		family, seen := known[h.Name[k]]
		if !seen {
			family = familyOf(f.t.Names[h.Name[k]])
			known[h.Name[k]] = family
		}
		if family != "" {
			all[family] = append(all[family], span{h.Start[k], h.End[k], h.Thread[k]})
		}
	}
	for family, spans := range all {
		if len(spans) < leastRepeats || !follow(spans) {
			delete(all, family)
		}
	}
	for family, spans := range all {
		for other, around := range all {
			if other != family && len(around) <= len(spans) && encloses(around, spans[len(spans)/2]) {
				delete(all, family)
				break
			}
		}
	}
	return all
}

// familyOf is a range's name without a number at its end; "" of a range that marks no turn of a loop.
func familyOf(name string) string {
	if len(name) > longestRange || recording.LoaderSpan(name) || recording.PartOfStep(name) {
		return ""
	}
	for _, prefix := range ofLibraries {
		if strings.HasPrefix(name, prefix) {
			return ""
		}
	}
	return strings.TrimRight(name, "0123456789 #:_-")
}

// longestRange is the longest name that is looked at.
const longestRange = 200

// follow reports whether spans lie on one thread, one behind the other.
func follow(spans []span) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i].thread != spans[0].thread || spans[i].start < spans[i-1].end {
			return false
		}
	}
	return true
}

// encloses reports whether one of some spans, in order, holds another.
func encloses(around []span, s span) bool {
	i := sort.Search(len(around), func(i int) bool { return around[i].start > s.start }) - 1
	return i >= 0 && around[i].thread == s.thread && around[i].end >= s.end
}

// launchedIn are the places of the first of some works that each span launches; of a span that launches none there
// is none.
func (f *finder) launchedIn(works []int, spans []span) (places []int) {
	next := 0
	for i, k := range works {
		call := f.t.Device.Call[k]
		if call < 0 {
			continue
		}
		at := f.t.Host.Start[call]
		for next < len(spans) && spans[next].end <= at {
			next++
		}
		if next == len(spans) {
			break
		}
		if at >= spans[next].start {
			places = append(places, i)
			next++
		}
	}
	return places
}
