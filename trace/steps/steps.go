// Package steps finds the steps of a run in a Timeline, whichever profiler wrote
// it: from the marks of step, loader and optimizer that package recording knows,
// else from what repeats in the kernels.
package steps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"stoker/recording"
)

// Loader is the number of a trace's loader: no profiler tells loaders apart.
const Loader = 1

// Find returns the steps of the given processes in order of start, and sentences
// on how they were found where nobody marked them. missing says why there are no
// marks and how to get them: "The trace has no ProfilerStep marks (call prof.step()
// in the loop)". Best first:
//
//  1. marked steps, ProfilerStep#n;
//  2. the moments when the loop asks its DataLoader;
//  3. the calls of the optimizer;
//  4. the unit that repeats in the kernels of the busiest stream;
//  5. nothing: all of the recording is one step, and we say so.
func Find(t *recording.Timeline, processes []recording.Process, missing string) (found []recording.Step, said []string) {
	f := &finder{t: t, missing: missing}
	for _, p := range processes {
		beats, how := f.beats(p)
		if how != "" && !slices.Contains(said, how) {
			said = append(said, how)
		}
		found = append(found, f.stepsOf(p, beats)...)
	}
	slices.SortStableFunc(found, func(a, b recording.Step) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return found, said
}

type finder struct {
	t       *recording.Timeline
	missing string
}

// pid is the process of a call.
func (f *finder) pid(call int32) int { return f.t.Threads[f.t.Host.Thread[call]].PID }

// beat is one step's time on the host, ns.
type beat struct {
	start, end int64
	n          int
}

// beats finds a process's steps and says how, "" for the profiler's own marks.
func (f *finder) beats(p recording.Process) ([]beat, string) {
	if marked := f.marked(p.PID); len(marked) > 0 {
		return marked, ""
	}
	asks := f.spans(p.PID, recording.LoaderSpan)
	if beats := moments(asks, true); len(beats) > 0 {
		return beats, f.missing + ": a step is taken from one ask for a batch to the next."
	}
	if beats := moments(f.spans(p.PID, recording.OptimizerSpan), false); len(beats) > 0 {
		return beats, f.missing + ": a step is taken from the end of one optimizer call to the end of the next."
	}
	if beats := f.repeating(p.PID); len(beats) > 0 {
		return beats, fmt.Sprintf("%s: the kernels repeat %d times, each time is taken as a step.", f.missing, len(beats))
	}
	if f.t.End <= 0 {
		return nil, ""
	}
	return []beat{{0, f.t.End, 0}}, f.missing + ", and nothing in it repeats: all of it is taken as one step."
}

// span is a marked time on a thread.
type span struct {
	start, end int64
	thread     int32
}

// spans are a process's annotations whose names fit.
func (f *finder) spans(pid int, fits func(name string) bool) []span {
	h := &f.t.Host
	verdict := map[int32]bool{}
	var out []span
	for k, kind := range h.Kind {
		if kind != recording.Annotation {
			continue
		}
		fit, known := verdict[h.Name[k]]
		if !known {
			fit = fits(f.t.Names[h.Name[k]])
			verdict[h.Name[k]] = fit
		}
		if fit && f.pid(int32(k)) == pid {
			out = append(out, span{h.Start[k], h.End[k], h.Thread[k]})
		}
	}
	return out
}

// marked are the steps that the profiler marked. A step ends where the next one
// begins: between two marks lies only the profiler itself.
func (f *finder) marked(pid int) []beat {
	h := &f.t.Host
	var out []beat
	for k, kind := range h.Kind {
		if kind != recording.Annotation || f.pid(int32(k)) != pid {
			continue
		}
		n, ok := recording.StepSpan(f.t.Names[h.Name[k]])
		if !ok || h.End[k] <= h.Start[k] {
			continue
		}
		if last := len(out) - 1; last >= 0 && (out[last].n == n || h.Start[k] < out[last].end) {
			continue // the same step on another thread
		}
		out = append(out, beat{h.Start[k], h.End[k], n})
	}
	out = wholeBeats(out)
	for i := 1; i < len(out); i++ {
		if out[i].n == out[i-1].n+1 {
			out[i-1].end = out[i].start
		}
	}
	return out
}

// wholeBeats leaves out a last mark that the profiler opened just before it stopped:
// less than a hundredth of the one before.
func wholeBeats(beats []beat) []beat {
	if n := len(beats); n > 1 && 100*(beats[n-1].end-beats[n-1].start) < beats[n-2].end-beats[n-2].start {
		return beats[:n-1]
	}
	return beats
}

// moments makes steps of the times between marks: from start to start, or from
// end to end. The marks of one thread count, the one with most of them.
func moments(spans []span, starts bool) []beat {
	count := map[int32]int{}
	for _, s := range spans {
		count[s.thread]++
	}
	thread, n := int32(-1), 0
	for t, c := range count {
		if c > n || c == n && t < thread {
			thread, n = t, c
		}
	}
	var at []int64
	for _, s := range spans {
		if s.thread != thread {
			continue
		}
		moment := s.end
		if starts {
			moment = s.start
		}
		if len(at) == 0 || moment > at[len(at)-1] {
			at = append(at, moment)
		}
	}
	var out []beat
	for i := 1; i < len(at); i++ {
		out = append(out, beat{at[i-1], at[i], i - 1})
	}
	return out
}

func (f *finder) stepsOf(p recording.Process, beats []beat) []recording.Step {
	waits := f.spans(p.PID, recording.LoaderSpan)
	phase := recording.Evaluate
	if f.trains(p.PID) {
		phase = recording.Train
	}
	out := make([]recording.Step, 0, len(beats))
	for _, s := range beats {
		step := recording.Step{
			PID: p.PID, Rank: p.Rank, Device: p.Device, Loader: Loader, N: s.n,
			Start: float64(s.start) / 1e9, Period: float64(s.end-s.start) / 1e9, Wait: math.NaN(),
			Phase: phase, Idle: math.NaN(), DevicePeriod: math.NaN(), Samples: math.NaN(),
		}
		if len(waits) > 0 {
			for len(waits) > 1 && waits[0].end <= s.start {
				waits = waits[1:] // steps are in order: what ended before this one counts for none
			}
			step.Wait = float64(covered(waits, s.start, s.end)) / 1e9
		}
		out = append(out, step)
	}
	return out
}

// trains reports whether a process ran a backward pass or an optimizer.
func (f *finder) trains(pid int) bool {
	verdict := map[int32]bool{}
	h := &f.t.Host
	for k, kind := range h.Kind {
		if kind != recording.Op && kind != recording.Annotation {
			continue
		}
		fit, known := verdict[h.Name[k]]
		if !known {
			name := f.t.Names[h.Name[k]]
			fit = recording.OptimizerSpan(name) || strings.Contains(name, "autograd::engine::evaluate_function") ||
				strings.Contains(name, "Backward0") || strings.Contains(name, "Backward1")
			verdict[h.Name[k]] = fit
		}
		if fit && f.pid(int32(k)) == pid {
			return true
		}
	}
	return false
}

// covered is how much of [from, to) lies in the spans, which are in order of
// start and may overlap.
func covered(spans []span, from, to int64) int64 {
	var sum int64
	done := from
	for _, s := range spans {
		if s.start >= to {
			break
		}
		start, end := max(s.start, done), min(s.end, to)
		if end > start {
			sum += end - start
			done = end
		}
	}
	return sum
}

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
// occurrences whose distances, in kernels, are all nearly the same.
func (f *finder) repeating(pid int) []beat {
	works := f.busiestStream(pid)
	if len(works) < leastRepeats*shortestUnit {
		return nil
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
		if places := at[name]; steady(places) && f.covers(works, places) && f.fits(works, places) {
			return f.cut(works, places)
		}
	}
	return nil
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
		if most >= 0 && d.Kind[k] == recording.Kernel && (stream{d.Device[k], d.Stream[k]}) == best && len(out) < mostSequence {
			out = append(out, k)
		}
	}
	return out
}

// steady reports whether the distances between places differ by no more than a
// tenth.
func steady(places []int) bool {
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

// fits reports whether the kernels from one place to the next are the same as
// from the next on.
func (f *finder) fits(works []int, places []int) bool {
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

// cut makes steps that begin where the anchor was launched.
func (f *finder) cut(works []int, places []int) []beat {
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
	return out
}
