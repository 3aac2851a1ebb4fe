package steps

import (
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

type finder struct {
	t              *recording.Timeline
	marks, missing string
}

// beat is one step's time on the host, ns.
type beat struct {
	start, end int64
	n          int
}

// rhythm is a process's steps, by what they were found, and a sentence on it, "" for
// marks.
type rhythm struct {
	beats      []beat
	rule, said string
}

// processOf is the process of a call.
func (f *finder) processOf(call int32) int { return f.t.Threads[f.t.Host.Thread[call]].PID }

// span is a marked time on a thread.
type span struct {
	start, end int64
	thread     int32
}

// annotations are a process's annotations whose names fit.
func (f *finder) annotations(pid int, fits func(name string) bool) []span {
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
		if fit && f.processOf(int32(k)) == pid {
			out = append(out, span{h.Start[k], h.End[k], h.Thread[k]})
		}
	}
	return out
}

// optimizerCalls are a process's calls of an optimizer. Several behind one backward pass, one for each part of a model,
// are one update: the last counts.
func (f *finder) optimizerCalls(pid int) []span {
	calls := f.annotations(pid, recording.OptimizerSpan)
	passes := f.backwardStarts(pid)
	if len(passes) == 0 {
		return calls
	}
	var out []span
	for i, call := range calls {
		if i+1 < len(calls) {
			at, _ := slices.BinarySearch(passes, call.end)
			if at == len(passes) || passes[at] >= calls[i+1].start {
				continue
			}
		}
		out = append(out, call)
	}
	return out
}

// backwardStarts are when operators of a process's backward passes began.
func (f *finder) backwardStarts(pid int) []int64 {
	h := &f.t.Host
	backward := make([]bool, len(f.t.Names))
	for i, name := range f.t.Names {
		backward[i] = recording.BackwardSpan(name)
	}
	var out []int64
	for k, kind := range h.Kind {
		if kind == recording.Op && backward[h.Name[k]] && f.processOf(int32(k)) == pid {
			out = append(out, h.Start[k])
		}
	}
	slices.Sort(out)
	return out
}
