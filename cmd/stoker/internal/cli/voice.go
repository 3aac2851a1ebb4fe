package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
)

// The voice. Errors: "stoker: error: verb object: cause", lower-case, one
// sentence, then "stoker: hint:" lines that can be pasted. Everything that is
// not a result goes to stderr. Text from outside passes internal/safe.

// Exit codes. SetExitCodes sets what the help of a verb says about its own.
const (
	ExitFine    = 0
	ExitError   = 1
	ExitUsage   = 2
	ExitStarved = 3
	ExitMissed  = 4

	ExitOurs       = 125 // observe failed before CMD had an exit code
	ExitCannotRun  = 126
	ExitNotFound   = 127
	ExitSignalBase = 128
)

// ExitCode is an error that ends a verb with a code and prints nothing.
type ExitCode int

func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a mistake in flags or arguments.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// AsUsage marks an error as a mistake in flags or arguments.
func AsUsage(err error) error { return usageError{err} }

// PrintError prints an error, and its hint if it has one.
func (a *App) PrintError(err error) {
	fmt.Fprintf(a.Stderr, "stoker: error: %s\n", safe.Text(redact.Addresses(err.Error()), 2000))
	if line := hint.FindLine(err); line != "" {
		a.Hint(line)
	}
}

// Hint prints a line that can be pasted.
func (a *App) Hint(text string) { fmt.Fprintf(a.Stderr, "stoker: hint: %s\n", safe.Text(text, 500)) }

// Say prints a line on stderr, apart from the result on stdout.
func (a *App) Say(format string, args ...any) {
	said := safe.Text(redact.Addresses(fmt.Sprintf(format, args...)), 1000)
	if width := columns(a.Stderr); width > 0 {
		const under = "\n        " // indents to the text after "stoker: "
		said = strings.Join(text.BreakLines(said, width+1-len(under)), under)
	}
	fmt.Fprintf(a.Stderr, "stoker: %s\n", said)
}

// columns returns the width of text for a writer: that of its terminal, else the value of
// COLUMNS; 0 if both are unknown.
func columns(w io.Writer) int {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if file, isFile := w.(*os.File); isFile {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = n
		}
	}
	if width < 40 {
		return 0
	}
	return min(width, 120)
}

// TextStyle returns the style of text for a writer. By default only terminals get colours.
// NO_COLOR and TERM=dumb turn them off. The flag overrides all of these.
func (a *App) TextStyle(w io.Writer) text.Style {
	s := text.Style{Width: 100}
	file, isFile := w.(*os.File)
	onTerminal := isFile && term.IsTerminal(int(file.Fd()))
	if width := columns(w); width > 0 {
		s.Width = width
	}
	switch a.colour {
	case "always":
		s.Colour = true
	case "auto":
		s.Colour = onTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if os.Getenv("FORCE_COLOR") != "" && os.Getenv("NO_COLOR") == "" {
			s.Colour = true
		}
	}
	return s
}

// PageStyle returns the style of a report about files: all of it, or what fits into 40 lines.
func (a *App) PageStyle(w io.Writer, all bool, files ...string) text.Style {
	s := a.TextStyle(w)
	s.All = all
	for i, file := range files {
		if i > 0 {
			s.File += " "
		}
		s.File += report.QuoteForShell(file)
	}
	return s
}

// MostListed is how many files are listed in text. --json lists all.
const MostListed = 20

// PrintLine prints a line of a result.
func (a *App) PrintLine(format string, args ...any) {
	fmt.Fprintln(a.Stdout, safe.Text(fmt.Sprintf(format, args...), 0))
}
