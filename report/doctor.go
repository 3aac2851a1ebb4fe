package report

import (
	"fmt"
	"io"
	"strings"
)

// Check is a thing that observing looks at, and whether it can be seen.
type Check struct {
	What   string `json:"what"`
	Seen   bool   `json:"seen"`
	Needed bool   `json:"needed"` // without it some verdicts cannot be given
	Text   string `json:"text"`
	Help   string `json:"help"` // "" where nothing helps
}

// Doctor writes a line for each check, and for what is missing the line that helps.
func Doctor(w io.Writer, checks []Check, style Style) error {
	p := newPage(style, &checks)
	missing, needed, width := 0, 0, 0
	for _, c := range checks {
		width = max(width, cellWidth(c.What))
	}
	for _, c := range checks {
		word := p.colour("32", "seen   ")
		switch {
		case !c.Seen && c.Needed:
			word, missing, needed = p.colour("31", "MISSING"), missing+1, needed+1
		case !c.Seen:
			word, missing = p.colour("33", "missing"), missing+1
		}
		fmt.Fprintf(&p.b, "%s  %s%s  %s\n", word, c.What, strings.Repeat(" ", width-cellWidth(c.What)), cut(c.Text, 400))
		if c.Help != "" {
			fmt.Fprintf(&p.b, "%s  -> %s\n", strings.Repeat(" ", len("missing  ")+width), c.Help)
		}
	}
	switch {
	case missing == 0:
		p.b.WriteString("\nEverything that verdicts use is seen.\n")
	case needed == 0:
		p.b.WriteString("\nWhat verdicts need is seen; something else replaces what is missing.\n")
	default:
		p.b.WriteString("\nWithout what is MISSING some verdicts cannot be given; they say so.\n")
	}
	return p.to(w)
}

// doctorObject is the checks as one object.
type doctorObject struct {
	Schema  int     `json:"schema"`
	Version string  `json:"version"`
	Checks  []Check `json:"checks"`
}

// DoctorJSON writes the checks as one object.
func DoctorJSON(w io.Writer, version string, checks []Check) error {
	return Object(w, doctorObject{schema, version, checks})
}
