// Package memory describes the content of a device's memory when most of it is in use within the
// judged window, by when and for what it was allocated, and how much a batch could grow.
//
// It does not know tensors: a trace has allocations and what was open around them. Categories
// of PyTorch's own memory view (parameter, gradient) need what a trace does not hold; what
// was there before the recording began has its own entry.
//
// Neighbours: trace reads the allocator's events, report draws.
package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Kind says when and for what memory was allocated.
type Kind uint8

// The kinds.
const (
	Before    Kind = iota // before the recording began: weights, gradients, the optimizer's state
	Kept                  // in an earlier step, and kept
	Forward               // in this step, neither in the backward pass nor by the optimizer: activations, input
	Backward              // in the backward pass: gradients and what they need meanwhile
	Optimizer             // by the optimizer
	kinds
)

var kindWords = [kinds]string{
	"before the recording", "kept from earlier steps", "forward pass and input",
	"backward pass", "optimizer",
}

// String returns the kind's words.
func (k Kind) String() string {
	if int(k) < len(kindWords) {
		return kindWords[k]
	}
	return "unknown"
}

// PeakUse is what a device's memory held when tensors took most of it.
type PeakUse struct {
	Device int32 // index into Timeline.Devices
	Peak   int64 // bytes of tensors
	At     int64 // when, ns
	Kinds  [kinds]int64
	Owners []Owner // operators whose allocations since the recording's begin are part of it, most first

	From, To int64   // of Curve, ns
	Curve    []int64 // the most that tensors took in each of Columns equal parts; -1 before anything is known

	// Fits is how many times the batch would fit where all that a step allocates grows with
	// it; NaN unknown.
	Fits float64
}

// Owner is an operator that allocated.
type Owner struct {
	Name  int32 // index into Timeline.Names, -1 outside of any
	Bytes int64
	Count int
}

// Columns are how many parts a curve has.
const Columns = 60

// Of summarises the memory of a device of a run; false if no allocator's event was recorded.
func Of(run *recording.Run, d *idle.Device) (PeakUse, bool) {
	t := run.Timeline
	m := &t.Memory
	u := PeakUse{Device: d.Index, From: d.From, To: d.To, Curve: slices.Repeat([]int64{-1}, Columns), Fits: math.NaN()}
	peak := -1
	for i, total := range m.Total {
		if m.Device[i] != d.Index {
			continue
		}
		u.draw(m.At[i], total)
		if inside := m.At[i] >= d.From && m.At[i] < d.To; inside && (peak < 0 || total > m.Total[peak]) {
			peak = i
		}
	}
	if peak < 0 {
		return u, false
	}
	for i := 1; i < Columns; i++ { // what nothing changed stayed
		if u.Curve[i] < 0 {
			u.Curve[i] = u.Curve[i-1]
		}
	}
	u.Peak, u.At = m.Total[peak], m.At[peak]
	u.share(t, live(m, d.Index, peak), stepBegan(run.Steps, t.Devices[d.Index].PID, u.At))
	u.fits(run)
	return u, true
}

// draw takes a value into the curve.
func (u *PeakUse) draw(at, total int64) {
	if u.To <= u.From || at >= u.To {
		return
	}
	column := max(0, int(float64(at-u.From)/float64(u.To-u.From)*Columns))
	if at < u.From {
		u.Curve[0] = total // the last before it counts
		return
	}
	u.Curve[column] = max(u.Curve[column], total)
}

// live are the allocations of a device that were not freed up to an event, in order.
func live(m *recording.Memory, device int32, until int) []int {
	held := map[int64]int{}
	for i := range until + 1 {
		switch {
		case m.Device[i] != device:
		case m.Bytes[i] > 0:
			held[m.Address[i]] = i
		default:
			delete(held, m.Address[i])
		}
	}
	return slices.Sorted(maps.Values(held))
}

// stepBegan is the start of the process's step around an instant, 0 without one.
func stepBegan(steps []recording.Step, pid int, at int64) int64 {
	began := 0.0
	for _, s := range steps {
		if s.PID == pid && 1e9*s.Start <= float64(at) {
			began = max(began, s.Start)
		}
	}
	return int64(1e9 * began)
}

// share says for what each allocation was made: it goes over the host's calls at the same time.
func (u *PeakUse) share(t *recording.Timeline, held []int, began int64) {
	m, h := &t.Memory, &t.Host
	u.Kinds[Before] = u.Peak
	open := make([][]int32, len(t.Threads))
	owners := map[int32]*Owner{}
	call := 0
	for _, i := range held {
		for ; call < len(h.Start) && h.Start[call] <= m.At[i]; call++ {
			if h.Kind[call] == recording.Op || h.Kind[call] == recording.Annotation {
				th := h.Thread[call]
				open[th] = append(still(open[th], h.End, h.Start[call]), int32(call))
			}
		}
		th := m.Thread[i]
		open[th] = still(open[th], h.End, m.At[i])
		kind, name := findPurpose(t, open[th])
		if m.At[i] < began {
			kind = Kept
		}
		u.Kinds[kind] += m.Bytes[i]
		u.Kinds[Before] -= m.Bytes[i]
		if owners[name] == nil {
			owners[name] = &Owner{Name: name}
		}
		owners[name].Bytes += m.Bytes[i]
		owners[name].Count++
	}
	u.Kinds[Before] = max(0, u.Kinds[Before])
	for _, o := range owners {
		u.Owners = append(u.Owners, *o)
	}
	slices.SortFunc(u.Owners, func(a, b Owner) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
}

// still drops calls that are over from the end of a thread's open ones.
func still(open []int32, end []int64, at int64) []int32 {
	for len(open) > 0 && end[open[len(open)-1]] <= at {
		open = open[:len(open)-1]
	}
	return open
}

// findPurpose is what open calls say an allocation is for, and the innermost operator, -1 none.
func findPurpose(t *recording.Timeline, open []int32) (kind Kind, name int32) {
	kind, name = Forward, -1
	for _, call := range open {
		text := t.Names[t.Host.Name[call]]
		switch {
		case recording.OptimizerSpan(text):
			kind = Optimizer
		case recording.BackwardSpan(text) && kind == Forward:
			kind = Backward
		}
		if t.Host.Kind[call] == recording.Op {
			name = t.Host.Name[call]
		}
	}
	return kind, name
}

// fits says how far a batch could grow: what the allocator does not hold is free. Gradients
// of weights do not grow, so that this is rather too little.
func (u *PeakUse) fits(run *recording.Run) {
	at, grows := run.Timeline.Devices[u.Device].GPU, u.Kinds[Forward]+u.Kinds[Backward]
	if at < 0 || at >= len(run.Facts.GPUs) || grows <= 0 {
		return
	}
	g := run.Facts.GPUs[at]
	if free := stat.Value(g.MemoryBytes) - stat.Value(g.HeldBytes); free >= 0 {
		u.Fits = 1 + free/float64(grows)
	}
}
