package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/quantity"
)

// DescribeCounting says which ranks the table covers, and how it counts.
func DescribeCounting(t *operators.Table) string {
	text := ""
	if t.Ranks > 1 {
		text = fmt.Sprintf(", %d ranks together", t.Ranks)
	}
	if t.Torch {
		text += ", as key_averages() counts"
	}
	return text
}

// ListOperators returns the table for the page, without shapes.
func ListOperators(t *operators.Table, most int) Sheet {
	if t == nil || len(t.Rows) == 0 {
		return Sheet{}
	}
	few := *t
	few.Rows, few.Shapes = takeFirst(t.Rows, most), false
	rows, align := ListOperatorRows(&few, 0)
	return Sheet{
		Title: "operators", Rows: rows, Align: align,
		Says: fmt.Sprintf("Of the whole recording%[4]s, most %[3]s first (%[1]d of %[2]d).", len(few.Rows), t.Of,
			DescribeOrder(t), DescribeCounting(t)),
	}
}

// ListOperatorRows returns the rows of the table; room is the width available for a line of
// shapes.
func ListOperatorRows(t *operators.Table, room int) ([][]string, string) {
	head := []string{"operator", "calls", "CPU total", "CPU self"}
	align := "lrrr"
	if t.Device > 0 {
		head, align = append(head, "GPU total", "GPU self"), align+"rr"
	}
	head, align = append(head, "share"), align+"r"
	sourced := hasSource(t)
	if sourced {
		head, align = append(head, "from"), align+"l"
	}
	rows := [][]string{head}
	for _, r := range t.Rows {
		row := []string{r.Name, fmt.Sprint(r.Calls), FormatSpan(r.CPU), FormatSpan(r.CPUSelf)}
		if t.Device > 0 {
			row = append(row, FormatSpan(r.Device), FormatSpan(r.DeviceSelf))
		}
		row = append(row, quantity.Percent(t.Share(r)))
		if sourced {
			row = append(row, ShortenPlace(r.Source, 32))
		}
		rows = append(rows, row)
		if t.Shapes && r.Shapes != "" {
			rows = append(rows, append([]string{"  " + Shorten(r.Shapes, max(20, room))},
				make([]string, len(row)-1)...))
		}
	}
	return rows, align
}

// Width of an operator's name: at least enough to recognise it, at most so much that the
// figures stay close to it.
const (
	LeastName = 22
	MostName  = 48
)

// DescribeOrder returns the column by which a table of operators is sorted.
func DescribeOrder(t *operators.Table) string {
	switch {
	case t.By == operators.ByGPU:
		return "GPU total"
	case t.By == operators.ByCPU:
		return "CPU total"
	case t.Device > 0:
		return "GPU self"
	}
	return "CPU self"
}

// hasSource reports whether a row of the table has a source line.
func hasSource(t *operators.Table) bool {
	for _, r := range t.Rows {
		if r.Source != "" {
			return true
		}
	}
	return false
}

// ListRoof returns the table that compares matrix work with the device; it has no rows if there
// was none.
func ListRoof(r *operators.Roofline, most int) Sheet {
	s := Sheet{Title: "roofline"}
	if r == nil || r.Why != "" {
		return s
	}
	device := "its device is not in the table of hardware, so no peak is known"
	if r.GPU.Name != "" {
		device = "against " + r.GPU.Title
	}
	s.About = " of matrix work, " + quantity.Percent(r.Covered) + " of kernel time, " + device
	s.Says = "Matrix work, which is " + quantity.Percent(r.Covered) + " of kernel time: " + device + "."
	s.Rows, s.Align = [][]string{{
		"operator", "in", "calls", "GPU time", "attained", "of peak", "FLOP/B", "ridge",
		"bound by",
	}}, "llrrrrrrl"
	for _, pt := range takeFirst(r.Points, most) {
		s.Rows = append(s.Rows, []string{
			Shorten(pt.Name, 36), OrUnknown(string(pt.Precision)), fmt.Sprint(pt.Calls),
			quantity.AboutSeconds(pt.Seconds), quantity.AboutFLOPs(pt.Attained),
			quantity.Percent(pt.Share), quantity.About(pt.Intensity), quantity.About(pt.Ridge), NameBound(pt),
		})
	}
	return s
}

// NameBound returns what limits a kernel: memory or compute.
func NameBound(p operators.Point) string {
	switch {
	case math.IsNaN(p.Intensity) || math.IsNaN(p.Ridge):
		return "unknown"
	case p.MemoryBound():
		return "memory"
	}
	return "compute"
}
