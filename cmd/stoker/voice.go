package main

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

// Exit codes. exitCodes has the words that the help of each verb says about them.
const (
	exitFine    = 0
	exitError   = 1
	exitUsage   = 2
	exitStarved = 3
	exitMissed  = 4

	exitOurs       = 125 // observe failed, and there is no code of CMD's
	exitCannotRun  = 126
	exitNotFound   = 127
	exitSignalBase = 128
)

// exitCode ends a verb with a code and no further words.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a mistake in flags or arguments.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// asUsage makes an error one of flags or arguments.
func asUsage(err error) error { return usageError{err} }

// error prints an error, and the hint that it may have.
func (a *app) error(err error) {
	fmt.Fprintf(a.stderr, "stoker: error: %s\n", safe.Text(redact.Addresses(err.Error()), 2000))
	if line := hint.Find(err); line != "" {
		a.hint(line)
	}
}

func (a *app) hint(text string) { fmt.Fprintf(a.stderr, "stoker: hint: %s\n", safe.Text(text, 500)) }

func (a *app) say(format string, args ...any) {
	said := safe.Text(redact.Addresses(fmt.Sprintf(format, args...)), 1000)
	if width := columns(a.stderr); width > 0 {
		const under = "\n        " // below what follows "stoker: "
		said = strings.Join(text.BreakLines(said, width+1-len(under)), under)
	}
	fmt.Fprintf(a.stderr, "stoker: %s\n", said)
}

// columns is how wide text for a writer may be: as wide as its terminal, else what
// COLUMNS says; 0 where neither tells.
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

// textStyle is how text for a writer may look: colours on a terminal only, unless
// asked for; NO_COLOR and TERM=dumb turn them off, the flag beats both.
func (a *app) textStyle(w io.Writer) text.Style {
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

// pageStyle is style for a page about files, of which all is shown or what fits into 40 lines.
func (a *app) pageStyle(w io.Writer, all bool, files ...string) text.Style {
	s := a.textStyle(w)
	s.All = all
	for i, file := range files {
		if i > 0 {
			s.File += " "
		}
		s.File += report.QuoteForShell(file)
	}
	return s
}
