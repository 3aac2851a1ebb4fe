package report

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
)

// TutorialText writes the published tutorial beside our estimates: a table per
// lesson, then, once each, why they differ.
func TutorialText(w io.Writer, lessons []predict.Lesson, style Style) error {
	p := newPage(style, &lessons)
	p.wrapped("", "", "The published tutorial on the data wall (mlsysim), line by line: what it prints or says (- where it has its reader work it out), what its own formulas give here, and our estimate of the same thing, as stoker predict gives it for fp16 in any software. A ! marks where the tutorial contradicts itself, or answers what it cannot know.")
	p.b.WriteString("\n")
	for n, lesson := range lessons {
		fmt.Fprintf(&p.b, "%s\n", p.bold(fmt.Sprintf("%d. %s", n+1, lesson.Title)))
		p.wrapped("   ", "   ", lesson.Given)
		p.b.WriteString("\n")
		p.lesson(lesson)
	}
	return p.to(w)
}

// lesson is the table of one lesson; the reasons are numbered, since many lines
// share one.
func (p *page) lesson(lesson predict.Lesson) {
	reasons := map[string]int{}
	var order []string
	rows := [][]string{{"", "", "published", "same formula", "ours"}}
	for _, l := range lesson.Lines {
		mark := ""
		if l.Differs {
			mark = p.colour("31", "!")
		}
		if reasons[l.Why] == 0 {
			order = append(order, l.Why)
			reasons[l.Why] = len(order)
		}
		published := l.Published
		if published == "" {
			published = "-"
		}
		rows = append(rows, []string{mark, l.What, published, l.Computed, fmt.Sprintf("(%d) %s", reasons[l.Why], l.Ours)})
	}
	p.wrappedTable(rows)
	p.b.WriteString("\n")
	for n, why := range order {
		p.wrapped(fmt.Sprintf("  (%d) ", n+1), "      ", why)
	}
	p.b.WriteString("\n")
}

type jsonLesson struct {
	Title string           `json:"title"`
	Given string           `json:"given"`
	Lines []jsonLessonLine `json:"lines"`
}

type jsonLessonLine struct {
	What      string   `json:"what"`
	Published *string  `json:"published"` // null: the tutorial prints no such figure
	Computed  string   `json:"computed"`
	Value     *float64 `json:"value"`
	Unit      string   `json:"unit"`
	Differs   bool     `json:"differs"`
	Ours      string   `json:"ours"`
	Why       string   `json:"why"`
}

// tutorialObject is the tutorial as one object.
type tutorialObject struct {
	Schema  int          `json:"schema"`
	Lessons []jsonLesson `json:"lessons"`
}

// TutorialJSON writes the tutorial as one object.
func TutorialJSON(w io.Writer, lessons []predict.Lesson) error {
	all := []jsonLesson{}
	for _, lesson := range lessons {
		o := jsonLesson{Title: lesson.Title, Given: lesson.Given}
		for _, l := range lesson.Lines {
			o.Lines = append(o.Lines, jsonLessonLine{l.What, text(l.Published), l.Computed, stat.Known(l.Value), l.Unit, l.Differs, l.Ours, l.Why})
		}
		all = append(all, o)
	}
	return Object(w, tutorialObject{schema, all})
}

// TutorialCSV writes a row per line of the tutorial.
func TutorialCSV(w io.Writer, lessons []predict.Lesson) error {
	rows := [][]string{{"lesson", "what", "published", "same_formula", "value", "unit", "differs", "ours", "why"}}
	for _, lesson := range lessons {
		for _, l := range lesson.Lines {
			rows = append(rows, []string{lesson.Title, l.What, l.Published, l.Computed, plainNumber(l.Value), l.Unit, fmt.Sprint(l.Differs), l.Ours, l.Why})
		}
	}
	return CSV(w, rows)
}
