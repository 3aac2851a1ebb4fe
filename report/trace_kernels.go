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

// kernels is the table of kernels by name, and that of collectives: of the judged window.
func (p *page) kernels(r TraceReport, top int) {
	d := r.Device()
	if d == nil {
		return
	}
	k := r.Gaps.Kernels(d)
	totals := computing(k)
	p.grouped(r)
	if len(totals) > 0 && !r.Within.Grouped() {
		shown := totals
		if top > 0 {
			shown = totals[:min(top, len(totals))]
		}
		p.wrapped("", "  ", fmt.Sprintf("%s, %d of %d by time; the judged window", p.bold("kernels"), len(shown), len(totals)))
		rows := [][]string{{"calls", "time", "share", "mean", "computes", "on", "kernel"}}
		for _, t := range shown {
			rows = append(rows, []string{
				fmt.Sprint(t.Count), span(t.Time), stoker.Percent(float64(t.Time) / float64(max(1, k.Time))), span(t.Time / int64(max(1, t.Count))),
				t.Family.String(), coresWord(t), "",
			})
		}
		room := max(20, p.width()-2-columnsWide(rows))
		for i, t := range shown {
			rows[i+1][len(rows[i+1])-1] = cut(r.name(t.Name), room)
		}
		p.table(rows, "rrrrlll")
		p.b.WriteString("\n")
	}
	p.collectives(r, r.Gaps.Exchanges(d))
}

// mostOfGroup is how many kernels text shows of an operator or range.
const mostOfGroup = 3

// grouped is the table of kernels by the operator or range that launched them.
func (p *page) grouped(r TraceReport) {
	groups := kernelGroups(r)
	if len(groups) == 0 {
		return
	}
	shown := groups
	if r.Top > 0 {
		shown = groups[:min(r.Top, len(groups))]
	}
	all := int64(0)
	for _, g := range groups {
		all += g.Time
	}
	p.wrapped("", "  ", fmt.Sprintf("%s, %d of %d by time; the judged window", p.bold("kernels by "+string(r.Within)), len(shown), len(groups)))
	rows, names := [][]string{{"calls", "time", "share", "mean", string(r.Within) + ", kernel"}}, []string{""}
	row := func(count int, time int64, name string) {
		rows = append(rows, []string{fmt.Sprint(count), span(time), stoker.Percent(float64(time) / float64(max(1, all))), span(time / int64(max(1, count))), ""})
		names = append(names, name)
	}
	for _, g := range shown {
		row(g.Count, g.Time, groupName(g, r))
		for _, k := range g.Kernels[:min(mostOfGroup, len(g.Kernels))] {
			row(k.Count, k.Time, "  "+r.name(k.Name))
		}
	}
	room := max(20, p.width()-2-columnsWide(rows)+len(rows[0][4]))
	for i := range rows[1:] {
		rows[i+1][4] = cut(names[i+1], room)
	}
	p.table(rows, "rrrrl")
	p.b.WriteString("\n")
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

func (p *page) collectives(r TraceReport, e *idle.Exchanges) {
	if len(e.Kinds) == 0 {
		return
	}
	slices.SortStableFunc(e.Kinds, func(a, b idle.Collective) int { return cmp.Compare(b.Time, a.Time) })
	p.wrapped("", "  ", fmt.Sprintf("%s of the judged window: times hold the waiting for other ranks, so that rates are at least these", p.bold("collectives")))
	rows := [][]string{{"calls", "time", "mean", "exposed", "bytes", "bus", "collective"}}
	for _, c := range e.Kinds {
		bytes, bus := "unknown", "unknown"
		if c.Bytes > 0 {
			bytes = stoker.AboutBytes(float64(c.Bytes))
			if rate := busRate(r, c); !math.IsNaN(rate) {
				bus = stoker.AboutRate(rate)
			}
		}
		rows = append(rows, []string{fmt.Sprint(c.Count), span(c.Time), span(c.Time / int64(c.Count)), stoker.Percent(float64(c.Exposed) / float64(max(1, c.Time))), bytes, bus, ""})
	}
	room := max(20, p.width()-2-columnsWide(rows))
	for i, c := range e.Kinds {
		rows[i+1][len(rows[i+1])-1] = cut(r.name(c.Name), room)
	}
	p.table(rows, "rrrrrrl")
	p.b.WriteString("\n")
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
