package replay

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// A call that compiles a model does not compile the code around it: its optimizer, the loss,
// random numbers, metrics. If a file holds nothing else, that is what is compiled.

// keepsLaunch reports whether an edit leaves an item alone.
func (p *play) keepsLaunch(e Edit) func(item int32) bool {
	none := func(int32) bool { return false }
	if !e.Model {
		return none
	}
	t := p.t
	if t.apart == nil {
		t.apart = t.findApart()
	}
	apart := func(item int32) bool { return t.apart[item] }
	for i := range t.items {
		if t.items[i].kind == launch && !t.apart[i] {
			return apart
		}
	}
	return none
}

// leastInside: at least one launch in this many has to be within a forward pass before the
// others of the thread count as outside of the model. [J] A marked loss alone has fewer.
const leastInside = 4

// findApart finds the items that belong to no model: within a call of an optimizer, or outside of all that the file
// shows of forward and backward passes of the thread.
func (t *Trace) findApart() []bool {
	updates, passes := t.optimizerSpans(), t.modelSpans()
	inside, all := make([]int, len(t.t.Threads)), make([]int, len(t.t.Threads))
	for i := range t.items {
		if it := &t.items[i]; it.kind == launch && !covers(updates[t.processOf(it.thread)], it.start) {
			if all[it.thread]++; covers(passes[it.thread], it.start) {
				inside[it.thread]++
			}
		}
	}
	apart := make([]bool, len(t.items))
	for i := range t.items {
		it := &t.items[i]
		known := inside[it.thread] > 0 && leastInside*inside[it.thread] >= all[it.thread]
		apart[i] = covers(updates[t.processOf(it.thread)], it.start) || known && !covers(passes[it.thread], it.start)
	}
	return apart
}

// modelSpans are, by thread, the times within a model: calls of modules, ranges that are named for a forward pass, and
// nodes of autograd.
func (t *Trace) modelSpans() map[int32][][2]int64 {
	kinds := make([]int8, len(t.t.Names)) // 0 not looked at, 1 of a model, -1 not
	ofModel := func(name int32) bool {
		if kinds[name] == 0 {
			kinds[name] = -1
			if text := t.t.Names[name]; strings.HasPrefix(text, "nn.Module: ") || namesForward(text) {
				kinds[name] = 1
			}
		}
		return kinds[name] > 0
	}
	f, h, spans := &t.t.Frames, &t.t.Host, map[int32][][2]int64{}
	frame := 0
	for i := 0; i < len(h.Start) || frame < len(f.Start); { // both are in order of start
		if frame < len(f.Start) && (i == len(h.Start) || f.Start[frame] <= h.Start[i]) {
			if ofModel(f.Name[frame]) {
				spans[f.Thread[frame]] = joinSpan(spans[f.Thread[frame]], f.Start[frame], f.End[frame])
			}
			frame++
			continue
		}
		ranged := h.Kind[i] == recording.Annotation && ofModel(h.Name[i])
		if ranged || h.Kind[i] == recording.Op && recording.BackwardSpan(t.t.Names[h.Name[i]]) {
			spans[h.Thread[i]] = joinSpan(spans[h.Thread[i]], h.Start[i], h.End[i])
		}
		i++
	}
	return spans
}

// namesForward reports whether somebody named a range for a forward pass.
func namesForward(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "forward") && !strings.Contains(lower, "backward")
}

// joinSpan adds a span to spans that are in order of start and do not overlap.
func joinSpan(spans [][2]int64, from, to int64) [][2]int64 {
	if n := len(spans); n > 0 && from < spans[n-1][1] {
		spans[n-1][1] = max(spans[n-1][1], to)
		return spans
	}
	return append(spans, [2]int64{from, to})
}

// optimizerSpans returns the marked calls of optimizers, by process.
func (t *Trace) optimizerSpans() map[int32][][2]int64 {
	if t.updates != nil {
		return t.updates
	}
	h := &t.t.Host
	t.updates = map[int32][][2]int64{}
	for i, kind := range h.Kind {
		if kind == recording.Annotation && recording.OptimizerSpan(t.t.Names[h.Name[i]]) {
			process := t.processOf(h.Thread[i])
			t.updates[process] = append(t.updates[process], [2]int64{h.Start[i], h.End[i]})
		}
	}
	return t.updates
}

func covers(spans [][2]int64, at int64) bool {
	low, high := 0, len(spans)
	for low < high {
		if middle := (low + high) / 2; spans[middle][0] <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low > 0 && at < spans[low-1][1]
}
