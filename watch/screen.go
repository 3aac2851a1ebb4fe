// Package watch is the live screen: the state of a run over its last minutes, on one page of a
// terminal.
//
// Screen draws States as lines of text and does not depend on a terminal; Show keeps a terminal
// up to date with them.
package watch

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// State is the state of a run at some moment, with the conclusions from it.
type State struct {
	Name    string // of the recording or process
	Run     *recording.Run
	Verdict diagnose.Verdict // of this moment of the run, or of an earlier one
	Plan    advise.Plan
	// Attached says that the process was running before it was observed.
	Attached bool
	Machine  bool   // the whole machine, which is not judged, instead of a run
	Gone     bool   // it is no longer displayed
	Note     string // its source, or a problem with it

	parts []part // of its pipeline
	held  held
}

// Judged returns a state with the conclusions from a run. The displayed verdict changes with
// delay: see conclude.
func Judged(s State, run *recording.Run) State {
	s.Run, s.Note = run, ""
	v := judge.Judge(run)
	s.conclude(v, advise.Rank(run, v))
	if len(run.Warnings) > 0 {
		s.Note = run.Warnings[0]
	}
	s.parts = nil
	if s.Verdict.HasSteps {
		s.parts = partsOf(measure.From(run).Setup)
	}
	return s
}

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

// The smallest screen on which everything is drawn; a smaller one displays only the verdict.
const (
	leastWidth  = 60
	leastHeight = 16
)

// Screen draws states in at most Height lines of at most Width cells.
func Screen(states []State, look Viewport) []string {
	safe.Values(&states)
	d := &drawing{Viewport: look}
	s := State{Note: "looking …"}
	if len(states) > 0 {
		s = states[min(max(0, look.Chosen), len(states)-1)]
	}
	d.ended = s.Run != nil && s.Run.Facts.Exit != nil
	switch {
	case look.Help:
		d.help()
	case s.Run == nil:
		d.addLine(d.bold("stoker watch") + "  " + s.Name)
		d.peers(states)
		d.addLine("")
		d.broken(s.Note)
	case look.Width < leastWidth || look.Height > 0 && look.Height < leastHeight:
		d.small(s)
	default:
		d.drawState(s, states)
	}
	if look.Height > 0 && len(d.lines) > look.Height {
		d.lines = d.lines[:look.Height]
	}
	for i, line := range d.lines {
		if look.ASCII {
			line = inASCII(line)
		}
		d.lines[i] = clip(line, look.Width)
	}
	return d.lines
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
		case r == '▆':
			return '='
		}
		return '?'
	}, line)
}

// drawing collects lines.
type drawing struct {
	Viewport
	ended bool // the run has ended
	lines []string
}

// addLine adds a line.
func (d *drawing) addLine(text string) { d.lines = append(d.lines, text) }

// broken adds a text in as many lines as needed.
func (d *drawing) broken(text string) {
	for text := range strings.SplitSeq(text, "\n") {
		for _, part := range wrapText(text, d.Width) {
			d.addLine(part)
		}
	}
}

// paint colours a text.
func (d *drawing) paint(code, text string) string {
	if !d.Colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (d *drawing) bold(text string) string  { return d.paint("1", text) }
func (d *drawing) quiet(text string) string { return d.paint("2", text) }

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

// classColour returns green for a class in which the device is busy, red for one in which it
// starves.
func classColour(v diagnose.Verdict) string {
	switch {
	case v.Lead != nil:
		return orange
	case v.Class.Is(diagnose.GPUBound):
		return green
	case v.Class.Starves():
		return red
	}
	return orange
}

// title describes the class of a verdict in words.
func title(v diagnose.Verdict) string {
	if v.Lead != nil {
		return v.Lead.Title()
	}
	if title, _, known := rules.Describe(v); known {
		return title
	}
	return "the evidence does not decide"
}

// small draws only the essentials, for a small screen.
func (d *drawing) small(s State) {
	family, kind, _ := strings.Cut(string(s.Verdict.Headline()), "/")
	if text := s.beginning(); text != "" {
		family, kind = text, ""
	}
	d.addLine(d.paint("1;"+classColour(s.Verdict), family))
	if kind != "" {
		d.addLine(d.paint("1;"+classColour(s.Verdict), kind))
	}
	if s.Verdict.HasSteps {
		d.addLine("waits " + quantity.Percent(s.Verdict.Stall))
		d.addLine("step " + quantity.AboutSeconds(s.Verdict.Costs.Step))
	}
	d.addLine(d.quiet(fmt.Sprintf("%d x %d shows all", leastWidth, leastHeight)))
}

// headline draws the most important facts.
func (d *drawing) headline(s State, states []State) {
	parts := []string{d.bold("stoker watch"), s.Name, quantity.AboutSeconds(s.Run.End()) + " so far"}
	if exit := s.Run.Facts.Exit; exit != nil {
		parts[2] = fmt.Sprintf("%s, ended with exit code %d", quantity.AboutSeconds(s.Run.End()), exit.Code)
		if e := diagnose.EndingOf(s.Run); e != nil {
			parts[2] = "ended with " + e.String()
		}
	}
	if s.Run.Emulated() {
		parts = append(parts, "[emulated device]")
	}
	d.fitParts(parts)
	d.peers(states)
	d.addLine(d.sayClass(s))
	if v := s.Verdict; v.HasSteps {
		parts := []string{
			"waits for input " + quantity.Percent(v.Stall), "idle " + quantity.Percent(v.Idle),
			"step " + quantity.AboutSeconds(v.Costs.Step),
		}
		if rate := v.Costs.Rate(); rate > 0 {
			parts = append(parts, quantity.AboutSamples(rate))
		}
		if h := v.Cost.Hour.Dollars; h.Known() && h.Point > 0 {
			parts = append(parts, "idle costs "+quantity.AboutDollars(h.Point)+" an hour per GPU")
		}
		d.fitParts(parts)
		if text := report.SumUpLedger(v.Ledger); text != "" {
			d.fitParts([]string{"time so far: " + text})
		}
	}
	if s.Note != "" {
		d.addLine(d.paint(orange, s.Note))
	}
	d.addLine("")
}

// sayClass returns the class in words, if there is one to name.
func (d *drawing) sayClass(s State) string {
	switch {
	case s.Machine:
		return d.quiet("no recording is being written here: this is the whole machine")
	case s.beginning() != "":
		return d.quiet(s.beginning() + ": too early to judge")
	}
	return d.paint("1;"+classColour(s.Verdict), string(s.Verdict.Headline())) + "  " + title(s.Verdict)
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

// peers draws a line for each of several runs, around the chosen one if not all fit.
func (d *drawing) peers(states []State) {
	if len(states) < 2 {
		return
	}
	room := len(states)
	if d.Height > 0 {
		room = min(room, max(2, d.Height/6))
	}
	from := min(max(0, d.Chosen-room/2), len(states)-room)
	for i, s := range states[from : from+room] {
		mark := "  "
		if from+i == d.Chosen {
			mark = d.bold("▶ ")
		}
		text := []string{pad("looking …", 32)}
		switch {
		case s.Run == nil && s.Note != "":
			text = []string{s.Note}
		case s.Run != nil:
			text = []string{d.paint(classColour(s.Verdict), pad(string(s.Verdict.Headline()), 28))}
			if begins := s.beginning(); begins != "" {
				text = []string{pad(begins, 28)}
			}
		}
		if v := s.Verdict; v.HasSteps {
			text = append(text, "waits "+pad(quantity.Percent(v.Stall), 6), "step "+quantity.AboutSeconds(v.Costs.Step))
		}
		d.addLine(mark + pad(s.label(), max(18, d.Width-62)) + " " + strings.Join(text, "  "))
	}
}

// label returns a run's machine and ranks if known, else its name.
func (s State) label() string {
	if s.Run == nil || s.Run.Facts.Host == "" {
		return s.Name
	}
	least, most := math.MaxInt, -1
	for _, p := range s.Run.Facts.Processes {
		if p.Role == recording.RoleTrainer {
			least, most = min(least, p.Rank), max(most, p.Rank)
		}
	}
	switch {
	case most < 0:
		return s.Run.Facts.Host
	case least == most:
		return fmt.Sprintf("%s rank %d", s.Run.Facts.Host, most)
	}
	return fmt.Sprintf("%s ranks %d-%d", s.Run.Facts.Host, least, most)
}

// drawState draws the whole screen: first what must be displayed, then as many rows over time
// as fit.
func (d *drawing) drawState(s State, states []State) {
	d.headline(s, states)
	from, to := d.shownSpan(s.Run)
	v := d.view(s, from, to)
	fixes := d.fixes(s)
	if d.Height == 0 {
		v.keep(len(v.tracks))
		d.lines = append(d.lines, d.rows(v, 1)...)
		d.addLine(d.drawAxis(v))
		d.lines = append(append(append(d.lines, ""), d.pipeline(s, len(s.parts))...), fixes...)
		return
	}
	room := d.Height - len(d.lines) - 3 - len(fixes) // the axis, an empty line and the keys
	stages := min(len(s.parts), max(2, room-v.essential()-1))
	below := append(d.pipeline(s, stages), fixes...)
	room -= len(below) - len(fixes)
	v.keep(max(1, room))
	d.lines = append(d.lines, d.rows(v, v.lines(room))...)
	d.addLine(d.drawAxis(v))
	if left := d.Height - len(d.lines) - len(below) - 1; left > 1 {
		d.addLine("")
	}
	d.lines = append(d.lines, below...)
	for len(d.lines) < d.Height-1 {
		d.addLine("")
	}
	d.lines = append(d.lines[:min(len(d.lines), d.Height-1)], d.foot(len(states)))
}

// drawAxis returns the line with the times of the columns and the meaning of the values at the
// right.
func (d *drawing) drawAxis(v *view) string {
	columns := d.columns()
	left, right := quantity.AboutSeconds(v.from), "now"
	if d.ended {
		right = "the end"
	} else if v.from > 0 {
		left = "-" + quantity.AboutSeconds(v.to-v.from)
	}
	line := []rune(left + strings.Repeat(" ", max(1, columns-cellsOf(left)-cellsOf(right))) + right)
	of := ""
	switch {
	case d.Back > 0:
		of = fmt.Sprintf("at the mark, %s",
			quantity.AboutSeconds(v.from+(float64(v.at)+0.5)*(v.to-v.from)/float64(columns)))
		line = []rune(strings.Repeat(" ", columns))
		line[min(v.at, columns-1)] = '▲'
	case d.ended:
		of = "(mean)"
	}
	return d.quiet(strings.Repeat(" ", nameWidth+1) + string(line) + " " + of)
}

// foot returns the line of keys.
func (d *drawing) foot(runs int) string {
	text := "q quit   ? what is what   ←→ time   +- span   space hold"
	if d.ASCII {
		text = "q quit   ? what is what   arrows time   +- span   space hold"
	}
	if runs > 1 {
		text += "   Tab next"
	}
	if d.Paused {
		text = "held: space goes on   " + text
	}
	return d.quiet(text)
}
