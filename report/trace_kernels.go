package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/operators"
)

// kernels writes the table of kernels, and that of collectives.
func (p *page) kernels(r TraceReport, top int) {
	if r.Within.Grouped() {
		p.sheet(groupSheet(r, top))
	} else {
		p.sheet(kernelSheet(r, top))
	}
	p.sheet(exchangeSheet(r))
}

// kernelSheet is the table of kernels by name: of the judged window.
func kernelSheet(r TraceReport, top int) sheet {
	d := r.Device()
	if d == nil {
		return sheet{}
	}
	k := r.Gaps.Kernels(d)
	totals := computing(k)
	shown := first(totals, top)
	s := sheet{
		Title: "kernels", About: fmt.Sprintf(", %d of %d by time; the judged window", len(shown), len(totals)),
		Says: fmt.Sprintf("What ran on the device in the judged window, most time first (%d of %d).", len(shown), len(totals)),
		Rows: [][]string{{"calls", "time", "share", "mean", "computes", "on", "kernel"}}, Align: "rrrrlll",
	}
	for _, t := range shown {
		s.Rows = append(s.Rows, []string{
			fmt.Sprint(t.Count), span(t.Time), stoker.Percent(float64(t.Time) / float64(max(1, k.Time))), span(t.Time / int64(max(1, t.Count))),
			t.Family.String(), coresWord(t), r.name(t.Name),
		})
	}
	return s
}

// mostOfGroup is how many kernels text shows of an operator or range.
const mostOfGroup = 3

// groupSheet is the table of kernels by the operator or range that launched them.
func groupSheet(r TraceReport, top int) sheet {
	groups := kernelGroups(r)
	shown := first(groups, top)
	all := int64(0)
	for _, g := range groups {
		all += g.Time
	}
	by := string(r.Within)
	s := sheet{
		Title: "kernels by " + by, About: fmt.Sprintf(", %d of %d by time; the judged window", len(shown), len(groups)),
		Says: fmt.Sprintf("The same kernels by the %s that launched them, with the %d of each that took most time.", by, mostOfGroup),
		Rows: [][]string{{"calls", "time", "share", "mean", by + ", kernel"}}, Align: "rrrrl",
	}
	row := func(count int, time int64, name string) {
		s.Rows = append(s.Rows, []string{fmt.Sprint(count), span(time), stoker.Percent(float64(time) / float64(max(1, all))), span(time / int64(max(1, count))), name})
	}
	for _, g := range shown {
		row(g.Count, g.Time, groupName(g, r))
		for _, k := range first(g.Kernels, mostOfGroup) {
			row(k.Count, k.Time, "  "+r.name(k.Name))
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

func kernelGroups(r TraceReport) []operators.Group {
	if d := r.Device(); d != nil && r.Within.Grouped() {
		return operators.Kernels(r.Run.Timeline, d, r.Within)
	}
	return nil
}

// computing are the kernels that are no collectives, most time first.
func computing(k *idle.Kernels) []idle.Total {
	totals := slices.DeleteFunc(slices.Clone(k.Totals), func(t idle.Total) bool { return t.Family == idle.Exchange })
	slices.SortStableFunc(totals, func(a, b idle.Total) int { return cmp.Compare(b.Time, a.Time) })
	return totals
}

// coresWord says on what matrix kernels compute, "" for others.
func coresWord(t idle.Total) string {
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

// exchangeSheet is the table of collectives: of the judged window.
func exchangeSheet(r TraceReport) sheet {
	d := r.Device()
	if d == nil {
		return sheet{}
	}
	e := r.Gaps.Exchanges(d)
	slices.SortStableFunc(e.Kinds, func(a, b idle.Collective) int { return cmp.Compare(b.Time, a.Time) })
	s := sheet{
		Title: "collectives", About: " of the judged window: times hold the waiting for other ranks, so that rates are at least these",
		Says: "What ranks exchange in the judged window. Times hold the waiting for other ranks, so that rates are at least these.",
		Rows: [][]string{{"calls", "time", "mean", "exposed", "bytes", "bus", "collective"}}, Align: "rrrrrrl",
	}
	for _, c := range e.Kinds {
		bytes, bus := "unknown", "unknown"
		if c.Bytes > 0 {
			bytes = stoker.AboutBytes(float64(c.Bytes))
			if rate := busRate(r, c); !math.IsNaN(rate) {
				bus = stoker.AboutRate(rate)
			}
		}
		exposed := stoker.Percent(float64(c.Exposed) / float64(max(1, c.Time)))
		s.Rows = append(s.Rows, []string{fmt.Sprint(c.Count), span(c.Time), span(c.Time / int64(c.Count)), exposed, bytes, bus, r.name(c.Name)})
	}
	return s
}

// busRate is the bandwidth of the links that a collective needs, in the way of
// nccl-tests (PERFORMANCE.md): what was recorded is the input of a rank. NaN where the
// ranks are not known.
func busRate(r TraceReport, c idle.Collective) float64 {
	n := 0.0
	for _, p := range r.Run.Facts.Processes {
		n = max(n, float64(p.World))
	}
	rate := 1e9 * float64(c.Bytes) / float64(max(1, c.Sized))
	switch name := strings.ToLower(strings.ReplaceAll(r.name(c.Name), "_", "")); {
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

// exchanging says how much of the window collectives run, and how much of that shows;
// leads reports whether they run longer than kernels of computation.
func exchanging(r TraceReport, d *idle.Device) (text string, leads bool) {
	if d == nil {
		return "", false
	}
	e := r.Gaps.Exchanges(d)
	if d.Share(e.Any) < exchangeShown {
		return "", false
	}
	exposed := stoker.Percent(float64(e.Exposed) / float64(max(1, e.Any)))
	if e.Exposed < e.Any {
		exposed += " of that is exposed, the rest is hidden behind computation"
	} else {
		exposed = "all of that is exposed, none hidden behind computation"
	}
	return fmt.Sprintf("collectives run %s of the window; %s", stoker.Percent(d.Share(e.Any)), exposed), e.Any > d.Kernel
}

// exchangeShown is the share of the window from which collectives have a line of their own
// among what was recorded. [J]
const exchangeShown = 0.05

// KernelsCSV writes the kernels and collectives of the judged window in base units.
func KernelsCSV(w io.Writer, r TraceReport) error {
	if r.Within.Grouped() {
		return groupsCSV(w, r)
	}
	rows := [][]string{{"kind", "name", "calls", "seconds", "bytes", "exposed_seconds"}}
	plain := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'g', -1, 64) }
	if d := r.Device(); d != nil {
		for _, t := range computing(r.Gaps.Kernels(d)) {
			rows = append(rows, []string{t.Family.String(), r.name(t.Name), fmt.Sprint(t.Count), plain(t.Time), "", ""})
		}
		for _, c := range r.Gaps.Exchanges(d).Kinds {
			rows = append(rows, []string{"collective", r.name(c.Name), fmt.Sprint(c.Count), plain(c.Time), fmt.Sprint(c.Bytes), plain(c.Exposed)})
		}
	}
	return CSV(w, rows)
}

func groupsCSV(w io.Writer, r TraceReport) error {
	rows := [][]string{{string(r.Within), "kernel", "calls", "seconds"}}
	for _, g := range kernelGroups(r) {
		for _, k := range g.Kernels {
			rows = append(rows, []string{g.Name, r.name(k.Name), fmt.Sprint(k.Count), strconv.FormatFloat(asSeconds(k.Time), 'g', -1, 64)})
		}
	}
	return CSV(w, rows)
}
