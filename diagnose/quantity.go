package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/quantity"
)

// Quantity is something that a rule asks: the question in the words of where its
// answer comes from, how much of a yes that is, and what was seen of it.
type Quantity struct {
	Question
	Evidence []Evidence
}

// CanBeAsked reports whether the run can be asked at all; the answer may still be unknown.
func (q Quantity) CanBeAsked() bool { return q.Text != "" }

// AskedAs is the quantity asked in a rule's own words.
func (q Quantity) AskedAs(text, note string) Quantity {
	if q.CanBeAsked() {
		q.Text, q.Note = text, note
	}
	return q
}

// WithEvidence adds a figure as evidence; an unknown one adds nothing.
func (q Quantity) WithEvidence(value float64, unit, signal, format string, args ...any) Quantity {
	q.Evidence = AddEvidence(q.Evidence, value, unit, signal, format, args...)
	return q
}

// AddEvidence adds a figure to a list; an unknown one adds nothing.
func AddEvidence(list []Evidence, value float64, unit, signal, format string, args ...any) []Evidence {
	if math.IsNaN(value) {
		return list
	}
	return append(list, Evidence{Text: fmt.Sprintf(format, args...), Signal: signal, Value: value, Unit: unit})
}

// AskShare is a question whose answer is a share, scored by a ramp. An unknown one scores half: it
// neither convinces nor rules out.
func AskShare(text string, value float64, ramp Ramp, note string) Quantity {
	return AskShareOr(UnknownScore, text, value, ramp, note)
}

// AskShareOr is AskShare with its own score for an unknown value.
func AskShareOr(unknown float64, text string, value float64, ramp Ramp, note string) Quantity {
	q := Question{Text: text, Answer: "unknown", Score: unknown, Note: note}
	if !math.IsNaN(value) {
		q.Score = ramp.Score(value)
		q.Answer = YesNo(q.Score) + ", " + quantity.Percent(value)
	}
	return Quantity{Question: q}
}

// AskFact is a question with a plain answer.
func AskFact(text string, yes bool, answer string) Quantity {
	score := 0.0
	if yes {
		score = 1
	}
	return Quantity{Question: Question{Text: text, Answer: YesNo(score) + ", " + answer, Score: score}}
}

// IsLikely reports whether the answer is taken for a yes.
func (q Quantity) IsLikely() bool { return q.Score >= LikelyScore }

// YesNo is a score in a word.
func YesNo(score float64) string {
	switch {
	case score >= YesScore:
		return "yes"
	case score <= NoScore:
		return "no"
	}
	return "partly"
}
