// Package flame adds up where host threads spent their time, by what was open: a tree of
// Python's frames, marked ranges, operators and calls of the runtime.
//
// It knows what a profiler recorded: without stacks there are no frames, and short frames of
// libraries are not kept. Where nothing is open no time is counted.
//
// Neighbours: report/plot draws the tree, export writes it for pprof.
package flame

import (
	"cmp"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// Node is a call, or a range, open within its parent. Nanoseconds.
type Node struct {
	Name     string
	Time     int64 // with all that is below
	Children []*Node

	place map[string]*Node
}

// Self is the time in which nothing below was open.
func (n *Node) Self() int64 {
	self := n.Time
	for _, c := range n.Children {
		self -= c.Time
	}
	return self
}

// child is the node of a name below, made if it is missing.
func (n *Node) child(name string) *Node {
	c, known := n.place[name]
	if !known {
		if n.place == nil {
			n.place = map[string]*Node{}
		}
		c = &Node{Name: name}
		n.place[name] = c
		n.Children = append(n.Children, c)
	}
	return c
}

// mostDeep bounds how deep a tree goes, so that no file can exhaust memory.
const mostDeep = 500

// Of is the tree of a device's process within its judged window, a child per thread; most
// time first at every level. Without a process it is empty.
func Of(run *recording.Run, gaps *idle.Analysis, d *idle.Device) *Node {
	root := &Node{Name: "host threads"}
	if d.Process < 0 {
		return root
	}
	t := run.Timeline
	from, to := d.From, d.To
	if n := len(d.Steps); n > 0 {
		from, to = d.Steps[0].HostFrom, d.Steps[n-1].HostTo
	}
	process := gaps.Processes[d.Process]
	threads := make([]*thread, len(t.Threads))
	for i, th := range t.Threads {
		if th.PID == process.PID && th.Rank == process.Rank {
			threads[i] = &thread{from: from, to: to}
		}
	}
	each(t, func(on int32, name string, start, end int64) {
		if threads[on] != nil {
			threads[on].addEvent(name, start, end)
		}
	})
	for i, th := range threads {
		if th != nil && th.root.Time > 0 {
			th.root.Name = t.Threads[i].String()
			root.Time += th.root.Time
			root.Children = append(root.Children, &th.root)
		}
	}
	root.sort()
	return root
}

// each goes over frames and host calls in order of start; of those that start together the
// longer one comes first.
func each(t *recording.Timeline, visit func(thread int32, name string, start, end int64)) {
	h, f := &t.Host, &t.Frames
	for i, j := 0, 0; i < len(h.Start) || j < len(f.Start); {
		frame := i == len(h.Start) || j < len(f.Start) &&
			(f.Start[j] < h.Start[i] || f.Start[j] == h.Start[i] && f.End[j] >= h.End[i])
		if frame {
			visit(f.Thread[j], t.Names[f.Name[j]], f.Start[j], f.End[j])
			j++
			continue
		}
		visit(h.Thread[i], nameOf(t.Names[h.Name[i]]), h.Start[i], h.End[i])
		i++
	}
}

// nameOf gives the marks of all steps one name.
func nameOf(name string) string {
	if _, step := recording.StepSpan(name); step {
		return "ProfilerStep*"
	}
	return name
}

// thread builds the tree of one thread.
type thread struct {
	from, to int64
	root     Node
	open     []opened
}

type opened struct {
	node *Node
	end  int64
}

// addEvent takes an event. One that outlasts its parent is cut there: a call
// ends before its caller.
func (th *thread) addEvent(name string, start, end int64) {
	start, end = max(start, th.from), min(end, th.to)
	for len(th.open) > 0 && th.open[len(th.open)-1].end <= start {
		th.open = th.open[:len(th.open)-1]
	}
	above := &th.root
	if n := len(th.open); n > 0 {
		above, end = th.open[n-1].node, min(end, th.open[n-1].end)
	}
	if end <= start || len(th.open) == mostDeep {
		return
	}
	c := above.child(name)
	c.Time += end - start
	if above == &th.root {
		th.root.Time += end - start
	}
	th.open = append(th.open, opened{c, end})
}

func (n *Node) sort() {
	slices.SortStableFunc(n.Children, func(a,
		b *Node,
	) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range n.Children {
		c.sort()
	}
}
