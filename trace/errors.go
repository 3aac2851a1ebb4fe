package trace

import "fmt"

// malformedError says that a file is damaged beyond use, or is no trace at all.
type malformedError struct {
	File    string
	Offset  int64  // byte of the unpacked JSON; -1 if it says nothing
	Problem string // what was found and what was expected
	Hint    string // what to do
}

func (e *malformedError) Error() string {
	at := ""
	if e.Offset >= 0 {
		at = fmt.Sprintf("byte %d: ", e.Offset)
	}
	return sentence(e.File, at+e.Problem, e.Hint)
}

// unsupportedError says that a file is of a format that Stoker knows by name and
// does not read.
type unsupportedError struct {
	File   string
	Format string // "an Nsight Systems report"
	Hint   string // what to do
}

func (e *unsupportedError) Error() string {
	return sentence(e.File, "this is "+e.Format+", which is not read", e.Hint)
}

// mixedError says that files do not belong to one run.
type mixedError struct {
	Files   []string // the two that contradict each other
	Problem string
	Hint    string
}

func (e *mixedError) Error() string { return sentence("traces", e.Problem, e.Hint) }

func sentence(file, problem, hint string) string {
	text := "read " + file + ": " + problem
	if hint != "" {
		text += " (" + hint + ")"
	}
	return text
}
