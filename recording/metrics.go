package recording

import (
	"strconv"
	"strings"
)

// FromMetrics is how the subject of signals begins that a server's own metrics told.
const FromMetrics = "metrics/"

// SubjectWithin returns the subject of RequestsWithin: of a server's requests, and a time in
// seconds.
func SubjectWithin(subject string, most float64) string {
	return subject + ";" + strconv.FormatFloat(most, 'g', -1, 64)
}

// TimeWithin returns the time in a subject of RequestsWithin; false if it has none.
func TimeWithin(subject string) (most float64, ok bool) {
	_, text, found := strings.Cut(subject, ";")
	most, err := strconv.ParseFloat(text, 64)
	return most, found && err == nil && most > 0
}
