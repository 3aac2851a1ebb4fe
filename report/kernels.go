package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/quantity"
)

// ListKernels returns the table of kernels by name in the judged window.
func ListKernels(r TraceReport, top int) Sheet {
	d := r.JudgedDevice()
	if d == nil {
		return Sheet{}
	}
	k := r.Gaps.SumKernels(d)
	totals := ListComputing(k)
	shown := takeFirst(totals, top)
	s := Sheet{
		Title: "kernels", About: fmt.Sprintf(", %d of %d by time, in the judged window", len(shown), len(totals)),
		Says: fmt.Sprintf("What ran on the device in the judged window, most time first (%d of %d).", len(shown),
			len(totals)),
		Rows: [][]string{{"calls", "time", "share", "mean", "computes", "on", "kernel"}}, Align: "rrrrlll",
	}
	for _, t := range shown {
		s.Rows = append(s.Rows, []string{
			fmt.Sprint(t.Count), FormatSpan(t.Time), quantity.Percent(float64(t.Time) / float64(max(1, k.Time))),
			FormatSpan(t.Time / int64(max(1, t.Count))),
			t.Family.String(), NameCores(t), r.Name(t.Name),
		})
	}
	return s
}

// mostOfGroup is the number of kernels that text shows for each operator or range.
const mostOfGroup = 3

// ListKernelGroups returns the table of kernels by the operator or range that launched them.
func ListKernelGroups(r TraceReport, top int) Sheet {
	groups := GroupKernels(r)
	shown := takeFirst(groups, top)
	all := int64(0)
	for _, g := range groups {
		all += g.Time
	}
	by := string(r.Within)
	s := Sheet{
		Title: "kernels by " + by, About: fmt.Sprintf(", %d of %d by time, in the judged window", len(shown),
			len(groups)),
		Says: fmt.Sprintf("The same kernels by the %s that launched them, with the %d of each that took most time.", by,
			mostOfGroup),
		Rows: [][]string{{"calls", "time", "share", "mean", by + ", kernel"}}, Align: "rrrrl",
	}
	row := func(count int, time int64, name string) {
		s.Rows = append(s.Rows, []string{
			fmt.Sprint(count), FormatSpan(time),
			quantity.Percent(float64(time) / float64(max(1, all))), FormatSpan(time / int64(max(1, count))), name,
		})
	}
	for _, g := range shown {
		row(g.Count, g.Time, groupName(g, r))
		for _, k := range takeFirst(g.Kernels, mostOfGroup) {
			row(k.Count, k.Time, "  "+r.Name(k.Name))
		}
	}
	return s
}

func groupName(g operators.Group, r TraceReport) string {
	if g.Name == "" {
		return "(no " + string(r.Within) + ")"
	}
	return g.Name
}

// GroupKernels returns the kernels of the judged device, grouped as requested.
func GroupKernels(r TraceReport) []operators.Group {
	if d := r.JudgedDevice(); d != nil && r.Within.Grouped() {
		return operators.GroupKernels(r.Run.Timeline, d, r.Within)
	}
	return nil
}

// ListComputing returns the kernels except collectives, most time first.
func ListComputing(k *idle.Kernels) []idle.NameTotal {
	totals := slices.DeleteFunc(slices.Clone(k.Totals),
		func(t idle.NameTotal) bool { return t.Family == idle.Exchange })
	slices.SortStableFunc(totals, func(a, b idle.NameTotal) int { return cmp.Compare(b.Time, a.Time) })
	return totals
}

// NameCores returns the kind of cores on which a matrix kernel computes; "" for other kernels.
func NameCores(t idle.NameTotal) string {
	if t.Family != idle.Matmul && t.Family != idle.Convolution && t.Family != idle.Attention {
		return ""
	}
	switch t.Cores {
	case idle.TensorCores:
		return "tensor"
	case idle.PlainCores:
		return "plain"
	case idle.UnknownCores:
	}
	return ""
}

// ListExchanges returns the table of collectives in the judged window.
func ListExchanges(r TraceReport) Sheet {
	d := r.JudgedDevice()
	if d == nil {
		return Sheet{}
	}
	e := r.Gaps.SumExchanges(d)
	slices.SortStableFunc(e.Kinds, func(a, b idle.Collective) int { return cmp.Compare(b.Time, a.Time) })
	s := Sheet{
		Title: "collectives",
		About: " of the judged window: times hold the waiting for other ranks, so that rates are at least these",
		Says: "What ranks exchange in the judged window. Times hold the waiting for other ranks, so that rates are " +
			"at least these.",
		Rows: [][]string{{"calls", "time", "mean", "exposed", "bytes", "bus", "collective"}}, Align: "rrrrrrl",
	}
	for _, c := range e.Kinds {
		bytes, bus := "unknown", "unknown"
		if c.Bytes > 0 {
			bytes = quantity.AboutBytes(float64(c.Bytes))
			if rate := RateBus(r, c); !math.IsNaN(rate) {
				bus = quantity.AboutRate(rate)
			}
		}
		exposed := quantity.Percent(float64(c.Exposed) / float64(max(1, c.Time)))
		s.Rows = append(s.Rows, []string{
			fmt.Sprint(c.Count), FormatSpan(c.Time), FormatSpan(c.Time / int64(c.Count)),
			exposed, bytes, bus, r.Name(c.Name),
		})
	}
	return s
}

// RateBus returns the bandwidth of the links that a collective needs, as nccl-tests define it
// (PERFORMANCE.md): the recorded size is the input of one rank. NaN if the number of ranks is
// unknown.
func RateBus(r TraceReport, c idle.Collective) float64 {
	n := 0.0
	for _, p := range r.Run.Facts.Processes {
		n = max(n, float64(p.World))
	}
	rate := 1e9 * float64(c.Bytes) / float64(max(1, c.Sized))
	switch name := strings.ToLower(strings.ReplaceAll(r.Name(c.Name), "_", "")); {
	case n < 2:
		return math.NaN()
	case strings.Contains(name, "allreduce"):
		return rate * 2 * (n - 1) / n
	case strings.Contains(name, "allgather"):
		return rate * (n - 1)
	case strings.Contains(name, "reducescatter"), strings.Contains(name, "alltoall"):
		return rate * (n - 1) / n
	}
	return rate
}
