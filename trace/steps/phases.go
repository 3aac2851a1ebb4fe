package steps

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Start values that tell a steady step from others. [J]
const (
	otherWork  = 0.10 // of a step: so much compiling or saving makes it one of these
	oneCapture = 0.50 // of the only step: one that captures for less is judged, for no other step would be
	coldStart  = 2    // times the median of those behind it: a leading step that is still warming up
	fewToWarm  = 4    // steps below which the usual length is unknown
	restStarts = 1e6  // ns between the last event and where the recorder's stop is cut off
)

// sign is what an event tells of the step that it is in.
type sign uint8

const (
	plain sign = iota
	learns
	compiles
	captures
	saves
)

func signOf(name string, kind recording.CallKind) sign {
	switch {
	case kind == recording.Runtime:
		if recording.CaptureCall(name) {
			return captures
		}
	case recording.OptimizerSpan(name) || recording.BackwardSpan(name),
		kind == recording.Annotation && recording.MarksTraining(name):
		return learns
	case recording.CompileSpan(name):
		return compiles
	}
	return plain
}

// census is what the signs within one step amount to.
type census struct {
	learns, captures bool
	capture          beat  // from the first call that captures to the end of the last one
	compiled, saved  int64 // ns, nested spans counted once
	until            int64 // where those counted so far end
}

// phases say what each step of a process was part of.
func (f *finder) phases(pid int, beats []beat) []recording.Phase {
	counts := f.takeCensus(pid, beats)
	out := make([]recording.Phase, len(beats))
	trains := slices.ContainsFunc(counts, func(c census) bool { return c.learns })
	for i, b := range beats {
		length := float64(b.end - b.start)
		switch c, long := &counts[i], otherWork*length; {
		case c.captures && (len(beats) > 1 || float64(c.capture.end-c.capture.start) >= oneCapture*length):
			out[i] = recording.Graphs
		case float64(c.compiled) > long:
			out[i] = recording.Compile
		case float64(c.saved) > long:
			out[i] = recording.Checkpoint
		case trains && c.learns:
			out[i] = recording.Train
		default:
			out[i] = recording.Evaluate
		}
	}
	for i := range countWarmUp(beats) {
		if out[i] == recording.Train || out[i] == recording.Evaluate {
			out[i] = recording.WarmUp
		}
	}
	return out
}

// countWarmUp is how many leading steps are far longer than what comes behind them.
func countWarmUp(beats []beat) int {
	n := 0
	for n < len(beats)/2 && len(beats) >= fewToWarm {
		var behind []int64
		for _, b := range beats[n+1:] {
			behind = append(behind, b.end-b.start)
		}
		slices.Sort(behind)
		if b := beats[n]; b.end-b.start <= coldStart*behind[len(behind)/2] {
			break
		}
		n++
	}
	return n
}

// takeCensus goes over a process's events once.
func (f *finder) takeCensus(pid int, beats []beat) []census {
	out := make([]census, len(beats))
	within := func(at int64) *census {
		i := sort.Search(len(beats), func(i int) bool { return beats[i].start > at }) - 1
		if i < 0 || at >= beats[i].end {
			return nil
		}
		return &out[i]
	}
	h, fr := &f.t.Host, &f.t.Frames
	signs := make([]sign, len(f.t.Names))
	known := make([]bool, len(f.t.Names))
	for k, name := range h.Name {
		if !known[name] {
			known[name], signs[name] = true, signOf(f.t.Names[name], h.Kind[k])
		}
		if signs[name] == plain || f.processOf(int32(k)) != pid {
			continue
		}
		if c := within(h.Start[k]); c != nil {
			c.addSign(signs[name], h.Start[k], h.End[k])
		}
	}
	spans := slices.Clone(out) // frames are sorted apart from spans: the longer time of both counts
	for i := range out {
		out[i].compiled, out[i].saved, out[i].until = 0, 0, 0
	}
	clear(known)
	for k, name := range fr.Name {
		if !known[name] {
			known[name], signs[name] = true, plain
			switch text := f.t.Names[name]; {
			case recording.CompileSpan(text):
				signs[name] = compiles
			case recording.SaveFrame(text):
				signs[name] = saves
			}
		}
		if signs[name] == plain || f.t.Threads[fr.Thread[k]].PID != pid {
			continue
		}
		if c := within(fr.Start[k]); c != nil {
			c.addSign(signs[name], fr.Start[k], fr.End[k])
		}
	}
	for i := range out {
		out[i].compiled, out[i].saved = max(out[i].compiled, spans[i].compiled), max(out[i].saved, spans[i].saved)
	}
	return out
}

func (c *census) addSign(s sign, start, end int64) {
	length := max(0, end-max(start, c.until))
	switch s {
	case learns:
		c.learns = true
	case captures:
		if !c.captures {
			c.capture.start = start
		}
		c.captures, c.capture.end = true, max(c.capture.end, end)
	case compiles:
		c.compiled, c.until = c.compiled+length, max(c.until, end)
	case saves:
		c.saved, c.until = c.saved+length, max(c.until, end)
	case plain:
	}
}

// cutStop takes the recorder's own time off the ends of steps that it marked: behind
// the last event of the last one it writes its buffers, and before the first event of
// the first one it starts. As much as other steps rest there is left: that is the
// program's.
func (f *finder) cutStop(pid int, beats []beat) []beat {
	firsts, lasts := f.stepEdges(pid, beats)
	n := len(beats)
	head, tail := int64(0), int64(0)
	for i := range beats {
		if i > 0 {
			head = max(head, firsts[i]-beats[i].start)
		}
		if i < n-1 {
			tail = max(tail, beats[i].end-lasts[i])
		}
	}
	if first := firsts[0] - head; first > beats[0].start+restStarts && first < beats[0].end {
		beats[0].start = first
	}
	if last := lasts[n-1] + tail; last < beats[n-1].end-restStarts && last > beats[n-1].start {
		beats[n-1].end = last
	}
	return beats
}

// cutEarlier begins the first step when the device is done with what ran before anything was launched in the file:
// that is of the step before.
func (f *finder) cutEarlier(pid int, beats []beat) []beat {
	w, end := &f.t.Device, int64(0)
	launched := f.t.End
	for i, call := range w.Call {
		if call >= 0 && f.t.Devices[w.Device[i]].PID == pid {
			launched = min(launched, f.t.Host.Start[call])
		}
	}
	for i, call := range w.Call {
		if call < 0 && f.t.Devices[w.Device[i]].PID == pid && w.Start[i] < launched && launched < f.t.End {
			end = max(end, w.End[i])
		}
	}
	if end > beats[0].start && end < beats[0].end {
		beats[0].start = end
	}
	return beats
}

// stepEdges are when the first event of each step begins and the last one ends, those of
// the recorder left out: its marks, its frames and what encloses them, and the wait for
// the device with which it stops. Where a step holds no event they are its own ends.
func (f *finder) stepEdges(pid int, beats []beat) (firsts, lasts []int64) {
	firsts, lasts = make([]int64, len(beats)), make([]int64, len(beats))
	for i, b := range beats {
		firsts[i], lasts[i] = b.end, b.start
	}
	at := 0 // events come in order of start
	see := func(start, end int64) {
		for at+1 < len(beats) && beats[at+1].start <= start {
			at++
		}
		if b := &beats[at]; start >= b.start && end <= b.end {
			firsts[at], lasts[at] = min(firsts[at], start), max(lasts[at], end)
		}
	}
	h, fr := &f.t.Host, &f.t.Frames
	own := make([]int8, len(f.t.Names)) // 1 the program's, 2 the recorder's
	for k, name := range h.Name {
		if own[name] == 0 {
			own[name] = 1
			if f.recorders(int32(k)) {
				own[name] = 2
			}
		}
		if own[name] == 1 && f.processOf(int32(k)) == pid {
			see(h.Start[k], h.End[k])
		}
	}
	stops := f.recorderStops(pid)
	at = 0
	for k := range fr.Start {
		if stop := nextStop(stops, fr.Start[k]); stop < fr.End[k] || f.t.Threads[fr.Thread[k]].PID != pid ||
			fr.Start[k] == 0 {
			continue // it is, or encloses, the recorder; or it was open when that started
		}
		see(fr.Start[k], fr.End[k])
	}
	for i, b := range beats {
		if firsts[i] > lasts[i] {
			firsts[i], lasts[i] = b.start, b.end
		}
	}
	return firsts, lasts
}

// nextStop is the first of some instants from one on, math.MaxInt64 without one.
func nextStop(stops []int64, from int64) int64 {
	i := sort.Search(len(stops), func(i int) bool { return stops[i] >= from })
	if i == len(stops) {
		return math.MaxInt64
	}
	return stops[i]
}

// recorderStops are when frames of the recorder begin, in order.
func (f *finder) recorderStops(pid int) []int64 {
	fr := &f.t.Frames
	var out []int64
	for k, name := range fr.Name {
		if f.t.Threads[fr.Thread[k]].PID == pid && recording.RecorderFrame(f.t.Names[name]) {
			out = append(out, fr.Start[k])
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}

// recorders reports whether a host event is the recorder's, or a wait such as the one
// with which it stops: the work that it waited for ends anyway.
func (f *finder) recorders(k int32) bool {
	h := &f.t.Host
	name := f.t.Names[h.Name[k]]
	switch h.Kind[k] {
	case recording.Profiling:
		return true
	case recording.Runtime:
		return strings.Contains(name, "Synchronize")
	case recording.Annotation:
		_, step := recording.StepSpan(name)
		return step
	case recording.Op, recording.Collector:
	}
	return false
}
