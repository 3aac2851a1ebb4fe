package text

import (
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/report"
)

// ranks prints one table over all ranks, and the waiting between ranks.
func (p *page) ranks(t *ranks.Table) {
	if t == nil {
		return
	}
	s := report.ListRanks(t)
	s.Rows, s.Align = p.fitRows(s.Rows, s.Align, "copy", "made wait", "last", "kernel", "comm.", "mostly idle for")
	p.writeSheet(s)
}

// rankLines prints the waiting between ranks, without the table.
func (p *page) rankLines(t *ranks.Table) section {
	s := section{title: "ranks"}
	if t == nil || p.style.All {
		return s
	}
	s.list(important, 2, report.ListRanks(t).Lines)
	return s
}
