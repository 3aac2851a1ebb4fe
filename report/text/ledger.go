package text

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// ledger shows how the time of the run was spent, one line per row.
func (p *page) ledger(v diagnose.Verdict) section {
	s := section{title: fmt.Sprintf("time of the run: %s", quantity.AboutSeconds(v.Ledger.Wall))}
	if busyElse(v) {
		s.title += fmt.Sprintf(", the device busy %s of it without start and end", quantity.Percent(report.BusyBetween(v.Ledger)))
	}
	lines := report.LedgerLines(v.Ledger)
	at := important
	// it contains little information
	told := v.Has(diagnose.FindingSlowStart) || v.Has(diagnose.FindingSlowEnd)
	if v.Lead == nil && report.MostlySteps(v.Ledger) && !told {
		at = onlyAll
	}
	p.addLedger(&s, lines, at)
	return s
}

// recordingLedger shows how the time of a profiler's file was spent; without --all only if much of it
// is outside the judged steps.
func (p *page) recordingLedger(v diagnose.Verdict) section {
	s := section{title: fmt.Sprintf("time of the recording: %s", quantity.AboutSeconds(v.Ledger.Wall))}
	at := onlyAll
	if report.HasMuchElse(v.Ledger) {
		at = important
	}
	p.addLedger(&s, report.LedgerLines(v.Ledger), at)
	return s
}

func (p *page) addLedger(s *section, lines []report.LedgerLine, at rank) {
	var widest [5]int
	for _, l := range lines {
		for i, cell := range cellsOf(l) {
			widest[i] = max(widest[i], cellWidth(cell))
		}
	}
	for _, l := range lines {
		s.add(at, func(p *page) {
			cells, text := cellsOf(l), " "
			for i, cell := range cells {
				space := strings.Repeat(" ", widest[i]-cellWidth(cell))
				if i == 1 || i == 2 { // numbers are aligned right
					text += " " + space + cell
				} else {
					text += " " + cell + space
				}
			}
			if room := p.width() - cellWidth(text) - 2; cellWidth(l.Where) <= room {
				text += "  " + l.Where
			}
			p.b.WriteString(strings.TrimRight(text, " ") + "\n")
		})
	}
}

func cellsOf(l report.LedgerLine) [5]string {
	return [5]string{l.Name, l.Time, l.Share, l.Count, l.Idle}
}
