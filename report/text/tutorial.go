package text

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/predict/tutorial"
)

// WriteLessons prints the published tutorial together with Stoker's estimates: a table per
// lesson, followed by the reasons for differences.
func WriteLessons(w io.Writer, lessons []tutorial.Lesson, style Style) error {
	p := newPage(style, &lessons)
	p.printWrapped("", "", "The published tutorial on the data wall (mlsysim), line by line: what it prints or says (- if "+
		"it has its reader work it out), what its own formulas give here, and our estimate of the same thing, as "+
		"stoker predict gives it for fp16 in any software. A ! marks a line that contradicts the tutorial itself, or "+
		"answers what it cannot know. "+tutorial.Version)
	p.b.WriteString("\n")
	for n, lesson := range lessons {
		fmt.Fprintf(&p.b, "%s\n", p.makeBold(fmt.Sprintf("%d. %s", n+1, lesson.Title)))
		p.printWrapped("   ", "   ", lesson.Given)
		p.b.WriteString("\n")
		p.writeLesson(lesson)
	}
	return p.to(w)
}

// writeLesson prints the table of one lesson. Reasons are numbered, because many lines share
// one.
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
		p.printWrapped(fmt.Sprintf("  (%d) ", n+1), "      ", why)
	}
	p.b.WriteString("\n")
}
