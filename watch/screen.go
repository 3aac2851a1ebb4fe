// Package watch is the live screen: the state of a run over its last minutes, on one page of a
// terminal.
//
// Screen draws States as lines of text and does not depend on a terminal; Show keeps a terminal
// up to date with them.
package watch

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// The smallest screen on which everything is drawn; a smaller one displays only the verdict.
const (
	leastWidth  = 60
	leastHeight = 16
	roomyHeight = 24 // lines from which there is room for more
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
		d.drawHelp()
	case s.Run == nil:
		d.addLine(d.makeBold("stoker watch") + "  " + s.Name)
		d.drawRuns(states)
		d.addLine("")
		d.addWrapped(s.Note)
	case look.Width < leastWidth || look.Height > 0 && look.Height < leastHeight:
		d.drawEssentials(s)
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

// drawEssentials draws only the essentials, for a small screen.
func (d *drawing) drawEssentials(s State) {
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
	d.addLine(d.makeFaint(fmt.Sprintf("%d x %d shows all", leastWidth, leastHeight)))
}

// drawHeadline draws the most important facts.
func (d *drawing) drawHeadline(s State, states []State) {
	parts := []string{d.makeBold("stoker watch"), s.Name, quantity.AboutSeconds(s.Run.End()) + " so far"}
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
	d.drawRuns(states)
	d.addLine(d.sayClass(s))
	if said := report.SayRequests(s.Verdict); said != nil {
		d.fitParts(said)
	}
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
		if parts := sayMemory(s); len(parts) > 0 && (d.Height == 0 || d.Height >= roomyHeight) {
			d.fitParts(parts)
		}
	}
	if s.Note != "" {
		d.addLine(d.paint(orange, s.Note))
	}
	d.addLine("")
}

// sayMemory says what fills the device that holds most; nothing if PyTorch's part is unknown.
func sayMemory(s State) (parts []string) {
	fullest := 0.0
	for _, g := range s.Run.Facts.GPUs {
		memory := report.ReadDeviceMemory(s.Run, g, s.Verdict.Costs.Window)
		if fills := memory.Parts(); len(fills) > 0 && memory.Used > fullest {
			fullest = memory.Used
			parts = append([]string{fmt.Sprintf("memory of GPU %d: %s", g.Index, memory)}, fills...)
		}
	}
	return parts
}

// sayClass returns the class in words, if there is one to name.
func (d *drawing) sayClass(s State) string {
	switch {
	case s.Machine:
		return d.makeFaint("no recording is being written here: this is the whole machine")
	case s.beginning() != "":
		return d.makeFaint(s.beginning() + ": too early to judge")
	}
	return d.paint("1;"+classColour(s.Verdict), string(s.Verdict.Headline())) + "  " + title(s.Verdict)
}

// drawRuns draws a line for each of several runs, around the chosen one if not all fit.
func (d *drawing) drawRuns(states []State) {
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
			mark = d.makeBold("▶ ")
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

// drawState draws the whole screen: first what must be displayed, then as many rows over time
// as fit.
func (d *drawing) drawState(s State, states []State) {
	d.drawHeadline(s, states)
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
	d.lines = append(d.lines[:min(len(d.lines), d.Height-1)], d.keyLine(len(states)))
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
	return d.makeFaint(strings.Repeat(" ", nameWidth+1) + string(line) + " " + of)
}

// keyLine returns the line of keys.
func (d *drawing) keyLine(runs int) string {
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
	return d.makeFaint(text)
}
