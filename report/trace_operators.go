package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/operators"
)

// OperatorsText writes the table of operators alone.
func OperatorsText(w io.Writer, t *operators.Table, style Style) error {
	p := newPage(style, &t)
	p.operators(t)
	return p.to(w)
}

// operators writes the table in the columns of key_averages().table().
func (p *page) operators(t *operators.Table) {
	if t == nil || len(t.Rows) == 0 {
		return
	}
	p.wrapped("", "  ", fmt.Sprintf("%s, %d of %d by %s; the whole recording, as key_averages() counts", p.bold("operators"), len(t.Rows), t.Of, orderWord(t)))
	rows, align := operatorRows(t, p.width()-6)
	rows, align = p.fitted(rows, align, droppable(t)...)
	cutNames(rows, p.width())
	if t.Shapes {
		p.shaped(rows, align)
	} else {
		p.table(rows, align)
	}
	if t.Outside > 0 {
		p.wrapped("  ", "  ", fmt.Sprintf("%s of %s device time was launched outside of any recorded operator.", span(t.Outside), span(t.Device)))
	}
	p.b.WriteString("\n")
}

// operatorSheet is the table as the page has it, without shapes.
func operatorSheet(t *operators.Table, most int) sheet {
	if t == nil || len(t.Rows) == 0 {
		return sheet{}
	}
	few := *t
	few.Rows, few.Shapes = first(t.Rows, most), false
	rows, align := operatorRows(&few, 0)
	return sheet{
		Title: "operators", Rows: rows, Align: align,
		Says: fmt.Sprintf("Of the whole recording, as key_averages() counts; most %[3]s first (%[1]d of %[2]d).", len(few.Rows), t.Of, orderWord(t)),
	}
}

// operatorRows are the rows of the table; a line of shapes takes so much room.
func operatorRows(t *operators.Table, room int) ([][]string, string) {
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
		row := []string{r.Name, fmt.Sprint(r.Calls), span(r.CPU), span(r.CPUSelf)}
		if t.Device > 0 {
			row = append(row, span(r.Device), span(r.DeviceSelf))
		}
		row = append(row, stoker.Percent(t.Share(r)))
		if sourced {
			row = append(row, tail(r.Source, 32))
		}
		rows = append(rows, row)
		if t.Shapes && r.Shapes != "" {
			rows = append(rows, append([]string{"  " + cut(r.Shapes, max(20, room))}, make([]string, len(row)-1)...))
		}
	}
	return rows, align
}

// droppable are the columns that a narrow page does without: a total that the
// table is not sorted by, then where operators were called from.
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

// Room for an operator's name: at least so that one can tell it, at most so that
// the figures stay near.
const (
	leastName = 22
	mostName  = 48
)

// cutNames cuts operators' names so that the table is as wide as the page.
func cutNames(rows [][]string, width int) {
	room := min(mostName, leastName+max(0, width-tableWidth(rows)-1))
	for _, row := range rows[1:] {
		if row[1] != "" {
			row[0] = cut(row[0], room)
		}
	}
}

// fitted leaves out columns, by their headings and in that order, until a table is
// no wider than the page. First columns of names are cut to fit later, and count as
// short.
func (p *page) fitted(rows [][]string, align string, droppable ...string) ([][]string, string) {
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

// tableWidth leaves out lines of shapes, which stand in no column.
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
			w = min(w, leastName+1) // with the sign that it was cut
		}
		sum += w + 2
	}
	return sum
}

// shaped writes a table in which lines of shapes stand below their operators and
// do not widen its first column.
func (p *page) shaped(rows [][]string, align string) {
	var plain [][]string
	for _, row := range rows {
		if row[1] != "" {
			plain = append(plain, row)
		}
	}
	inner := &page{style: p.style}
	inner.table(plain, align)
	lines := strings.Split(inner.b.String(), "\n")
	for _, row := range rows {
		if row[1] == "" {
			p.b.WriteString("  " + p.colour("2", row[0]) + "\n")
			continue
		}
		p.b.WriteString(lines[0] + "\n")
		lines = lines[1:]
	}
}

func orderWord(t *operators.Table) string {
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

func hasSource(t *operators.Table) bool {
	for _, r := range t.Rows {
		if r.Source != "" {
			return true
		}
	}
	return false
}

// tail keeps the end of a path: the file's name and line are there.
func tail(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return s
}

// workRoofline writes the run's matrix work against its device.
func (p *page) workRoofline(r *operators.Roofline) {
	if r == nil {
		return
	}
	s := roofSheet(r, mostPoints)
	if r.Why != "" {
		fmt.Fprintf(&p.b, "%s\n", p.bold(s.Title))
		p.wrapped("  ", "  ", "unknown: "+r.Why+".")
		p.b.WriteString("\n")
		return
	}
	p.wrapped("", "  ", p.bold(s.Title)+s.About)
	rows, align := p.fitted(s.Rows, s.Align, "ridge", "calls", "GPU time", "FLOP/B", "in")
	cutNames(rows, p.width())
	p.table(rows, align)
	p.b.WriteString("\n")
}

// roofSheet is the table of matrix work against the device; without rows where there is
// none.
func roofSheet(r *operators.Roofline, most int) sheet {
	s := sheet{Title: "roofline"}
	if r == nil || r.Why != "" {
		return s
	}
	device := "its device is not in the table of hardware, so no peak is known"
	if r.GPU.Name != "" {
		device = "against " + r.GPU.Title
	}
	s.About = " of matrix work, " + stoker.Percent(r.Covered) + " of kernel time; " + device
	s.Says = "Matrix work, which is " + stoker.Percent(r.Covered) + " of kernel time: " + device + "."
	s.Rows, s.Align = [][]string{{"operator", "in", "calls", "GPU time", "attained", "of peak", "FLOP/B", "ridge", "bound by"}}, "llrrrrrrl"
	for _, pt := range first(r.Points, most) {
		s.Rows = append(s.Rows, []string{
			cut(pt.Name, 36), orUnknown(string(pt.Precision)), fmt.Sprint(pt.Calls), stoker.AboutSeconds(pt.Seconds), stoker.AboutFLOPs(pt.Attained),
			stoker.Percent(pt.Share), stoker.About(pt.Intensity), stoker.About(pt.Ridge), boundBy(pt),
		})
	}
	return s
}

// mostPoints is how many operators the text's roofline has; JSON has all.
const mostPoints = 8

func boundBy(p operators.Point) string {
	switch {
	case math.IsNaN(p.Intensity) || math.IsNaN(p.Ridge):
		return "unknown"
	case p.MemoryBound():
		return "memory"
	}
	return "compute"
}
