package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// WritePrediction prints a prediction.
func WritePrediction(w io.Writer, f question.Prediction, style Style) error {
	p := newPage(style, &f)
	fmt.Fprintf(&p.b, "%s\n\n", p.makeBold(report.Shorten(f.Title, 300)))
	switch {
	case f.Roofline != nil:
		p.drawRoofline(*f.Roofline)
	case len(f.Points) > 0:
		p.printSweep(f)
	case f.Setup.Batch > 0 && !f.All:
		p.writeShortAnswer(f)
	case f.Setup.Batch > 0:
		p.writeAnswer(f)
	}
	if len(f.Walls) > 0 {
		p.walls(f.Walls)
	}
	if f.Sizing != nil {
		p.writeSizing(*f.Sizing)
	}
	if f.Waste != nil && (f.All || f.Costs) {
		p.writeWaste(f)
	}
	if !f.All && f.Roofline == nil && len(f.Points) == 0 && f.Setup.Batch > 0 {
		return p.to(w)
	}
	if f.Roofline == nil && len(f.Points) == 0 {
		p.writeList("what would have to be true for this to be wrong", f.Answer.Wrong)
	}
	if f.Roofline == nil {
		p.writeList("unknown, and what the device needs it to be", report.ListUnknowns(f.Answer.Unknown))
	}
	p.inputs(f)
	p.writeList("note", f.Answer.Notes)
	return p.to(w)
}

// writeAnswer prints one setting: the result, then the parts of a step with bars.
func (p *page) writeAnswer(f question.Prediction) {
	a := f.Answer
	row := func(name, value string) { fmt.Fprintf(&p.b, "  %-12s %s\n", name, value) }
	row("utilisation", p.paint(useColour(a.Utilization.Point), quantity.Around(a.Utilization, quantity.Percent)))
	row("throughput", quantity.Around(a.Throughput, quantity.About)+" samples/s"+perGPU(f))
	row("step", quantity.Around(a.Step, quantity.AboutSeconds))
	row("stall", "the device waits for input "+quantity.Around(a.Stall, quantity.Percent)+" of the step")
	if f.First != nil {
		row("first epoch", fmt.Sprintf("utilisation %s, step %s: nothing is in memory yet",
			quantity.Around(f.First.Utilization, quantity.Percent),
			quantity.Around(f.First.Step, quantity.AboutSeconds)))
	}
	p.b.WriteString("\n")
	p.writeStages(f)
	p.writeBound(f)
}

// writeShortAnswer prints one setting in eight lines.
func (p *page) writeShortAnswer(f question.Prediction) {
	a := f.Answer
	row := func(name, value string) {
		if value != "" {
			p.printWrapped(fmt.Sprintf("  %-12s ", name), strings.Repeat(" ", 15), value)
		}
	}
	row("utilisation", p.paint(useColour(a.Utilization.Point), quantity.Around(a.Utilization, quantity.Percent))+
		firstEpoch(f))
	row("throughput", quantity.Around(a.Throughput, quantity.About)+" samples/s"+perGPU(f))
	row("step", quantity.Around(a.Step, quantity.AboutSeconds))
	row("limit", report.SummariseLimit(f))
	row("device needs", report.SummariseDemand(a))
	row("workers", report.SummariseEnough(f))
	row("decides", strings.Join(report.WhatDecides(f), ", "))
	row("unknown", listUnknown(a.Unknown))
	assumed := 0
	for _, in := range f.Inputs {
		if in.Source != question.Given {
			assumed++
		}
	}
	if assumed > 0 {
		row("assumed", quantity.Many(assumed, "usual value")+": --all lists them, --sources names their sources")
	}
	p.b.WriteString("\n")
}

// fewUnknowns is the number of unknown inputs for which a line has room to say what the device
// needs.
const fewUnknowns = 2

// listUnknown names the unknown inputs and, if there are few, what the device needs.
func listUnknown(missing []predict.Missing) string {
	var all []string
	for _, m := range missing {
		text := m.Input
		if m.Needs != "" && len(missing) <= fewUnknowns {
			text += ": the device needs " + m.Needs
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// firstEpoch returns the utilisation in the first epoch, when nothing is in memory yet.
func firstEpoch(f question.Prediction) string {
	if f.First == nil {
		return ""
	}
	return fmt.Sprintf(", in the first epoch %s", quantity.Around(f.First.Utilization, quantity.Percent))
}

func perGPU(f question.Prediction) string {
	if f.Setup.GPUs <= 1 {
		return ""
	}
	return fmt.Sprintf(" on %s GPUs, %s each", quantity.About(f.Setup.GPUs),
		quantity.Around(f.Answer.PerGPU, quantity.About))
}

// writeStages prints a row per part of the path, with a bar to the likely time and a lighter
// one to the high end.
func (p *page) writeStages(f question.Prediction) {
	longest := 0.0
	for _, s := range f.Answer.Stages {
		longest = math.Max(longest, math.Max(report.ClampLength(s.Time.Point), report.ClampLength(s.Time.High)))
	}
	rows := [][]string{{"a step", "", "likely", "from", "to", ""}}
	width := max(10, p.width()-66)
	for _, s := range f.Answer.Stages {
		mark := ""
		bar := bars(s.Time, longest, width)
		if s.Stage == f.Answer.Bound.Stage && s.Resource == f.Answer.Bound.Resource {
			bar, mark = p.paint("31", bar), " binds"
		} else if s.Resource == stoker.GPU {
			bar = p.paint("32", bar)
		}
		rows = append(rows, []string{
			s.Stage.String(), report.NamePart(f, s.Stage, s.Resource),
			quantity.AboutSeconds(s.Time.Point), quantity.AboutSeconds(s.Time.Low), quantity.AboutSeconds(s.Time.High),
			bar + mark,
		})
	}
	p.writeTable(rows, "llrrrl")
	p.b.WriteString("\n")
}

// writeBound prints the limit and the next one.
func (p *page) writeBound(f question.Prediction) {
	for _, text := range report.DescribeBound(f) {
		p.printWrapped("  ", "  ", text)
	}
	p.b.WriteString("\n")
}

// writeSizing prints what a target needs.
func (p *page) writeSizing(z predict.Sizing) {
	s := report.ListNeeds(z)
	fmt.Fprintf(&p.b, "%s\n", p.makeBold(s.Title))
	if s.Says != "" {
		p.printWrapped("  ", "  ", s.Says)
	}
	if len(s.Rows) > 1 {
		p.writeTable(s.Rows, s.Align)
	}
	for _, text := range s.Lines {
		p.printWrapped("  - ", "    ", text)
	}
	p.b.WriteString("\n")
}

// walls prints a row per wall: the share of it that the job takes.
func (p *page) walls(walls []predict.Wall) {
	fmt.Fprintf(&p.b, "%s\n", p.makeBold("walls"))
	rows := [][]string{{"wall", "share", ""}}
	width := 20
	for _, wall := range walls {
		bar := bars(stoker.Exactly(math.Min(1, wall.Share.Point)), 1, width)
		mark := ""
		if wall.Hit {
			bar, mark = p.paint("31", bar), " hit"
		}
		rows = append(rows, []string{wall.Name, quantity.Percent(wall.Share.Point), bar + mark})
	}
	p.writeTable(rows, "lrl")
	p.b.WriteString("\n")
	for _, wall := range walls {
		p.printWrapped("  "+wall.Name+": ", "    ", report.Shorten(wall.Text, 600))
	}
	p.b.WriteString("\n")
}

// writeWaste prints the cost of the idle share.
func (p *page) writeWaste(f question.Prediction) {
	s := report.ListWaste(f)
	fmt.Fprintf(&p.b, "%s\n", p.makeBold(s.Title))
	for _, row := range s.Rows[1:] {
		fmt.Fprintf(&p.b, "  %-12s %s\n", row[0], row[1])
	}
	for _, note := range s.Lines {
		p.printWrapped("  - ", "    ", note)
	}
	if f.Prices.Source != "" && f.Sources {
		p.printWrapped("  - ", "    ", report.Shorten(f.Prices.Source, 900))
	}
	p.b.WriteString("\n")
}

// inputs lists the basis of the answer, then how each part was computed; without Sources only
// the assumed values.
func (p *page) inputs(f question.Prediction) {
	var lines []string
	if !f.Sources {
		for _, in := range f.Inputs {
			if in.Source != question.Given {
				lines = append(lines, in.Name+" "+in.Value)
			}
		}
		if len(lines) > 0 {
			p.writeList("assumed (--sources names the source)", []string{strings.Join(lines, ", ")})
		}
		return
	}
	for _, in := range f.Inputs {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", in.Name, in.Value, in.Source))
	}
	for _, s := range f.Answer.Stages {
		line := fmt.Sprintf("%s, %s:", s.Stage, report.NamePart(f, s.Stage, s.Resource))
		switch {
		case len(f.Points) > 0 && s.Source == "":
			continue // computed from the inputs above, for each setting
		case len(f.Points) > 0:
			line += " " + s.Source
		case s.Source != "":
			line += fmt.Sprintf(" %s (%s)", s.Text, s.Source)
		default:
			line += " " + s.Text
		}
		lines = append(lines, line)
	}
	p.writeList("what this rests on", lines)
}
