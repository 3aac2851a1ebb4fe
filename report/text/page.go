package text

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/report"
)

// Style says how text is formatted.
type Style struct {
	Colour bool   // ANSI colours
	Width  int    // columns; 0 for 100
	All    bool   // print everything, else what fits into 40 lines
	File   string // file of the page as written in a shell; "" for the newest recording
}

// page collects the text of one report.
type page struct {
	b     strings.Builder
	style Style
	terms []term // still to be explained at their first use

	numbered int // findings written so far
}

// newPage begins a page about the values that pointers point to. This is the only place where
// text from outside is made safe for a terminal: names of processes, devices and kernels,
// settings, paths, messages. What is written to the page later is plain text and Stoker's
// colours.
func newPage(style Style, about ...any) *page {
	safe.Values(about...)
	return &page{style: style}
}

// to writes the page.
func (p *page) to(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) paint(code, s string) string {
	if !p.style.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) makeBold(s string) string { return p.paint("1", s) }

// writeRow prints a name and a text, broken at the page's width.
func (p *page) writeRow(name, text string) {
	p.printWrapped(fmt.Sprintf("  %-8s ", name), "           ", text)
}

// printWrapped prints text broken at the page's width.
func (p *page) printWrapped(first, next, s string) {
	line := first
	empty := true
	words := strings.Fields(p.explainText(s))
	for i, word := range words {
		if i+1 < len(words) && strings.HasPrefix(words[i+1], "%") { // stays on its figure's line
			words[i+1] = word + " " + words[i+1]
			continue
		}
		if !empty && cellWidth(line)+1+cellWidth(word) > p.width() {
			p.b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func (p *page) writeList(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(&p.b, "%s\n", p.makeBold(title))
	for _, line := range lines {
		p.printWrapped("  - ", "    ", report.Shorten(line, 600))
	}
	p.b.WriteString("\n")
}

func (p *page) width() int {
	if p.style.Width == 0 {
		return 100
	}
	return p.style.Width
}

// colourCodes matches escape sequences, which have no width on a terminal.
var colourCodes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// cellWidth returns the width of a text.
func cellWidth(s string) int { return utf8.RuneCountInString(colourCodes.ReplaceAllString(s, "")) }

// useColour returns green if the device is nearly always busy, red if it starves.
func useColour(share float64) string {
	switch {
	case math.IsNaN(share):
		return "0"
	case share >= 0.9:
		return "1;32"
	case share >= 0.6:
		return "1;33"
	}
	return "1;31"
}

// bars draws an interval from 0: solid to the point, light to the high end.
func bars(i stoker.Interval, longest float64, width int) string {
	if !i.Known() || !(longest > 0) {
		return ""
	}
	cells := func(v float64) int { return int(math.Round(report.ClampLength(v) / longest * float64(width))) }
	solid := cells(i.Point)
	return strings.Repeat("█", solid) + strings.Repeat("░", max(0, cells(i.High)-solid))
}

// term is a word that is explained at its first use on a page.
type term struct{ word, means string }

// terms lists words that not every reader of a verdict knows.
var terms = []term{
	{"launching thread", "the thread of the program that gives the GPU its work"},
	{"provisional", "a final verdict needs 30 s of steady steps"},
	{"page-locked memory", "the GPU reaches such memory by itself"},
	{"page cache", "memory that keeps files which were read"},
	{"collectives", "exchanges between devices"},
	{"not validated", "no pair of runs was held against such a forecast"},
	{"GPU-Util", "the share of time in which any kernel ran or data were copied"},
	{"CUDA graphs", "many launches recorded as one"},
	{"cgroup", "what limits a container"},
	{"straggler", "the rank that the others wait for"},
}

// explainText adds an explanation to each term that the page has not explained yet.
func (p *page) explainText(text string) string {
	for i := 0; i < len(p.terms); i++ {
		t := p.terms[i]
		at := strings.Index(text, t.word)
		if at < 0 {
			continue
		}
		end := at + len(t.word)
		p.terms = slices.Delete(slices.Clone(p.terms), i, i+1)
		i--
		if rest := text[end:]; rest == "" || strings.ContainsRune(" ,.:", rune(rest[0])) &&
			!strings.HasPrefix(rest, " (") {
			text = fmt.Sprintf("%s (%s)%s", text[:end], t.means, rest)
		}
	}
	return text
}
