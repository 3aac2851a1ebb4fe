package page

import (
	"fmt"
	"html/template"
	"math"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// htmlTrace is the content of a profiler's files on a page.
type htmlTrace struct {
	Size   string
	Causes []causeRow
	Lanes  *htmlLanes
	Sheets []htmlSheet
	NoRoof string
	Places []place
}

// causeRow is a cause of idle time with a bar.
type causeRow struct{ Name, Time, Share, Class, Width string }

// place is a finding with its place and the settings to change, or why that gains too little.
type place struct{ Name, Worth, Text, Where, Set, Denied string }

// htmlLanes are the two rows of the worst step.
type htmlLanes struct {
	What         string
	Device, Host []band
	Ticks        []string
	Legend       []report.Figure // Name: class, Value: word
}

// htmlTraceOf formats a trace for the page.
func htmlTraceOf(r report.TraceReport, picture string) *htmlTrace {
	t := &htmlTrace{Size: report.DescribeFiles(r.Source)}
	steps := 1.0
	if n := len(r.Verdict.Costs.Window.Steps); r.Verdict.HasSteps && n > 0 {
		steps = float64(n)
	}
	for _, c := range r.Verdict.Causes {
		t.Causes = append(t.Causes, causeRow{
			c.Cause, quantity.AboutSeconds(c.Seconds / steps), quantity.Percent(c.Share),
			causeClass(c.Cause), px(across * min(1, c.Share)),
		})
	}
	for _, f := range r.Verdict.Findings {
		p := place{Name: f.Name, Text: f.Text, Where: report.DescribePlace(f)}
		p.Set, p.Denied = report.AdviceOn(f, r.Plan)
		if f.Share > 0 {
			p.Worth = quantity.Percent(f.Share) + " of the window"
		}
		t.Places = append(t.Places, p)
	}
	t.Lanes = htmlLanesOf(r)
	if r.Roofline != nil {
		t.NoRoof = r.Roofline.Why
	}
	t.sheets(r, picture)
	return t
}

// causeClass returns the colour of a cause.
func causeClass(cause string) string {
	switch cause {
	case idle.DataLoader.String():
		return "input"
	case idle.Communication.String():
		return "exchange"
	case idle.CopyIssue.String():
		return "copy"
	case idle.Python.String(), idle.HostCode.String():
		return "python"
	case idle.CPUOp.String():
		return "cpu"
	case idle.Launch.String(), idle.GC.String(), idle.Allocator.String():
		return "launch"
	case idle.Unlinked.String(), idle.Unrecorded.String():
		return "parked"
	}
	return "idle"
}

var onClasses = [...]string{
	lanes.Idle: "nothing", lanes.Kernel: "kernel", lanes.Copy: "copy",
	lanes.Communication: "exchange",
}

// htmlLanesOf draws the step with most idle time.
func htmlLanesOf(r report.TraceReport) *htmlLanes {
	d := r.JudgedDevice()
	if d == nil {
		return nil
	}
	l := lanes.Of(r.Run, r.Gaps, d, columns)
	if l.Device == nil {
		return nil
	}
	h := &htmlLanes{What: "The whole window"}
	if l.Step >= 0 {
		h.What = fmt.Sprintf("The step with most idle time, number %d", l.Step)
	}
	h.What += fmt.Sprintf(": %s, from %s on", report.FormatSpan(l.To-l.From), report.FormatSpan(l.From))
	for i := range int64(5) {
		h.Ticks = append(h.Ticks, report.FormatSpan((l.To-l.From)*i/4))
	}
	named := map[string]bool{}
	legend := func(class, word string) {
		if !named[word] {
			named[word] = true
			h.Legend = append(h.Legend, report.Figure{Name: class, Value: word})
		}
	}
	h.Device = bandsOf(len(l.Device), func(i int) string {
		legend(onClasses[l.Device[i]], r.WordFor(l.Device[i]))
		return onClasses[l.Device[i]]
	})
	h.Host = bandsOf(len(l.Host), func(i int) string {
		cause := l.Host[i].String()
		legend(causeClass(cause), "host: "+cause)
		return causeClass(cause)
	})
	return h
}

// shownRows is the number of rows of a long table on a page; JSON has all.
const shownRows = 15

// htmlSheet is a table on the page, with the drawing above it.
type htmlSheet struct {
	Title, Says string
	Picture     template.HTML
	Curve, Top  string // a path over the window, and the value at its top
	Head        []htmlCell
	Rows        [][]htmlCell
	Lines       []string
	Folded      bool // hidden until opened
}

// htmlCell is a cell of a table; numbers are aligned right.
type htmlCell struct {
	Text  string
	Right bool
}

// htmlSheetOf formats a table for the page, with the column that names the rows first.
func htmlSheetOf(s report.Sheet) htmlSheet {
	h := htmlSheet{Title: report.Capitalise(s.Title), Says: s.Says, Lines: s.Lines}
	last, names := len(s.Align)-1, s.NamesRows()
	for n, row := range s.Rows {
		var cells []htmlCell
		for i, text := range row {
			cells = append(cells, htmlCell{report.ShortenPlace(text, 120), s.Align[i] == 'r' && (i > 0 || names)})
		}
		if names {
			cells = append(cells[last:], cells[:last]...)
		}
		if n == 0 {
			h.Head = cells
		} else {
			h.Rows = append(h.Rows, cells)
		}
	}
	return h
}

// addSheet adds a table to the page if it has rows.
func (t *htmlTrace) addSheet(s report.Sheet, change func(h *htmlSheet)) {
	if len(s.Rows) < 2 {
		return
	}
	h := htmlSheetOf(s)
	if change != nil {
		change(&h)
	}
	t.Sheets = append(t.Sheets, h)
}

// sheets adds the tables of a trace in the order of its text.
func (t *htmlTrace) sheets(r report.TraceReport, picture string) {
	t.addSheet(report.ListServing(r, shownRows), nil)
	t.addSheet(report.ListPath(r), nil)
	t.addSheet(report.ListOperators(r.Operators, shownRows), nil)
	t.addSheet(report.ListKernels(r, shownRows), nil)
	for _, by := range []operators.Grouping{operators.ByOperator, operators.ByRange} {
		within := r
		within.Within = by
		t.addSheet(report.ListKernelGroups(within, shownRows), func(h *htmlSheet) { h.Folded = true })
	}
	t.addSheet(report.ListExchanges(r), nil)
	t.addSheet(report.ListRoof(r.Roofline, shownRows), func(h *htmlSheet) {
		if c := r.RooflineCeilings(); c != nil {
			h.Picture, h.Lines = template.HTML(picture), c.Sources
		}
	})
	t.addSheet(report.ListMemory(r), func(h *htmlSheet) { h.drawMemory(r) })
	if r.Ranks != nil {
		t.addSheet(report.ListRanks(r.Ranks), nil)
	}
}

// drawMemory draws the use of memory over the window.
func (h *htmlSheet) drawMemory(r report.TraceReport) {
	u, _ := report.FindMemory(r)
	var values []float64
	for _, bytes := range u.Curve {
		if bytes < 0 {
			values = append(values, math.NaN())
		} else {
			values = append(values, float64(bytes))
		}
	}
	h.Curve, h.Top = curvePath(values, float64(u.Peak), trackHeight, true), quantity.AboutBytes(float64(u.Peak))
}
