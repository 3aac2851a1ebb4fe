package wire

import (
	"io"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/tutorial"
)

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

// WriteLessons writes the tutorial as one object.
func WriteLessons(w io.Writer, lessons []tutorial.Lesson) error {
	all := []jsonLesson{}
	for _, lesson := range lessons {
		o := jsonLesson{Title: lesson.Title, Given: lesson.Given}
		for _, l := range lesson.Lines {
			o.Lines = append(o.Lines, jsonLessonLine{
				l.What, textOrNull(l.Published), l.Computed, stat.Known(l.Value),
				l.Unit, l.Differs, l.Ours, l.Why,
			})
		}
		all = append(all, o)
	}
	return WriteObject(w, tutorialObject{schema, all})
}

// WriteLessonsCSV writes a row per line of the tutorial.
func WriteLessonsCSV(w io.Writer, lessons []tutorial.Lesson) error {
	rows := [][]any{{"lesson", "what", "published", "same_formula", "value", "unit", "differs", "ours", "why"}}
	for _, lesson := range lessons {
		for _, l := range lesson.Lines {
			rows = append(rows, []any{
				lesson.Title, l.What, l.Published, l.Computed, l.Value, l.Unit, l.Differs, l.Ours, l.Why,
			})
		}
	}
	return WriteCSV(w, rows)
}
