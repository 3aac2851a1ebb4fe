package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose/memory"
	"github.com/stoker-dev/stoker/quantity"
)

// mostOwners is the number of operators that text names as owners of memory; JSON has all.
const mostOwners = 5

// farLarger is the factor from which the exact value does not matter.
const farLarger = 8

// ListMemory returns the table of the contents of the judged device's memory when tensors took
// most of it.
func ListMemory(r TraceReport) Sheet {
	u, known := FindMemory(r)
	if !known {
		return Sheet{}
	}
	peak := fmt.Sprintf("tensors took %s at most, %s into the trace", quantity.AboutBytes(float64(u.Peak)),
		FormatSpan(u.At))
	s := Sheet{
		Title: "memory", About: " of the judged window: " + peak + ", of that", Says: "In the judged window " + peak +
			". Of that:",
		Rows: [][]string{{"allocated", "bytes", "share"}}, Align: "lrr",
	}
	row := func(word string, bytes int64) {
		s.Rows = append(s.Rows, []string{
			word, quantity.AboutBytes(float64(bytes)),
			quantity.Percent(float64(bytes) / float64(max(1, u.Peak))),
		})
	}
	for kind, bytes := range u.Kinds {
		if bytes > 0 {
			row(memory.Kind(kind).String(), bytes)
		}
	}
	for _, o := range u.Owners[:min(mostOwners, len(u.Owners))] {
		row(fmt.Sprintf("  %s, %s", ShortenPlace(NameOwner(r, o), MostName), quantity.Many(o.Count, "time")), o.Bytes)
	}
	if !math.IsNaN(u.Fits) {
		times := fmt.Sprintf("about %.1f", u.Fits)
		if u.Fits >= farLarger {
			times = fmt.Sprintf("more than %d", farLarger)
		}
		s.Lines = []string{fmt.Sprintf("a batch %s times as large fits, if all that a step allocates grows with it",
			times)}
	}
	return s
}

// FindMemory returns the judged device's memory at its peak, if the trace records it.
func FindMemory(r TraceReport) (memory.PeakUse, bool) {
	d := r.JudgedDevice()
	if d == nil {
		return memory.PeakUse{}, false
	}
	return memory.Of(r.Run, d)
}

// NameOwner returns the owner of a part of the memory.
func NameOwner(r TraceReport, o memory.Owner) string {
	if o.Name < 0 {
		return "(outside of any operator)"
	}
	return r.Name(o.Name)
}
