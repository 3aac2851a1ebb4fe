package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// WriteTrace prints the report: first the verdict, then the most important parts and, with
// r.All, every table.
func WriteTrace(w io.Writer, r report.TraceReport, style Style) error {
	p := newVerdictPage(style, &r)
	p.style.All = p.style.All || r.All
	p.lead(report.LeadOf(r.Run, r.Verdict, r.Plan, style.File), r.Verdict)
	whole := func(s func(*page)) section { return section{items: []item{{onlyAll, s}}} }
	p.show([]section{
		aboutClass(r.Verdict), p.traceFacts(r), p.recordingLedger(r.Verdict), evidence(r.Verdict, shownTraced),
		causes(r), p.places(r),
		changes(r.Plan, r.Verdict),
		whole(func(p *page) { p.writeSheet(report.ListServing(r, r.Top)) }),
		whole(func(p *page) { p.writeSheet(report.ListPath(r)) }),
		{items: []item{{detail, func(p *page) { p.drawLanes(r) }}}},
		whole(func(p *page) { p.operators(r.Operators) }),
		whole(func(p *page) { p.writeKernels(r, r.Top) }),
		whole(func(p *page) { p.workRoofline(r.Roofline) }),
		whole(func(p *page) { p.writeMemory(r) }),
		p.rankLines(r.Ranks),
		whole(func(p *page) { p.ranks(r.Ranks) }),
		p.notes(traceNotes(r)),
	}, strings.TrimSpace("stoker trace --all "+style.File))
	return p.to(w)
}

// shownTraced is the number of lines of evidence for a trace without --all: the table of causes
// says more.
const shownTraced = 1

// traceFacts prints what was recorded and how the device's time was spent.
func (p *page) traceFacts(r report.TraceReport) (s section) {
	row := func(at rank, name, text string) { s.add(at, func(p *page) { p.writeRow(name, text) }) }
	d := r.JudgedDevice()
	exchange, leads := exchanging(r, d)
	if leads { // their cost is the first question
		row(always, "exchange", exchange)
	}
	for i, g := range r.Run.Facts.GPUs {
		at := always
		if i > 1 || d == nil && len(r.Run.Facts.GPUs) > 2 { // none of a machine's GPUs worked
			at = onlyAll
		}
		row(at, fmt.Sprintf("GPU %d", g.Index), report.Shorten(report.OrUnknown(g.Name), 60)+memoryText(g))
	}
	row(useful, "trace", report.DescribeFiles(r.Source))
	if d == nil {
		row(always, "device", "no work of a device was recorded")
		return s
	}
	v := r.Verdict
	if n := len(d.Steps); n == 0 {
		row(always, "window", report.FormatSpan(d.WindowLength())+", no steady steps")
	} else {
		of := fmt.Sprintf("%d of %s%s", n, quantity.Many(d.Seen, "step"), lengthsText(d))
		if !r.Run.Facts.MarksSteps() {
			of = "no step could be told: all of it is taken as one"
		}
		row(always, "window", report.FormatSpan(d.WindowLength())+", "+of)
	}
	if text := stepsText(r, d); text != "" {
		row(onlyAll, "steps", text)
	}
	s.add(always, func(p *page) { p.drawShares(r) })
	if exchange != "" && !leads {
		row(important, "exchange", exchange)
	}
	if text := costText(v.Cost); text != "" {
		at := important
		if v.Cost.Assumed {
			at = onlyAll
		}
		row(at, "idle", text)
	}
	return s
}

// lengthsText says how long a device's judged steps are. A mean or a median is said only of steps most of which are
// like it: those of two kinds are like neither.
func lengthsText(d *idle.Device) string {
	n := len(d.Steps)
	if n < 2 {
		return ""
	}
	lengths := make([]float64, n)
	for i, s := range d.Steps {
		lengths[i] = float64(s.To - s.From)
	}
	mean, median := float64(d.WindowLength())/float64(n), stat.Median(lengths)
	like := func(of float64) bool {
		near := 0
		for _, length := range lengths {
			if math.Abs(length/of-1) <= muchApart {
				near++
			}
		}
		return 2*near > n
	}
	switch {
	case n == 2 && math.Abs(lengths[1]/lengths[0]-1) > apart:
		return fmt.Sprintf(", %s and %s on the device", spanText(lengths[0]), spanText(lengths[1]))
	case !like(mean) && !like(median):
		return fmt.Sprintf(", from %s to %s on the device", spanText(slices.Min(lengths)),
			spanText(slices.Max(lengths)))
	case math.Abs(median/mean-1) > apart:
		return fmt.Sprintf(", %s each on the device in the mean, %s in the median", spanText(mean), spanText(median))
	}
	return fmt.Sprintf(", %s each on the device", spanText(mean))
}

func spanText(ns float64) string { return report.FormatSpan(int64(ns)) }

// apart is the relative difference between mean and median from which both are printed, and muchApart that between a
// step and one of them from which it is not like it. [J]
const (
	apart     = 0.05
	muchApart = 0.25
)

// memoryText returns the peak of a device's memory; "" if unknown.
func memoryText(g recording.GPU) string {
	if g.PeakBytes == nil || g.HeldBytes == nil {
		return ""
	}
	text := fmt.Sprintf(", tensors %s at most, %s held", quantity.AboutBytes(*g.PeakBytes),
		quantity.AboutBytes(*g.HeldBytes))
	if g.MemoryBytes != nil {
		text += " of " + quantity.AboutBytes(*g.MemoryBytes)
	}
	return text
}

// stepsText says how steps were found, and which were left out.
func stepsText(r report.TraceReport, d *idle.Device) string {
	text := ""
	if rule := r.Run.Facts.StepsFrom; rule != "" {
		text = "found by " + rule
	}
	var left []string
	for _, l := range d.Left {
		left = append(left, fmt.Sprintf("%d (%s)", l.Count, l.Why))
	}
	if len(left) > 0 {
		text = strings.TrimPrefix(text+", left out: "+strings.Join(left, ", "), ", ")
	}
	return text
}

// drawShares draws the four shares as a bar.
func (p *page) drawShares(r report.TraceReport) {
	s := r.Verdict.Shares
	parts := []float64{s.Idle, s.Kernel, s.Copy, s.Communication}
	for _, part := range parts {
		if math.IsNaN(part) {
			return
		}
	}
	const indent = 11
	width := max(10, min(60, p.width()-indent))
	bar, words, used, sum := "", []string{}, 0, 0.0
	for _, on := range []lanes.Activity{lanes.Kernel, lanes.Copy, lanes.Communication, lanes.Idle} {
		sum += parts[on]
		cells := int(math.Round(sum*float64(width))) - used
		used += cells
		l := report.DeviceLetters[on]
		if cells > 0 {
			bar += p.paint(l.Colour, strings.Repeat(l.Letter, cells))
		}
		words = append(words, p.paint(l.Colour, l.Letter)+" "+r.WordFor(on)+" "+quantity.Percent(parts[on]))
	}
	fmt.Fprintf(&p.b, "  device   %s\n", bar)
	p.writeRow("", strings.Join(words, ", "))
}

// causes prints the table of causes of idle time.
func causes(r report.TraceReport) section {
	v := r.Verdict
	s := section{title: "causes of idle time"}
	if len(v.Causes) == 0 {
		return s
	}
	s.add(important, func(p *page) {
		per, steps := "in all", 1.0
		if n := len(v.Costs.Window.Steps); v.HasSteps && n > 0 && r.Run.Facts.MarksSteps() {
			per, steps = "per step", float64(n)
		}
		rows := [][]string{{"cause", per, "of the window", ""}}
		room := max(0, min(30, p.width()-50))
		for i, c := range v.Causes {
			if i > 0 && c.Share < worthShowing && !p.style.All {
				break
			}
			bar := strings.Repeat("█", int(math.Round(c.Share*float64(room))))
			rows = append(rows,
				[]string{c.Cause, quantity.AboutSeconds(c.Seconds / steps), quantity.Percent(c.Share), bar})
		}
		p.writeTable(rows, "lrrl")
	})
	return s
}

// places prints findings with where they occur and what to set.
func (p *page) places(r report.TraceReport) section {
	s := section{title: "findings", rest: func(p *page, left []int) { p.nameFindings(r.Verdict.Findings, left) }}
	for i, f := range r.Verdict.Findings {
		at := important
		if i >= shownFixes || f.Share < worthShowing && i > 0 {
			at = onlyAll
		}
		s.add(at, func(p *page) {
			worth := ""
			if f.Share > 0 {
				worth = fmt.Sprintf(" (%s of the window)", quantity.Percent(f.Share))
			}
			p.numbered++ // those that fit, without a hole
			fmt.Fprintf(&p.b, "  %d. %s%s\n", p.numbered, p.makeBold(f.Name), worth)
			p.printWrapped("     ", "     ", report.Shorten(f.Text, 600))
			if where := report.DescribePlace(f); where != "" {
				p.printWrapped("     at   ", "          ", where)
			}
			if set, denied := report.AdviceOn(f, r.Plan); denied != "" {
				p.printWrapped("     not  ", "          ", report.Shorten(denied, 600))
			} else if set != "" && (p.style.All || len(r.Plan.Fixes) == 0) { // otherwise the fixes say so
				p.printWrapped("     set  ", "          ", report.Shorten(set, 600))
			}
		})
	}
	return s
}

// nameFindings names the findings that have no room, if they are about much of the window.
func (p *page) nameFindings(findings []diagnose.Finding, left []int) {
	var names []string
	for _, i := range left {
		if f := findings[i]; f.Share >= diagnose.NamedInTrace {
			of := "" // is said once
			if len(names) == 0 {
				of = " of the window"
			}
			names = append(names, fmt.Sprintf("%s (%s%s)", f.Name, quantity.Percent(f.Share), of))
		}
	}
	if len(names) > 0 {
		p.printWrapped("  also ", "       ", strings.Join(names, ", "))
	}
}

// worthShowing is the share of the window from which a finding is shown without --all.
const worthShowing = 0.01

// traceNotes returns the warnings, and the numbers of skipped events.
func traceNotes(r report.TraceReport) []string {
	notes := report.ListNotes(r.Verdict)
	dropped := r.Run.Timeline.Dropped
	if len(dropped) == 0 {
		return notes
	}
	var parts []string
	for why, n := range dropped {
		parts = append(parts, fmt.Sprintf("%d: %s", n, why))
	}
	sort.Strings(parts)
	return append(notes, "skipped events: "+strings.Join(parts, ", "))
}
