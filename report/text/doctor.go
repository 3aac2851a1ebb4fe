package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker/report"
)

// WriteChecks writes a line for each check, and a line with help for each missing item.
func WriteChecks(w io.Writer, checks []report.Check, style Style) error {
	p := newPage(style, &checks)
	missing, needed, width := 0, 0, 0
	for _, c := range checks {
		width = max(width, cellWidth(c.What))
	}
	for _, c := range checks {
		word := p.paint("32", "seen   ")
		switch {
		case !c.Seen && c.Needed:
			word, missing, needed = p.paint("31", "MISSING"), missing+1, needed+1
		case !c.Seen:
			word, missing = p.paint("33", "missing"), missing+1
		}
		fmt.Fprintf(&p.b, "%s  %s%s  %s\n", word, c.What, strings.Repeat(" ", width-cellWidth(c.What)),
			report.Shorten(c.Text, 400))
		if c.Help != "" {
			fmt.Fprintf(&p.b, "%s  -> %s\n", strings.Repeat(" ", len("missing  ")+width), c.Help)
		}
	}
	switch {
	case missing == 0:
		p.b.WriteString("\nEverything that verdicts use is seen.\n")
	case needed == 0:
		p.b.WriteString("\nWhat verdicts need is seen, and something else replaces what is missing.\n")
	default:
		p.b.WriteString("\nWithout what is MISSING some verdicts cannot be given, and they say so.\n")
	}
	return p.to(w)
}
