package question

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Question is a job as a person describes it, and the question about it.
type Question struct {
	Texts    map[string]string // by flag; a flag that is not there was not given
	Switches map[string]bool
	Given    []string       // the flags that were given, in their order
	Table    hardware.Table // with the person's own rows
	Drawn    bool           // the answer is to be a picture, which takes a sweep or a roofline

	Open func(name string) (*recording.Run, error) // opens a recording that a text names
	Say  func(format string, args ...any)          // says what was assumed
}

// Text is what was given for a flag, "" if it was not.
func (q *Question) Text(flag string) string { return q.Texts[flag] }

// On reports whether a switch was given.
func (q *Question) On(flag string) bool { return q.Switches[flag] }

// value is what was given for a flag in its unit, more than 0, and how that is printed.
func (q *Question) value(flag string) (value float64, printed string, err error) {
	return units[flag].read(flag, q.Text(flag))
}

// fill gives a flag a text where the person gave none.
func (q *Question) fill(flag, text string) {
	if q.Text(flag) == "" {
		q.Texts[flag] = text
	}
}

// isRange reports whether a flag's text names several values. A comma always
// does: 128,256 is two values, and never 128256.
func isRange(text string) bool { return strings.Contains(text, "..") || strings.Contains(text, ",") }

// single is a flag's text if it is one value; "" if it is a range.
func (q *Question) single(flag string) string {
	text := q.Text(flag)
	if slices.Contains(predict.AxisNames, flag) && isRange(text) {
		return ""
	}
	return text
}

// ownNetwork are the flags that describe a network that is not in the table.
var ownNetwork = []string{"flops", "bytes", "params", "kept", "layers", "grouped", "family"}

// given reports whether any figure of a network of one's own is.
func (q *Question) hasOwnNetwork() bool {
	return slices.ContainsFunc(ownNetwork, func(flag string) bool { return q.Text(flag) != "" })
}

// describes reports whether a network is named or described.
func (q *Question) describes() bool { return q.Text("model") != "" || q.hasOwnNetwork() }
