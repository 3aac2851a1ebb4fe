package diagnose

import (
	"cmp"
	"slices"
	"strings"
)

// Once is what the host does once in a trace's judged window, as shares of it.
type Once struct {
	Compiles, Allocates float64
	SetsUp              float64 // contexts, modules and first launches
	Meets               float64 // first collectives
	Around              float64 // time beside first calls in which nothing was recorded
}

// leastOnce is the part of what happens once from which it is named. [J]
const leastOnce = 0.1

// String names what is a tenth of it and more, the largest first.
func (o Once) String() string {
	type part struct {
		name  string
		share float64
	}
	parts := []part{
		{"contexts and modules", o.SetsUp},
		{"compilation", o.Compiles},
		{"first allocations", o.Allocates},
		{"first collectives", o.Meets},
		{"unrecorded time around first calls", o.Around},
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	all := o.SetsUp + o.Compiles + o.Allocates + o.Meets + o.Around
	var names []string
	for _, p := range parts {
		if p.share > 0 && p.share >= leastOnce*all {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return "what is done once"
	}
	last := len(names) - 1
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" and "+names[last], " and ")
}
