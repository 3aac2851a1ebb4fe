package text

import (
	"io"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/report"
)

// writeTable writes rows in columns, two spaces apart; align has an l or an r per column. The
// first row is a heading.
func (p *page) writeTable(rows [][]string, align string) {
	widths := columnWidths(rows, len(align))
	for n, row := range rows {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-cellWidth(cell))
			if align[i] == 'r' {
				line += "  " + space + cell
			} else {
				line += "  " + cell + space
			}
		}
		line = strings.TrimRight(line, " ")
		if n == 0 {
			line = p.paint("2", line)
		}
		p.b.WriteString(line + "\n")
	}
}

// columnWidths returns the width of each column.
func columnWidths(rows [][]string, columns int) []int {
	widths := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	return widths
}

// printList writes a table below its title; a last column of names is cut at the page's width.
func (p *page) printList(s report.Sheet) {
	if len(s.Rows) < 2 {
		return
	}
	p.printWrapped("", "  ", p.makeBold(s.Title)+s.About)
	last, room := len(s.Align)-1, p.width()-2
	for _, width := range columnWidths(s.Rows, len(s.Align))[:last] {
		room -= width + 2
	}
	if room < report.LeastName && s.Align[last] == 'l' && !s.NamesRows() {
		last--
	}
	var rows [][]string
	for _, row := range s.Rows {
		row = slices.Clone(row[:last+1])
		// including the mark that it was cut
		row[last] = report.ShortenPlace(row[last], max(report.LeastName, room)-1)
		rows = append(rows, row)
	}
	p.writeTable(rows, s.Align[:last+1])
}

// writeSheet writes a table with its texts.
func (p *page) writeSheet(s report.Sheet) {
	if len(s.Rows) < 2 {
		return
	}
	p.printList(s)
	for _, line := range s.Lines {
		p.printWrapped("  - ", "    ", line)
	}
	p.b.WriteString("\n")
}

// Columns of prose: the last gets the remaining width, but at least leastLast; each of the
// others gets at most mostOther.
const (
	leastLast = 24
	mostOther = 30
)

// wrappedTable writes rows whose wide cells are broken into several lines; the last column is
// prose.
func (p *page) wrappedTable(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	last := len(rows[0]) - 1
	room := make([]int, last+1)
	room[last] = p.width() - 2
	for i, width := range columnWidths(rows, last+1)[:last] {
		room[i] = min(width, mostOther)
		room[last] -= room[i] + 2
	}
	room[last] = max(leastLast, room[last])
	var all [][]string
	for _, row := range rows {
		all = append(all, brokenRow(row, room)...)
	}
	p.writeTable(all, strings.Repeat("l", last+1))
}

// brokenRow breaks a row into lines.
func brokenRow(row []string, room []int) (all [][]string) {
	for i, cell := range row {
		for n, part := range BreakLines(cell, room[i]) {
			if n == len(all) {
				all = append(all, make([]string, len(row)))
			}
			all[n][i] = part
		}
	}
	return all
}

// BreakLines breaks text into lines of at most width cells; a longer word stays whole.
func BreakLines(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		at := len(lines) - 1
		switch {
		case lines[at] == "":
			lines[at] = word
		case cellWidth(lines[at])+1+cellWidth(word) <= width:
			lines[at] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// WriteTable writes rows, the first as a heading. The first column names the rows. The last
// column holds their sources, which are printed below the table, once for all rows that share
// one.
func WriteTable(w io.Writer, rows [][]string, style Style) error {
	p := newPage(style, &rows) // they may come from a user's file
	last := len(rows[0]) - 1
	var shown [][]string
	var order []string
	named := map[string][]string{}
	for n, row := range rows {
		shown = append(shown, row[:last])
		if n == 0 {
			continue
		}
		if named[row[last]] == nil {
			order = append(order, row[last])
		}
		if names := named[row[last]]; len(names) == 0 || names[len(names)-1] != row[0] {
			named[row[last]] = append(names, row[0])
		}
	}
	p.wrappedTable(shown)
	p.b.WriteString("\n")
	for _, source := range order {
		p.printWrapped("  "+p.makeBold(strings.Join(named[source], " "))+": ", "    ", source)
	}
	return p.to(w)
}
