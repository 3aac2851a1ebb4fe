package text

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/predict/tutorial"
)

// WriteLessons writes the published tutorial beside our estimates: a table per
// lesson, then, once each, why they differ.
func WriteLessons(w io.Writer, lessons []tutorial.Lesson, style Style) error {
	p := newPage(style, &lessons)
	p.wrapped("", "", "The published tutorial on the data wall (mlsysim), line by line: what it prints or says (- if "+
		"it has its reader work it out), what its own formulas give here, and our estimate of the same thing, as "+
		"stoker predict gives it for fp16 in any software. A ! marks a line that contradicts the tutorial itself, or "+
		"answers what it cannot know. "+tutorial.Version)
	p.b.WriteString("\n")
	for n, lesson := range lessons {
		fmt.Fprintf(&p.b, "%s\n", p.bold(fmt.Sprintf("%d. %s", n+1, lesson.Title)))
		p.wrapped("   ", "   ", lesson.Given)
		p.b.WriteString("\n")
		p.writeLesson(lesson)
	}
	return p.to(w)
}

// writeLesson is the table of one lesson; the reasons are numbered, since many lines
// share one.
func (p *page) writeLesson(lesson tutorial.Lesson) {
	reasons := map[string]int{}
	var order []string
	rows := [][]string{{"", "", "published", "same formula", "ours"}}
	for _, l := range lesson.Lines {
		mark := ""
		if l.Differs {
			mark = p.paint("31", "!")
		}
		if reasons[l.Why] == 0 {
			order = append(order, l.Why)
			reasons[l.Why] = len(order)
		}
		published := l.Published
		if published == "" {
			published = "-"
		}
		rows = append(rows, []string{mark, l.What, published, l.Computed, fmt.Sprintf("(%d) %s", reasons[l.Why],
			l.Ours)})
	}
	p.wrappedTable(rows)
	p.b.WriteString("\n")
	for n, why := range order {
		p.wrapped(fmt.Sprintf("  (%d) ", n+1), "      ", why)
	}
	p.b.WriteString("\n")
}
