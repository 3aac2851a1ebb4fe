package watch

import (
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
)

// Viewport says which part of a State is displayed, and how.
type Viewport struct {
	Width, Height int // cells and lines; a height of 0 is unlimited, without the line of keys
	Colour        bool
	ASCII         bool    // no block characters
	Span          float64 // displayed seconds; 0 for all
	Back          int     // columns from the cursor to the newest; 0 for now
	Help          bool
	Paused        bool
	Chosen        int // index of the displayed state
}

// drawing collects lines.
type drawing struct {
	Viewport
	ended bool // the run has ended
	lines []string
}

// addLine adds a line.
func (d *drawing) addLine(text string) { d.lines = append(d.lines, text) }

// addWrapped adds a text in as many lines as needed.
func (d *drawing) addWrapped(text string) {
	for text := range strings.SplitSeq(text, "\n") {
		for _, part := range wrapText(text, d.Width) {
			d.addLine(part)
		}
	}
}

// fitParts adds a line of the parts that fit. Only the first may be cut.
func (d *drawing) fitParts(parts []string) {
	line := parts[0]
	for _, part := range parts[1:] {
		if cellsOf(line)+3+cellsOf(part) <= d.Width {
			line += "   " + part
		}
	}
	d.addLine(line)
}

// paint colours a text.
func (d *drawing) paint(code, text string) string {
	if !d.Colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (d *drawing) makeBold(text string) string { return d.paint("1", text) }

func (d *drawing) makeFaint(text string) string { return d.paint("2", text) }

// Colours of the terminal's 16, which the user chose, except orange: yellow is often unreadable
// on white.
const (
	red    = "31"
	green  = "32"
	orange = "38;5;166"
)

// clip cuts a line that is too wide. Escape sequences have no width.
func clip(line string, width int) string {
	cells := 0
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			end := strings.IndexByte(line[i:], 'm')
			if end < 0 {
				return line[:i]
			}
			i += end + 1
			continue
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		if cells == width {
			cut := line[:i]
			if strings.Contains(cut, "\x1b") {
				cut += "\x1b[0m"
			}
			return cut
		}
		cells++
		i += size
	}
	return line
}

// cellsOf returns the width of a text. Escape sequences have no width.
func cellsOf(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] == 0x1b {
			i += max(0, strings.IndexByte(text[i:], 'm'))
		} else if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

// pad fills text with spaces to a width, or cuts it.
func pad(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n > width {
		return string([]rune(text)[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-n)
}

// wrapText breaks a text into lines of a width.
func wrapText(s string, width int) []string { return text.BreakLines(s, max(8, width)) }

// nameWidth is the width of the left column.
const nameWidth = 17

// valueWidth returns the width of the right column.
func (l Viewport) valueWidth() int {
	if l.Width < 100 {
		return 20
	}
	return 24
}

// columns returns the number of cells of a row over time.
func (l Viewport) columns() int { return max(8, l.Width-nameWidth-l.valueWidth()-2) }

// shownSpan returns the displayed time of a run.
func (l Viewport) shownSpan(run *recording.Run) (from, to float64) {
	to = run.End()
	if l.Span > 0 && l.Span < to {
		from = to - l.Span
	}
	return from, to
}

// inASCII converts a line for a terminal that supports only ASCII.
func inASCII(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case r == '…' || r == '·':
			return '.'
		case r == '◀':
			return '<'
		case r == '▶':
			return '>'
		case r == '▲':
			return '^'
		case r == '┄':
			return '-'
		case r == '▆':
			return '='
		}
		return '?'
	}, line)
}
