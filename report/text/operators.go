package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/report"
)

// WriteOperators writes only the table of operators.
func WriteOperators(w io.Writer, t *operators.Table, style Style) error {
	p := newPage(style, &t)
	p.operators(t)
	return p.to(w)
}

// operators writes the table in the columns of key_averages().table().
func (p *page) operators(t *operators.Table) {
	if t == nil || len(t.Rows) == 0 {
		return
	}
	p.printWrapped("", "  ", fmt.Sprintf("%s, %d of %d by %s, in the whole recording%s", p.makeBold("operators"), len(t.Rows),
		t.Of, report.DescribeOrder(t), report.DescribeCounting(t)))
	rows, align := report.ListOperatorRows(t, p.width()-6)
	rows, align = p.fitRows(rows, align, droppable(t)...)
	cutNames(rows, p.width())
	if t.Shapes {
		p.printShaped(rows, align)
	} else {
		p.writeTable(rows, align)
	}
	if t.Outside > 0 {
		p.printWrapped("  ", "  ", fmt.Sprintf("%s of %s device time was launched outside of any recorded operator.",
			report.FormatSpan(t.Outside), report.FormatSpan(t.Device)))
	}
	p.b.WriteString("\n")
}

// droppable lists columns that a narrow page leaves out: a total by which the table is not
// sorted, then the source of operators.
func droppable(t *operators.Table) []string {
	switch t.By {
	case operators.ByCPU:
		return []string{"GPU total", "CPU self", "from"}
	case operators.ByGPU:
		return []string{"CPU total", "CPU self", "from"}
	case operators.BySelf:
	}
	return []string{"CPU total", "GPU total", "from"}
}

// cutNames cuts operators' names so that the table is as wide as the page.
func cutNames(rows [][]string, width int) {
	room := min(report.MostName, report.LeastName+max(0, width-tableWidth(rows)-1))
	for _, row := range rows[1:] {
		if row[1] != "" {
			row[0] = report.ShortenPlace(row[0], room)
		}
	}
}

// fitRows leaves out columns, by heading and in the given order, until a table is no wider than
// the page. The first column counts as narrow, because its names are cut later.
func (p *page) fitRows(rows [][]string, align string, droppable ...string) ([][]string, string) {
	for _, heading := range droppable {
		at := slices.Index(rows[0], heading)
		if tableWidth(rows) <= p.width() {
			break
		}
		if at < 0 {
			continue
		}
		narrower := make([][]string, len(rows))
		for i, row := range rows {
			narrower[i] = append(append([]string{}, row[:at]...), row[at+1:]...)
		}
		rows, align = narrower, align[:at]+align[at+1:]
	}
	return rows, align
}

// tableWidth ignores lines of shapes, which are not in a column.
func tableWidth(rows [][]string) int {
	var plain [][]string
	for _, row := range rows {
		if row[1] != "" {
			plain = append(plain, row)
		}
	}
	sum := 0
	for i, w := range columnWidths(plain, len(rows[0])) {
		if i == 0 {
			w = min(w, report.LeastName+1) // including the mark that it was cut
		}
		sum += w + 2
	}
	return sum
}

// printShaped writes a table in which lines of shapes follow their operators and do not widen
// the first column.
func (p *page) printShaped(rows [][]string, align string) {
	var plain [][]string
	for _, row := range rows {
		if row[1] != "" {
			plain = append(plain, row)
		}
	}
	inner := &page{style: p.style}
	inner.writeTable(plain, align)
	lines := strings.Split(inner.b.String(), "\n")
	for _, row := range rows {
		if row[1] == "" {
			p.b.WriteString("  " + p.paint("2", row[0]) + "\n")
			continue
		}
		p.b.WriteString(lines[0] + "\n")
		lines = lines[1:]
	}
}

// workRoofline compares the run's matrix work with its device.
func (p *page) workRoofline(r *operators.Roofline) {
	if r == nil {
		return
	}
	s := report.ListRoof(r, mostPoints)
	if r.Why != "" {
		fmt.Fprintf(&p.b, "%s\n", p.makeBold(s.Title))
		p.printWrapped("  ", "  ", "unknown: "+r.Why+".")
		p.b.WriteString("\n")
		return
	}
	p.printWrapped("", "  ", p.makeBold(s.Title)+s.About)
	rows, align := p.fitRows(s.Rows, s.Align, "ridge", "calls", "GPU time", "FLOP/B", "in")
	cutNames(rows, p.width())
	p.writeTable(rows, align)
	p.b.WriteString("\n")
}

// mostPoints is the number of operators in the roofline as text; JSON has all.
const mostPoints = 8
