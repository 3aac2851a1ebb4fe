package text

import (
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/report"
)

// ranks writes one table over all ranks, and who waits for whom.
func (p *page) ranks(t *ranks.Table) {
	if t == nil {
		return
	}
	s := report.ListRanks(t)
	s.Rows, s.Align = p.fitted(s.Rows, s.Align, "copy", "made wait", "last", "kernel", "comm.", "mostly idle for")
	p.writeSheet(s)
}

// rankLines is who waits for whom, without the table.
func (p *page) rankLines(t *ranks.Table) section {
	s := section{title: "ranks"}
	if t == nil || p.style.All {
		return s
	}
	s.list(important, 2, report.ListRanks(t).Lines)
	return s
}
