package idle

import (
	"sort"
)

// Sampled is what a sampler of the CPU met on the threads that some idle time is charged to.
type Sampled struct {
	Name   int32 // the innermost function that at least half of the samples are in, index into Samples.Names; -1 none
	In, Of int   // samples in that function, and all in that time
	On     int64 // time on a CPU, nanoseconds
	Known  int64 // time of threads of which the file tells when they are on a CPU
}

// SumSamples adds up what samples and turns tell of the idle time that fits, between two instants of a device.
func (a *Analysis) SumSamples(d *Device, from, to int64, fits func(Slice) bool) Sampled {
	out := Sampled{Name: -1}
	if len(a.t.Samples.At)+len(a.t.Turns.Start) == 0 {
		return out
	}
	in, depth := map[int32]int{}, map[int32]int{}
	for s := range a.Slices(d, from, to) {
		if s.Thread < 0 || !fits(s) {
			continue
		}
		if on, known := a.onCPU(s.Thread, s.From, s.To); known {
			out.On, out.Known = out.On+on, out.Known+s.To-s.From
		}
		for _, stack := range a.stacksOf(s.Thread, s.From, s.To) {
			out.Of++
			met := map[int32]bool{}
			for i, name := range stack {
				if !met[name] {
					met[name] = true
					in[name]++
					depth[name] += i
				}
			}
		}
	}
	for name, n := range in {
		if float64(n) < mostOf*float64(out.Of) {
			continue
		}
		best := out.Name
		inner := best < 0 || depth[name]*in[best] < depth[best]*n || depth[name]*in[best] == depth[best]*n &&
			(n > in[best] || n == in[best] && name < best)
		if inner {
			out.Name, out.In = name, n
		}
	}
	return out
}

// stacksOf are the stacks of a thread's samples between two instants.
func (a *Analysis) stacksOf(thread int32, from, to int64) (out [][]int32) {
	s := &a.t.Samples
	first := sort.Search(len(s.At), func(i int) bool { return s.At[i] >= from })
	for i := first; i < len(s.At) && s.At[i] < to; i++ {
		if s.Thread[i] == thread {
			out = append(out, s.Stack[i])
		}
	}
	return out
}

// onCPU is for how long a thread was on a CPU between two instants; false if the file does not tell.
func (a *Analysis) onCPU(thread int32, from, to int64) (ns int64, known bool) {
	if len(a.t.Turns.Start) == 0 {
		return 0, false
	}
	if a.turns == nil {
		a.turns = make([]stretches, len(a.t.Threads))
		for i, t := range a.t.Turns.Thread {
			a.turns[t].extend(a.t.Turns.Start[i], a.t.Turns.End[i])
		}
	}
	turns := &a.turns[thread]
	return turns.until(to) - turns.until(from), len(turns.from) > 0
}

// computes reports whether a slice in which nothing was recorded is so long that no launch explains it, and its thread
// was on a CPU for most of it.
func (a *Analysis) computes(s Slice) bool {
	if s.Cause != Unrecorded || s.Thread < 0 || s.To-s.From < longRange {
		return false
	}
	on, known := a.onCPU(s.Thread, s.From, s.To)
	return known && 2*on > s.To-s.From
}
