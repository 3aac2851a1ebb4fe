package question

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Question holds the flags of a question as they were typed.
type Question struct {
	Texts    map[string]string // by flag; a flag that is not there was not given
	Switches map[string]bool
	Given    []string       // the flags that were given, in their order
	Table    hardware.Table // with the rows of the user's file
	Drawn    bool           // -o asks for a picture, which only a sweep or a roofline has

	Open func(name string) (*recording.Run, error) // opens a recording by name
	Say  func(format string, args ...any)          // prints an assumption for the user
}

// Text returns a flag's text, "" if it was not given.
func (q *Question) Text(flag string) string { return q.Texts[flag] }

// On reports whether a switch is on.
func (q *Question) On(flag string) bool { return q.Switches[flag] }

// fill sets a flag that the user did not give.
func (q *Question) fill(flag, text string) {
	if q.Text(flag) == "" {
		q.Texts[flag] = text
	}
}

// isRange reports whether a flag's text has several values. A comma always separates two: 128,256 is never
// 128256.
func isRange(text string) bool { return strings.Contains(text, "..") || strings.Contains(text, ",") }

// single returns a flag's text if it is one value, and "" if it is a range.
func (q *Question) single(flag string) string {
	text := q.Text(flag)
	if slices.Contains(predict.AxisNames, flag) && isRange(text) {
		return ""
	}
	return text
}

// ownNetwork lists the flags that describe a network outside the table.
var ownNetwork = []string{"flops", "bytes", "params", "kept", "layers", "grouped", "family"}

// hasOwnNetwork reports whether a flag describes a network outside the table.
func (q *Question) hasOwnNetwork() bool {
	return slices.ContainsFunc(ownNetwork, func(flag string) bool { return q.Text(flag) != "" })
}

// describes reports whether the question names or describes a network.
func (q *Question) describes() bool { return q.Text("model") != "" || q.hasOwnNetwork() }
