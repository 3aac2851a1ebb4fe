package text

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/report"
)

// WriteWorth prints what another machine would gain for a job.
func WriteWorth(w io.Writer, worth question.Worth, style Style) error {
	p := newPage(style, &worth)
	title := worth.Title
	if worth.GPU.Title != "" {
		title += " on " + worth.GPU.Title
	}
	fmt.Fprintf(&p.b, "%s\n\n", p.makeBold(report.Shorten(title, 300)))
	for _, line := range report.DescribeWorth(worth) {
		p.printWrapped(fmt.Sprintf("  %-12s ", line[0]), "               ", line[1])
	}
	if worth.Next != "" {
		p.printWrapped("  next         ", "               ", worth.Next)
	}
	p.b.WriteString("\n")
	if style.All {
		p.writeList("note", worth.Notes)
	}
	return p.to(w)
}
