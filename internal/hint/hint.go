// Package hint gives an error a line that the user can paste, which the command line prints
// below it.
package hint

import "errors"

// hinted is an error with its line.
type hinted struct {
	error
	line string
}

func (e hinted) Unwrap() error { return e.error }

// Add gives an error a line to paste.
func Add(err error, line string) error { return hinted{err, line} }

// Find returns the line of an error, "" if it has none.
func Find(err error) string {
	var h hinted
	errors.As(err, &h)
	return h.line
}
