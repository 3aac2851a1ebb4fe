package steps

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// The repeating unit must come at least three times, fit nearly everywhere and
// cover most of what the stream did: the layers of a model repeat too. Longer
// sequences than this say nothing more.
const (
	leastCover   = 0.8
	leastRepeats = 3
	leastFit     = 0.9
	mostSequence = 200_000
	shortestUnit = 4
)

// repeating finds the unit that repeats in the names of the busiest stream's
// kernels. A kernel that comes once per step is its anchor: the name with fewest
// occurrences whose distances, in kernels, are all nearly the same. Where what repeats
// are the layers of one pass, there are no beats, and repeats says how many.
func (f *finder) repeating(pid int) (beats []beat, repeats int) {
	works := f.busiestStream(pid)
	if len(works) < leastRepeats*shortestUnit {
		return nil, 0
	}
	at := map[int32][]int{}
	for i, k := range works {
		name := f.t.Device.Name[k]
		at[name] = append(at[name], i)
	}
	var names []int32
	for name, places := range at {
		if len(places) >= leastRepeats {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y int32) int {
		return cmp.Or(cmp.Compare(len(at[x]), len(at[y])), cmp.Compare(at[x][0], at[y][0]))
	})
	for _, name := range names[:min(len(names), 20)] {
		places := at[name]
		if !isSteady(places) || !f.covers(works, places) || !f.unitsFit(works, places) {
			continue
		}
		if !f.withinForward(works, places) && f.wholePeriod(works, places) {
			return f.cutUnits(works, places), 0
		}
		return nil, len(places)
	}
	return nil, 0
}

// wholePeriod reports whether what repeats is a step and no layer of one. A step updates
// weights; or nothing but it repeats from the first kernel to the last, what follows the
// last whole one being the beginning of one, and it exchanges data with the host or holds
// layers that repeat in their turn. Layers are preceded by an embedding, followed by a
// head, and exchange nothing.
func (f *finder) wholePeriod(works []int, places []int) bool {
	if f.updates(works, places) {
		return true
	}
	last := places[len(places)-1]
	unit := works[places[len(places)-2]:last]
	before := works[places[0]:places[1]]
	same := func(a, b []int) bool { // as far as the shorter one goes
		n, equal := min(len(a), len(b)), 0
		for i := range n {
			if f.t.Device.Name[a[i]] == f.t.Device.Name[b[i]] {
				equal++
			}
		}
		return float64(equal) >= leastFit*float64(n)
	}
	tail := works[last:]
	head := works[:places[0]]
	if len(tail) > len(unit)+1 || !same(tail, unit) {
		return false
	}
	headFits := len(head) <= len(before) && same(head, before[len(before)-min(len(head), len(before)):])
	return f.holdsExchange(works, places) || headFits && f.isLayered(unit)
}

// withinForward reports whether one call of a module launches several of the units: then
// they are its layers, even if they copy something.
func (f *finder) withinForward(works []int, places []int) bool {
	at := map[int32][]int64{} // when units were launched, by thread
	for _, i := range places {
		if call := f.t.Device.Call[works[i]]; call >= 0 {
			thread := f.t.Host.Thread[call]
			at[thread] = append(at[thread], f.t.Host.Start[call])
		}
	}
	fr := &f.t.Frames
	known := map[int32]bool{}
	for k, name := range fr.Name {
		forward, seen := known[name]
		if !seen {
			forward = recording.ForwardFrame(f.t.Names[name])
			known[name] = forward
		}
		if starts := at[fr.Thread[k]]; forward && within(starts, fr.Start[k], fr.End[k]) > 1 {
			return true
		}
	}
	return false
}

// within is how many of some instants, in order, lie in a span.
func within(starts []int64, from, to int64) int {
	first := sort.Search(len(starts), func(i int) bool { return starts[i] >= from })
	end := sort.Search(len(starts), func(i int) bool { return starts[i] >= to })
	return max(0, end-first)
}

// isLayered reports whether something repeats within a unit, in even distances.
func (f *finder) isLayered(unit []int) bool {
	at := map[int32][]int{}
	for i, k := range unit {
		at[f.t.Device.Name[k]] = append(at[f.t.Device.Name[k]], i)
	}
	for _, places := range at {
		if len(places) > leastRepeats && isSteady(places) {
			return true
		}
	}
	return false
}

// updates reports whether each unit holds an optimizer's kernel.
func (f *finder) updates(works []int, places []int) bool {
	n := 0
	for i := 1; i < len(places); i++ {
		for _, k := range works[places[i-1]:places[i]] {
			if recording.UpdatesWeights(f.t.Names[f.t.Device.Name[k]]) {
				n++
				break
			}
		}
	}
	return n == len(places)-1
}

// inputBytes is what a step takes from the host at least; scalars that a layer makes are
// smaller. [J]
const inputBytes = 4096

// mostInputs is how many tensors a step takes from the host. [J] One that takes more brings
// its weights with it: a layer that is loaded when it is needed.
const mostInputs = 3

// holdsExchange reports whether something comes from the host, or goes there, for every unit: as
// a step's input or result, and no layer's weights.
func (f *finder) holdsExchange(works []int, places []int) bool {
	d := &f.t.Device
	from, to := d.Start[works[places[0]]], d.Start[works[places[len(places)-1]]]
	down, up := 0, 0
	for k := range d.Start {
		if d.Kind[k] != recording.Copy || d.Start[k] < from || d.Start[k] >= to ||
			d.Device[k] != d.Device[works[0]] || !f.isExchange(k) {
			continue
		}
		if recording.ToDevice(f.t.Names[d.Name[k]]) {
			down++
		} else {
			up++
		}
	}
	units := len(places) - 1
	return up >= units || down >= units && down <= mostInputs*units
}

// isExchange reports whether a copy brings a step's input or takes its result away; what
// does not tell its way counts as one.
func (f *finder) isExchange(k int) bool {
	name := f.t.Names[f.t.Device.Name[k]]
	if recording.ToDevice(name) {
		return f.t.Device.Bytes[k] >= inputBytes
	}
	within := strings.Contains(name, "Device -> Device") || strings.Contains(name, "DtoD") ||
		strings.Contains(name, "PtoP") || strings.Contains(name, "DeviceToDevice")
	return !within
}

// busiestStream are the kernels of the stream that a process keeps busy longest.
func (f *finder) busiestStream(pid int) []int {
	type stream struct{ device, stream int32 }
	d := &f.t.Device
	busy := map[stream]int64{}
	for k := range d.Start {
		if d.Kind[k] == recording.Kernel && f.t.Devices[d.Device[k]].PID == pid {
			busy[stream{d.Device[k], d.Stream[k]}] += d.End[k] - d.Start[k]
		}
	}
	var best stream
	most := int64(-1)
	for s, t := range busy {
		if t > most || t == most && (s.device < best.device || s.device == best.device && s.stream < best.stream) {
			best, most = s, t
		}
	}
	var out []int
	for k := range d.Start {
		if most >= 0 && d.Kind[k] == recording.Kernel && (stream{d.Device[k], d.Stream[k]}) == best &&
			len(out) < mostSequence {
			out = append(out, k)
		}
	}
	return out
}

// isSteady reports whether the distances between places differ by no more than a
// tenth.
func isSteady(places []int) bool {
	least, most := math.MaxInt, 0
	for i := 1; i < len(places); i++ {
		d := places[i] - places[i-1]
		least, most = min(least, d), max(most, d)
	}
	return least >= shortestUnit && 10*(most-least) <= most
}

// covers reports whether the steps that begin at places, the last one as long as
// the others in the mean, are most of the stream's time.
func (f *finder) covers(works []int, places []int) bool {
	d := &f.t.Device
	all := d.End[works[len(works)-1]] - d.Start[works[0]]
	part := d.Start[works[places[len(places)-1]]] - d.Start[works[places[0]]]
	n := float64(len(places))
	return float64(part)*n/(n-1) >= leastCover*float64(all)
}

// unitsFit reports whether the kernels from one place to the next are the same as
// from the next on.
func (f *finder) unitsFit(works []int, places []int) bool {
	same, all := 0, 0
	for i := 2; i < len(places); i++ {
		for j := 0; places[i-2]+j < places[i-1] && places[i-1]+j < places[i]; j++ {
			all++
			if f.t.Device.Name[works[places[i-2]+j]] == f.t.Device.Name[works[places[i-1]+j]] {
				same++
			}
		}
	}
	return all > 0 && float64(same) >= leastFit*float64(all)
}

// cutUnits makes steps that begin where the anchor was launched.
func (f *finder) cutUnits(works []int, places []int) []beat {
	var at []int64
	for _, i := range places {
		k := works[i]
		moment := f.t.Device.Start[k]
		if call := f.t.Device.Call[k]; call >= 0 {
			moment = f.t.Host.Start[call]
		}
		at = append(at, moment)
	}
	sort.Slice(at, func(i, j int) bool { return at[i] < at[j] })
	var out []beat
	for i := 1; i < len(at); i++ {
		if at[i] > at[i-1] {
			out = append(out, beat{at[i-1], at[i], i - 1})
		}
	}
	if n := len(places); f.isWhole(works[places[n-2]:places[n-1]], works[places[n-1]:]) {
		end := min(f.t.End, 2*at[n-1]-at[n-2]) // as long as the one before, with what the host does behind it
		for _, k := range works[places[n-1]:] {
			if call := f.t.Device.Call[k]; call >= 0 {
				end = max(end, f.t.Host.End[call]) // a host that runs ahead is done long before the device
			} else {
				end = max(end, f.t.Device.End[k])
			}
		}
		out = append(out, beat{at[n-1], end, n - 1})
	}
	return out
}

// isWhole reports whether the last unit of a recording is one like the one before it, but for what comes before the
// anchor of the next.
func (f *finder) isWhole(unit, last []int) bool {
	if float64(len(last)) < leastFit*float64(len(unit)) {
		return false
	}
	for i, k := range unit[:min(len(unit), len(last))] {
		if f.t.Device.Name[k] != f.t.Device.Name[last[i]] {
			return false
		}
	}
	return true
}
