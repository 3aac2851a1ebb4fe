package text

import (
	"fmt"
	"io"
	"strconv"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// WriteRuns prints at most top jobs; 0 for all.
func WriteRuns(w io.Writer, r report.Runs, top int, style Style) error {
	p := newPage(style, &r)
	total := report.Month{}
	for _, m := range r.Months {
		total.GPUHours, total.Idle, total.Lost, total.Priced = total.GPUHours+m.GPUHours, total.Idle+m.Idle, total.Lost+
			m.Lost, total.Priced+m.Priced
	}
	fmt.Fprintf(&p.b, "%s\n\n", p.makeBold(fmt.Sprintf("%s in %s of %s: %s GPU hours, %s of them idle%s",
		quantity.Many(len(r.Jobs), "job"), quantity.Many(r.Recordings, "recording"), r.Folder,
		quantity.About(total.GPUHours), quantity.About(total.Idle), total.FormatLost(", %s lost"))))
	rows := [][]string{{"when (UTC)", "host", "command", "class", "stall", "samples/s", "lost", "best fix"}}
	shown := r.Jobs
	if top > 0 && len(shown) > top {
		shown = shown[:top]
	}
	for _, j := range shown {
		rows = append(rows, []string{
			j.Date(), report.Shorten(j.Host(), 24), report.Shorten(j.Name(), 32), j.Class,
			quantity.Percent(j.Stall), quantity.About(j.Rate), quantity.AboutDollars(j.Lost), j.Outlook(),
		})
	}
	if len(r.Jobs) > 0 {
		p.writeTable(rows, "llllrrrl")
	}
	if left := len(r.Jobs) - len(shown); left > 0 {
		fmt.Fprintf(&p.b, "  and %d more: --top 0 shows all\n", left)
	}
	p.b.WriteString("\n")
	p.months(r.Months)
	p.writeList("note", r.Notes)
	return p.to(w)
}

func (p *page) months(all []report.Month) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"month", "jobs", "GPU hours", "idle", "lost"}}
	for _, m := range all {
		rows = append(rows, []string{
			m.Name, strconv.Itoa(m.Jobs), quantity.About(m.GPUHours), quantity.About(m.Idle),
			m.FormatLost("%s"),
		})
	}
	p.writeTable(rows, "lrrrr")
	p.b.WriteString("\n")
}
