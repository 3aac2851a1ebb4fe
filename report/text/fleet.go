package text

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// WriteFleet prints the cost of a fleet over years in eight lines and, with --all, the sources.
func WriteFleet(w io.Writer, f question.Fleet, style Style) error {
	p := newPage(style, &f)
	q := f.Question
	title := fmt.Sprintf("%s x %s for %s year%s, computing %s of the time", quantity.Count(q.GPUs), q.GPU.Title,
		quantity.About(q.Years), quantity.Ending(q.Years, "", "s"), quantity.Percent(q.Computes))
	fmt.Fprintf(&p.b, "%s\n\n", p.makeBold(report.Shorten(title, 300)))
	for _, line := range report.DescribeFleet(f) {
		p.printWrapped(fmt.Sprintf("  %-12s ", line[0]), "               ", line[1])
	}
	p.b.WriteString("\n")
	if style.All {
		p.writeList("sources", f.Question.Sources())
	}
	return p.to(w)
}
