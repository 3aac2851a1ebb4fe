// Package steps finds the steps of a run in a Timeline, whichever profiler wrote
// it: from the marks of step, loader and optimizer that package recording knows,
// else from what repeats in the kernels.
package steps

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// Loader is the number of a trace's loader: no profiler tells loaders apart.
const Loader = 1

// FoundSteps is what Find found.
type FoundSteps struct {
	Steps []recording.Step // in order of start
	Rule  string           // by what they were found, for a sentence: "ProfilerStep marks"
	Said  []string         // sentences about steps without marks
}

// Find returns the steps of the given processes. marks is what the profiler's own
// marks of steps are called; missing says why there are none and how to get them: "The
// trace has no ProfilerStep marks (call prof.step() in the loop)". Best first:
//
//  1. marked steps: the profiler's, then those that people and servers name as such;
//  2. the moments when the loop asks its DataLoader;
//  3. the calls of the optimizer;
//  4. the unit that repeats in the kernels of the busiest stream from the first to the last;
//  5. ranges of any name that repeat around all of the work;
//  6. nothing: all of the recording is one step, and we say so.
//
// A step that is not steady has a Phase that says so.
func Find(t *recording.Timeline, processes []recording.Process, marks, missing string) FoundSteps {
	f := &finder{t: t, marks: marks, missing: missing}
	var out FoundSteps
	if f.hasMark() {
		f.missing = fmt.Sprintf("The %s in the trace are of no process that launches work", marks)
	}
	for _, p := range processes {
		b := f.findBeats(p)
		if b.said != "" && !slices.Contains(out.Said, b.said) {
			out.Said = append(out.Said, b.said)
		}
		if out.Rule == "" {
			out.Rule = b.rule
		}
		out.Steps = append(out.Steps, f.stepsOf(p, b.beats)...)
	}
	slices.SortStableFunc(out.Steps, func(a, b recording.Step) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// findBeats finds a process's steps.
func (f *finder) findBeats(p recording.Process) rhythm {
	if marked := f.markedBeats(p.PID); len(marked) > 0 {
		begin := marked[0].start
		if marked = f.cutStop(p.PID, marked); len(marked) == 1 { // no other step tells how long the program rests there
			marked[0].start = begin
		}
		return rhythm{f.cutEarlier(p.PID, marked), f.marks, ""}
	}
	if named, family := f.namedBeats(p.PID); len(named) > 0 {
		return rhythm{named, fmt.Sprintf("ranges %q", family), ""}
	}
	asks := f.annotations(p.PID, recording.LoaderSpan)
	if beats := moments(asks, true); len(beats) > 0 {
		return rhythm{f.orLast(p.PID, beats), "asks for a batch", f.missing + ": a step is taken from one ask for a batch to the next."}
	}
	if beats := moments(f.optimizerCalls(p.PID), false); len(beats) > 0 {
		return rhythm{beats, "optimizer calls", f.missing +
			": a step is taken from the end of one optimizer call to the end of the next."}
	}
	beats, repeats := f.repeating(p.PID)
	if len(beats) > 0 {
		return rhythm{
			beats, "launches that repeat",
			fmt.Sprintf("%s: the kernels repeat %d times, each time is taken as a step.", f.missing, len(beats)),
		}
	}
	if marked, family := f.rangeBeats(p.PID); repeats == 0 && len(marked) > 0 {
		return rhythm{f.cutStop(p.PID, marked), fmt.Sprintf("ranges %q", family), ""}
	}
	if f.t.End <= 0 {
		return rhythm{}
	}
	loaded, end := f.modelLoaded(p.PID)
	whole := f.cutStop(p.PID, []beat{{loaded, end, 0}})
	if loaded == 0 && f.firstWork(p.PID) < whole[0].start {
		whole[0].start = 0 // what launched it is not in the file: the recorder was there already
	}
	if repeats > 0 {
		said := fmt.Sprintf("%s: the kernels repeat %d times, as layers of one pass do: all of it is taken as one "+
			"step.", f.missing, repeats)
		return rhythm{whole, fmt.Sprintf(recording.OnePass+" %d layers", repeats), said}
	}
	all := "all of it"
	if loaded > 0 {
		all = "what comes after the model is on the device"
	}
	why := ", and its kernels show no steps"
	if len(f.t.Device.Start) == 0 {
		why = ""
	}
	return rhythm{whole, recording.WholeRecording, f.missing + why + ": " + all + " is taken as one step."}
}

// firstWork is when a process's device work begins.
func (f *finder) firstWork(pid int) int64 {
	first, w := f.t.End, &f.t.Device
	for i := range w.Start {
		if f.t.Devices[w.Device[i]].PID == pid {
			first = min(first, w.Start[i])
		}
	}
	return first
}

// hasMark reports whether the profiler marked any step, of whichever process.
func (f *finder) hasMark() bool {
	h := &f.t.Host
	for k, kind := range h.Kind {
		if kind != recording.Annotation || h.End[k] <= h.Start[k] {
			continue
		}
		if _, marks := recording.StepSpan(f.t.Names[h.Name[k]]); marks {
			return true
		}
	}
	return false
}

// markedBeats are the steps that the profiler marked. A step ends where the next one
// begins: only the profiler itself runs between two marks.
func (f *finder) markedBeats(pid int) []beat {
	h := &f.t.Host
	var out []beat
	for k, kind := range h.Kind {
		if kind != recording.Annotation || f.processOf(int32(k)) != pid {
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

// mostBehind is how many times the device work of all whole steps may be launched behind the last ask. [J] More,
// and the whole ones are where the loop began to load.
const mostBehind = 10

// orLast takes the step that the last ask begins, up to the device's last work, if nearly all work is launched in
// it: a recording of one step holds the ask before it and its own.
func (f *finder) orLast(pid int, beats []beat) []beat {
	from, whole, behind, end := beats[len(beats)-1].end, int64(0), int64(0), int64(0)
	w := &f.t.Device
	for i := range w.Start {
		if f.t.Devices[w.Device[i]].PID != pid {
			continue
		}
		at := w.Start[i]
		if w.Call[i] >= 0 {
			at = f.t.Host.Start[w.Call[i]]
		}
		length := w.End[i] - w.Start[i]
		if end = max(end, w.End[i]); at < from {
			whole += length
		} else {
			behind += length
		}
	}
	if behind <= mostBehind*whole {
		return beats
	}
	return []beat{{from, end, len(beats)}}
}

func (f *finder) stepsOf(p recording.Process, beats []beat) []recording.Step {
	waits := f.annotations(p.PID, recording.LoaderSpan)
	phases := f.phases(p.PID, beats)
	out := make([]recording.Step, 0, len(beats))
	for i, s := range beats {
		step := recording.Step{
			PID: p.PID, Rank: p.Rank, Device: p.Device, Loader: Loader, N: s.n,
			Start: float64(s.start) / 1e9, Period: float64(s.end-s.start) / 1e9, Wait: math.NaN(),
			Phase: phases[i], Idle: math.NaN(), DevicePeriod: math.NaN(), Samples: math.NaN(),
		}
		if len(waits) > 0 {
			for len(waits) > 1 && waits[0].end <= s.start {
				waits = waits[1:] // steps are in order: what ended before this one counts for none
			}
			step.Wait = float64(measureCovered(waits, s.start, s.end)) / 1e9
		}
		out = append(out, step)
	}
	return out
}

// measureCovered is how much of [from, to) is in the spans, which are in order of
// start and may overlap.
func measureCovered(spans []span, from, to int64) int64 {
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
