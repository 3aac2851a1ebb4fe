package text

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// writeKernels writes the tables of kernels and of collectives.
func (p *page) writeKernels(r report.TraceReport, top int) {
	if r.Within.Grouped() {
		p.writeSheet(report.ListKernelGroups(r, top))
	} else {
		p.writeSheet(report.ListKernels(r, top))
	}
	p.writeSheet(report.ListExchanges(r))
}

// exchanging says for how much of the window collectives run, and how much of that is exposed;
// leads reports whether they run longer than kernels of computation.
func exchanging(r report.TraceReport, d *idle.Device) (text string, leads bool) {
	if d == nil {
		return "", false
	}
	e := r.Gaps.SumExchanges(d)
	if d.Share(e.Any) < exchangeShown {
		return "", false
	}
	exposed := quantity.Percent(float64(e.Exposed) / float64(max(1, e.Any)))
	if e.Exposed < e.Any {
		exposed += " of that is exposed, the rest is hidden behind computation"
	} else {
		exposed = "all of that is exposed"
	}
	return fmt.Sprintf("collectives run %s of the window, %s", quantity.Percent(d.Share(e.Any)), exposed),
		e.Any > d.Kernel
}

// exchangeShown is the share of the window from which collectives get a separate line. [J]
const exchangeShown = 0.05
