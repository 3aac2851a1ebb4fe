package operators

import (
	"cmp"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// nest finds the host call directly around each other one.
type nest struct {
	t      *recording.Timeline
	order  []int32 // the calls by start; of those that start together the longest first
	parent []int32 // of each call, -1: none around it
	same   []bool  // the call is its parent, recorded twice
}

// nestOf goes over all calls once, in order.
func nestOf(t *recording.Timeline) *nest {
	n := len(t.Host.Start)
	g := &nest{t: t, order: inOrder(&t.Host), parent: make([]int32, n), same: make([]bool, n)}
	within := make([]uint8, n) // calls directly within, at most 2
	open := make([][]int32, len(t.Threads))
	for _, call := range g.order {
		g.parent[call] = -1
		if passedOver(t.Names[t.Host.Name[call]]) {
			continue
		}
		stack := enclosing(&t.Host, open[t.Host.Thread[call]], call)
		if len(stack) > 0 {
			p := stack[len(stack)-1]
			g.parent[call] = p
			within[p] = min(within[p]+1, 2)
		}
		open[t.Host.Thread[call]] = append(stack, call)
	}
	for call, p := range g.parent {
		g.same[call] = p >= 0 && within[p] == 1 && t.Host.Name[call] == t.Host.Name[p]
	}
	return g
}

// enclosing drops from the end of a thread's open calls those that the call does not
// lie within. Calls that overlap in part are no one's children.
func enclosing(h *recording.Calls, open []int32, call int32) []int32 {
	for len(open) > 0 {
		p := open[len(open)-1]
		if h.Start[call] < h.End[p] && h.End[call] <= h.End[p] {
			break
		}
		open = open[:len(open)-1]
	}
	return open
}

// inOrder lists the calls by start, and those that start together by falling end.
func inOrder(h *recording.Calls) []int32 {
	order := make([]int32, len(h.Start))
	for i := range order {
		order[i] = int32(i)
	}
	for i := 0; i < len(order); {
		first := i
		for i++; i < len(order) && h.Start[i] == h.Start[first]; i++ {
		}
		if i > first+1 {
			slices.SortStableFunc(order[first:i], func(a, b int32) int { return cmp.Compare(h.End[b], h.End[a]) })
		}
	}
	return order
}

// passedOver are helpers that PyTorch's table leaves out.
func passedOver(name string) bool {
	switch name {
	case "[memory]", "[OutOfMemory]", "profiler::_record_function_enter", "profiler::_record_function_enter_new",
		"profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version":
		return true
	}
	return false
}

// operator is the innermost operator or mark around a call, itself included; -1
// without one. The runtime works for the operator around it.
func (g *nest) operator(call int32) int32 {
	for depth := 0; call >= 0 && depth < mostDeep; call, depth = g.parent[call], depth+1 {
		if kind := g.t.Host.Kind[call]; kind == recording.Op || kind == recording.Annotation {
			return call
		}
	}
	return -1
}
