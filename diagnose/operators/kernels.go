package operators

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// Grouping says by what kernels are put together.
type Grouping string

// What kernels can be put together by.
const (
	ByName     Grouping = "name"     // so does ""
	ByOperator Grouping = "operator" // the innermost operator around the launch
	ByRange    Grouping = "range"    // the innermost range around it that somebody marked (NVTX, record_function)
)

// Grouped reports whether kernels are put together by something else than their names.
func (w Grouping) Grouped() bool { return w == ByOperator || w == ByRange }

// ParseWithin reads it.
func ParseWithin(s string) (Grouping, error) {
	switch w := Grouping(s); w {
	case ByName, ByOperator, ByRange:
		return w, nil
	}
	return "", fmt.Errorf("unknown grouping %q: choose name, operator or range", s)
}

// Group is the kernels, collectives among them, that one operator or range launched within
// the judged window. Nanoseconds.
type Group struct {
	Name    string // "" if nothing was open, or the launch is not recorded
	Count   int
	Time    int64
	Kernels []Launched // most time first
}

// Launched is the kernels of one name of a group.
type Launched struct {
	Name  int32 // index into Timeline.Names
	Count int
	Time  int64
}

// GroupKernels puts a device's kernels together by what launched them, most time first.
func GroupKernels(t *recording.Timeline, d *idle.Device, by Grouping) []Group {
	g := nestOf(t)
	w := &t.Device
	groups, place := map[string]*Group{}, map[launchedBy]int{}
	for i, kind := range w.Kind {
		if kind == recording.Copy || kind == recording.Set || w.Device[i] != d.Index || w.Start[i] < d.From ||
			w.Start[i] >= d.To {
			continue
		}
		name := ""
		if call := g.innermostAround(w.Call[i], by); call >= 0 {
			name = t.Names[t.Host.Name[call]]
		}
		if groups[name] == nil {
			groups[name] = &Group{Name: name}
		}
		groups[name].addKernel(place, w.Name[i], w.End[i]-w.Start[i])
	}
	out := make([]Group, 0, len(groups))
	for _, group := range groups {
		slices.SortFunc(group.Kernels, func(a,
			b Launched,
		) int {
			return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
		})
		out = append(out, *group)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// launchedBy is a kernel's name within a group.
type launchedBy struct {
	group  string
	kernel int32
}

func (g *Group) addKernel(place map[launchedBy]int, name int32, length int64) {
	g.Count, g.Time = g.Count+1, g.Time+length
	at, known := place[launchedBy{g.Name, name}]
	if !known {
		at = len(g.Kernels)
		place[launchedBy{g.Name, name}] = at
		g.Kernels = append(g.Kernels, Launched{Name: name})
	}
	g.Kernels[at].Count++
	g.Kernels[at].Time += length
}

// innermostAround is the innermost operator around a call, or the innermost range that is no mark
// of a step; -1 without one.
func (g *nest) innermostAround(call int32, by Grouping) int32 {
	for depth := 0; call >= 0 && depth < mostDeep; call, depth = g.parent[call], depth+1 {
		switch kind := g.t.Host.Kind[call]; {
		case by == ByOperator && kind == recording.Op:
			return call
		case by == ByRange && kind == recording.Annotation:
			if _, step := recording.StepSpan(g.t.Names[g.t.Host.Name[call]]); !step {
				return call
			}
		}
	}
	return -1
}
