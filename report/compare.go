package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/verify"
)

// CompareSteps returns the parts of a step, before and after.
func CompareSteps(all []verify.Row) Sheet {
	s := Sheet{
		Title: "per step", Says: "What a step went into, before and after.", Align: "lrrrrr",
		Rows: [][]string{{"", "before", "least to most", "after", "least to most", "difference"}},
	}
	for _, r := range all {
		name := r.Name
		if r.Group == "cause" {
			name = "idle: " + name
		}
		say := valueIn(r.Unit)
		s.Rows = append(s.Rows, []string{Shorten(name, 30), say(r.Before.Mean), say(r.Before.Least) + " to " +
			say(r.Before.Most), say(r.After.Mean), say(r.After.Least) + " to " + say(r.After.Most), differenceIn(r)})
	}
	return s
}

// valueIn returns a function that prints values of a unit.
func valueIn(unit string) func(float64) string {
	switch unit {
	case "s":
		return quantity.AboutSeconds
	case "ratio":
		return quantity.Percent
	}
	return func(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }
}

// differenceIn prints the difference between the means of a row.
func differenceIn(r verify.Row) string {
	d := r.After.Mean - r.Before.Mean
	switch r.Unit {
	case "s":
		return FormatDifference(d)
	case "ratio":
		return fmt.Sprintf("%+.1f points", 100*d)
	}
	return fmt.Sprintf("%+.1f", d)
}

// CompareWork returns kernels, copies and collectives by name, before and after.
func CompareWork(all []verify.Row, top int) Sheet {
	shown := takeFirst(all, top)
	s := Sheet{
		Title: "work by name", About: fmt.Sprintf(", %d of %d by what changed", len(shown), len(all)),
		Says: fmt.Sprintf("Kernels, copies and collectives of a step, most changed first (%d of %d).", len(shown),
			len(all)),
		Rows:  [][]string{{"work", "", "calls before", "after", "time before", "after", "difference", "name"}},
		Align: "llrrrrrl",
	}
	for _, r := range shown {
		s.Rows = append(s.Rows, []string{
			r.Group, r.Only(), callsOf(r.Calls[0]), callsOf(r.Calls[1]),
			quantity.AboutSeconds(r.Before.Mean), quantity.AboutSeconds(r.After.Mean), differenceIn(r), r.Name,
		})
	}
	return s
}

// callsOf prints a number of calls.
func callsOf(n float64) string { return valueIn("calls")(n) }
