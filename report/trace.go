package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/recording"
)

// TraceReport is everything that is shown of a run that was read from a
// profiler's files.
type TraceReport struct {
	Run       *recording.Run
	Verdict   diagnose.Verdict
	Plan      advise.Plan
	Gaps      *idle.Analysis
	Operators *operators.Table
	Roofline  *operators.Roofline
	Ranks     *ranks.Table // nil with one rank
	Source    TraceSource
	Top       int              // kernels to show; 0: all
	Within    operators.Within // by what kernels are put together
	All       bool             // findings are shown that are worth less than a hundredth of the window
}

// TraceSource is what was read.
type TraceSource struct {
	Files   []string
	Bytes   int64   // of the files as they lie on the disk
	Events  int     // kept and not kept
	Seconds float64 // that reading and judging took; 0 is not shown
}

// TraceText writes the report for people.
func TraceText(w io.Writer, r TraceReport, style Style) error {
	p := newPage(style, &r)
	p.headline(r.Run, r.Verdict)
	p.traceFacts(r)
	p.list("why", evidenceLines(r.Verdict))
	p.causes(r.Verdict)
	p.places(r)
	p.plan(r.Plan, r.Verdict)
	p.sheet(servingSheet(r, r.Top))
	p.sheet(pathSheet(r))
	p.lanes(r)
	p.operators(r.Operators)
	p.kernels(r, r.Top)
	p.workRoofline(r.Roofline)
	p.memory(r)
	p.ranks(r.Ranks)
	p.list("note", traceNotes(r))
	return p.to(w)
}

// Device is the judged device, nil where no device worked.
func (r TraceReport) Device() *idle.Device {
	var best *idle.Device
	for i := range r.Gaps.Devices {
		d := &r.Gaps.Devices[i]
		same := math.Abs(d.Share(d.Idle)-r.Verdict.Shares.Idle) < 1e-9 && math.Abs(d.Share(d.Kernel)-r.Verdict.Shares.Kernel) < 1e-9
		if best == nil || same {
			best = d
		}
		if same {
			break
		}
	}
	return best
}

// name is a name of the trace, by its index.
func (r TraceReport) name(index int32) string { return r.Run.Timeline.Names[index] }

// recorded is how long the profiler recorded.
func (r TraceReport) recorded() string { return span(r.Run.Timeline.End - r.Run.Timeline.Start) }

func (p *page) traceFacts(r TraceReport) {
	d := r.Device()
	exchange, leads := exchanging(r, d)
	if leads { // whether it costs anything is what everybody asks first
		p.row("exchange", exchange)
	}
	for _, g := range r.Run.Facts.GPUs {
		p.row(fmt.Sprintf("GPU %d", g.Index), cut(orUnknown(g.Name), 60)+memoryText(g))
	}
	p.row("trace", traceSize(r.Source))
	if d == nil {
		p.b.WriteString("  device   no work of a device was recorded\n\n")
		return
	}
	v := r.Verdict
	if n := len(d.Steps); n == 0 {
		p.row("window", span(d.Window())+", no steady steps")
	} else {
		each := ""
		if n > 1 {
			each = fmt.Sprintf(", %s each on the device", span(d.Window()/int64(n)))
		}
		p.row("window", fmt.Sprintf("%s, %d of %s%s", span(d.Window()), n, stoker.Many(d.Seen, "step"), each))
	}
	if text := stepsText(r, d); text != "" {
		p.row("steps", text)
	}
	p.shares(v.Shares)
	if exchange != "" && !leads {
		p.row("exchange", exchange)
	}
	p.cost(v.Cost)
	p.b.WriteString("\n")
}

// memoryText is the peak of a device's memory, "" where it is not known.
func memoryText(g recording.GPU) string {
	if g.PeakBytes == nil || g.HeldBytes == nil {
		return ""
	}
	text := fmt.Sprintf(", tensors %s at most, %s held", stoker.AboutBytes(*g.PeakBytes), stoker.AboutBytes(*g.HeldBytes))
	if g.MemoryBytes != nil {
		text += " of " + stoker.AboutBytes(*g.MemoryBytes)
	}
	return text
}

// stepsText says by what steps were found, and which were left out.
func stepsText(r TraceReport, d *idle.Device) string {
	text := ""
	if rule := r.Run.Facts.StepsFrom; rule != "" {
		text = "found by " + rule
	}
	var left []string
	for _, l := range d.Left {
		left = append(left, fmt.Sprintf("%d (%s)", l.Count, l.Why))
	}
	if len(left) > 0 {
		text = strings.TrimPrefix(text+"; left out: "+strings.Join(left, ", "), "; ")
	}
	return text
}

func traceSize(s TraceSource) string {
	text := stoker.Many(s.Events, "event")
	if len(s.Files) == 1 {
		text = cut(s.Files[0], 60) + ", " + text
	} else {
		text = fmt.Sprintf("%d files, %s", len(s.Files), text)
	}
	text += ", " + stoker.AboutBytes(float64(s.Bytes))
	if s.Seconds > 0 {
		text += fmt.Sprintf(", read and judged in %s", stoker.AboutSeconds(s.Seconds))
	}
	return text
}

// span prints nanoseconds.
func span(ns int64) string { return stoker.AboutSeconds(float64(ns) / 1e9) }

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Letters of what a device does. They differ without colours.
var deviceLetters = [...]struct{ letter, colour, word string }{
	lanes.Idle:          {"·", "2", "idle"},
	lanes.Kernel:        {"█", "32", "kernel"},
	lanes.Copy:          {"▒", "33", "copy alone"},
	lanes.Communication: {"▓", "35", "communication alone"},
}

// shares draws the four shares as a bar.
func (p *page) shares(s diagnose.Shares) {
	parts := []float64{s.Idle, s.Kernel, s.Copy, s.Communication}
	for _, part := range parts {
		if math.IsNaN(part) {
			return
		}
	}
	const indent = 11
	width := max(10, min(60, p.width()-indent))
	bar, words, used, sum := "", []string{}, 0, 0.0
	for _, on := range []lanes.On{lanes.Kernel, lanes.Copy, lanes.Communication, lanes.Idle} {
		sum += parts[on]
		cells := int(math.Round(sum*float64(width))) - used
		used += cells
		l := deviceLetters[on]
		if cells > 0 {
			bar += p.colour(l.colour, strings.Repeat(l.letter, cells))
		}
		words = append(words, p.colour(l.colour, l.letter)+" "+l.word+" "+stoker.Percent(parts[on]))
	}
	fmt.Fprintf(&p.b, "  device   %s\n", bar)
	p.wrapped("           ", "           ", strings.Join(words, ", "))
}

// causes is the table of causes of idle time.
func (p *page) causes(v diagnose.Verdict) {
	if len(v.Causes) == 0 {
		return
	}
	per := "in all"
	steps := 1.0
	if n := len(v.Costs.Window.Steps); v.HasSteps && n > 0 {
		per, steps = "per step", float64(n)
	}
	fmt.Fprintf(&p.b, "%s\n", p.bold("causes of idle time"))
	rows := [][]string{{"cause", per, "of the window", ""}}
	room := max(0, min(30, p.width()-50))
	for _, c := range v.Causes {
		bar := strings.Repeat("█", int(math.Round(c.Share*float64(room))))
		rows = append(rows, []string{c.Cause, stoker.AboutSeconds(c.Seconds / steps), stoker.Percent(c.Share), bar})
	}
	p.table(rows, "lrrl")
	p.b.WriteString("\n")
}

// places lists findings with where to look and what to set.
func (p *page) places(r TraceReport) {
	shown := slices.DeleteFunc(slices.Clone(r.Verdict.Findings), func(f diagnose.Finding) bool { return !r.All && f.Share < worthShowing })
	hidden := len(r.Verdict.Findings) - len(shown)
	if len(r.Verdict.Findings) == 0 {
		return
	}
	fmt.Fprintf(&p.b, "%s\n", p.bold("findings"))
	for i, f := range shown {
		worth := ""
		if f.Share > 0 {
			worth = fmt.Sprintf(" (%s of the window)", stoker.Percent(f.Share))
		}
		fmt.Fprintf(&p.b, "  %d. %s%s\n", i+1, p.bold(f.Name), worth)
		p.wrapped("     ", "     ", cut(f.Text, 600))
		if where := whereOf(f); where != "" {
			p.wrapped("     at   ", "          ", where)
		}
		if f.Advice != "" {
			p.wrapped("     set  ", "          ", cut(f.Advice, 600))
		} else if len(f.Settings) > 0 {
			var changes []string
			for _, c := range f.Settings {
				changes = append(changes, c.String())
			}
			p.wrapped("     set  ", "          ", strings.Join(changes, ", "))
		}
	}
	if hidden > 0 {
		p.wrapped("  ", "  ", fmt.Sprintf("%d more, worth less than %s of the window: --all", hidden, stoker.Percent(worthShowing)))
	}
	p.b.WriteString("\n")
}

// worthShowing is the share of the window below which a finding is not shown unless it
// is asked for.
const worthShowing = 0.01

// whereOf is a finding's place: instants of the trace, the source line, the
// thread, the kernel.
func whereOf(f diagnose.Finding) string {
	var parts []string
	if f.To > f.From {
		parts = append(parts, fmt.Sprintf("%.3f to %.3f ms", 1e3*f.From, 1e3*f.To))
	}
	if f.Source != "" {
		parts = append(parts, cut(f.Source, 120))
	}
	if f.Thread != "" {
		parts = append(parts, "thread "+cut(strings.TrimPrefix(f.Thread, "thread "), 60))
	}
	if f.Kernel != "" {
		parts = append(parts, cut(f.Kernel, 100))
	}
	return strings.Join(parts, ", ")
}

// traceNotes are the warnings, and what was read and not kept.
func traceNotes(r TraceReport) []string {
	notes := append([]string{}, r.Verdict.Warnings...)
	dropped := r.Run.Timeline.Dropped
	if len(dropped) == 0 {
		return notes
	}
	var parts []string
	for why, n := range dropped {
		parts = append(parts, fmt.Sprintf("%d: %s", n, why))
	}
	sort.Strings(parts)
	return append(notes, "skipped events: "+strings.Join(parts, "; "))
}
