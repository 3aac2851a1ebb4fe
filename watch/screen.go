// Package watch is the live screen: what a run does now, over its last minutes, on
// one page of a terminal.
//
// Screen draws States as lines of text and knows nothing of a terminal; Show keeps
// a terminal up to date with them.
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

// State is what is known of a run at some moment.
type State struct {
	Name    string // of the recording or process
	Run     *recording.Run
	Verdict diagnose.Verdict // of this run, or of an earlier moment of it
	Plan    advise.Plan
	// Attached says that the process was there before it was looked at.
	Attached bool
	Machine  bool   // it is no run but all of this machine, which is not judged
	Gone     bool   // it is shown no more
	Note     string // where it comes from, or what is wrong with it

	parts []part // of its pipeline
	held  held
}

// Judged is a state with all that is concluded from a run, with the inertia of a screen: see
// conclude.
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

// Viewport is how a State is looked at.
type Viewport struct {
	Width, Height int // cells and lines; a height of 0 is as many as there are, without the keys
	Colour        bool
	ASCII         bool    // no block characters
	Span          float64 // seconds that are shown; 0: all
	Back          int     // columns that the cursor stands behind the newest; 0 is now
	Help          bool
	Paused        bool
	Chosen        int // of several states, the one that is shown
}

// The smallest screen that all is drawn on; on a smaller one stands the verdict.
const (
	leastWidth  = 60
	leastHeight = 16
)

// Screen draws states in at most Look.Height lines of at most Look.Width cells.
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

// inASCII is a line for a terminal that knows no other characters.
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
	ended bool // nothing comes any more
	lines []string
}

func (d *drawing) addLine(text string) { d.lines = append(d.lines, text) }

// broken adds a text in as many lines as it takes.
func (d *drawing) broken(text string) {
	for text := range strings.SplitSeq(text, "\n") {
		for _, part := range wrapped(text, d.Width) {
			d.addLine(part)
		}
	}
}

func (d *drawing) paint(code, text string) string {
	if !d.Colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (d *drawing) bold(text string) string  { return d.paint("1", text) }
func (d *drawing) quiet(text string) string { return d.paint("2", text) }

// clip cuts a line that is too wide. Colours take no cells.
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

// cellsOf is the width of a text. Colours take no cells.
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

// nameWidth is that of the left column.
const nameWidth = 17

// valueWidth is that of the right column.
func (l Viewport) valueWidth() int {
	if l.Width < 100 {
		return 20
	}
	return 24
}

// columns are the cells of a row over time.
func (l Viewport) columns() int { return max(8, l.Width-nameWidth-l.valueWidth()-2) }

// shownSpan is what is shown of a run.
func (l Viewport) shownSpan(run *recording.Run) (from, to float64) {
	to = run.End()
	if l.Span > 0 && l.Span < to {
		from = to - l.Span
	}
	return from, to
}

// classColour is green where the device works, red where it starves.
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

// title is a class in words.
func title(v diagnose.Verdict) string {
	if v.Lead != nil {
		return v.Lead.Title()
	}
	if title, _, known := rules.Describe(v); known {
		return title
	}
	return "the evidence does not decide"
}

// small is what counts where there is no room for more.
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

// headline is what there is to know first.
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
	d.fitted(parts)
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
		d.fitted(parts)
		if text := report.SumUpLedger(v.Ledger); text != "" {
			d.fitted([]string{"time so far: " + text})
		}
	}
	if s.Note != "" {
		d.addLine(d.paint(orange, s.Note))
	}
	d.addLine("")
}

// sayClass is the class in words, where there is one to name.
func (d *drawing) sayClass(s State) string {
	switch {
	case s.Machine:
		return d.quiet("no recording is being written here: this is the whole machine")
	case s.beginning() != "":
		return d.quiet(s.beginning() + ": too early to judge")
	}
	return d.paint("1;"+classColour(s.Verdict), string(s.Verdict.Headline())) + "  " + title(s.Verdict)
}

// fitted is a line of as many parts as there is room for; no part is cut but the first.
func (d *drawing) fitted(parts []string) {
	line := parts[0]
	for _, part := range parts[1:] {
		if cellsOf(line)+3+cellsOf(part) <= d.Width {
			line += "   " + part
		}
	}
	d.addLine(line)
}

// peers is a line for each of several runs, around the chosen one where not all fit.
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

// label is the machine of a run and its ranks, where it tells, else its name.
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

// drawState draws the whole screen: what must be there first, then rows over time as far
// as there is room.
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
	room := d.Height - len(d.lines) - 3 - len(fixes) // the axis, a line free and the keys
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

// drawAxis says which time the columns are, and what the values at the right are of.
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
