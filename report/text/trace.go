package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// WriteTrace writes the report for people.
func WriteTrace(w io.Writer, r report.TraceReport, style Style) error {
	p := newPage(style, &r)
	p.headline(r.Run, r.Verdict)
	p.traceFacts(r)
	p.list("why", report.ListEvidence(r.Verdict))
	p.causes(r.Verdict)
	p.places(r)
	p.plan(r.Plan, r.Verdict, false)
	p.sheet(report.ListServing(r, r.Top))
	p.sheet(report.ListPath(r))
	p.lanes(r)
	p.operators(r.Operators)
	p.kernels(r, r.Top)
	p.workRoofline(r.Roofline)
	p.memory(r)
	p.ranks(r.Ranks)
	p.list("note", traceNotes(r))
	return p.to(w)
}

func (p *page) traceFacts(r report.TraceReport) {
	d := r.Device()
	exchange, leads := exchanging(r, d)
	if leads { // whether it costs anything is what everybody asks first
		p.row("exchange", exchange)
	}
	for _, g := range r.Run.Facts.GPUs {
		p.row(fmt.Sprintf("GPU %d", g.Index), report.Shorten(report.OrUnknown(g.Name), 60)+memoryText(g))
	}
	p.row("trace", report.DescribeFiles(r.Source))
	if d == nil {
		p.b.WriteString("  device   no work of a device was recorded\n\n")
		return
	}
	v := r.Verdict
	if n := len(d.Steps); n == 0 {
		p.row("window", report.FormatSpan(d.Window())+", no steady steps")
	} else {
		each := ""
		if n > 1 {
			each = fmt.Sprintf(", %s each on the device", report.FormatSpan(d.Window()/int64(n)))
			if median := medianStep(d); math.Abs(float64(median)*float64(n)/float64(d.Window())-1) > apart {
				each += fmt.Sprintf(" in the mean, %s in the median", report.FormatSpan(median))
			}
		}
		p.row("window", fmt.Sprintf("%s, %d of %s%s", report.FormatSpan(d.Window()), n, stoker.Many(d.Seen, "step"), each))
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

// medianStep is the median of a device's judged steps, nanoseconds.
func medianStep(d *idle.Device) int64 {
	lengths := make([]float64, len(d.Steps))
	for i, s := range d.Steps {
		lengths[i] = float64(s.To - s.From)
	}
	return int64(stat.Median(lengths))
}

// apart is the part by which mean and median differ from which on both are told. [J]
const apart = 0.05

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
		text = strings.TrimPrefix(text+"; left out: "+strings.Join(left, ", "), "; ")
	}
	return text
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
		l := report.DeviceLetters[on]
		if cells > 0 {
			bar += p.colour(l.Colour, strings.Repeat(l.Letter, cells))
		}
		words = append(words, p.colour(l.Colour, l.Letter)+" "+l.Word+" "+stoker.Percent(parts[on]))
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
func (p *page) places(r report.TraceReport) {
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
		p.wrapped("     ", "     ", report.Shorten(f.Text, 600))
		if where := report.DescribePlace(f); where != "" {
			p.wrapped("     at   ", "          ", where)
		}
		if f.Advice != "" {
			p.wrapped("     set  ", "          ", report.Shorten(f.Advice, 600))
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

// traceNotes are the warnings, and what was read and not kept.
func traceNotes(r report.TraceReport) []string {
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
