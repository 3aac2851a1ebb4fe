package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
)

// Prediction is a setup with what predict says about it, for all faces. What was
// not asked for is nil.
type Prediction struct {
	Title  string  // "ResNet-50, training, fp16, batch 256 on NVIDIA H100 80GB HBM3"
	Inputs []Input // what the answer rests on

	Sources bool // say where each input and each part comes from, not only what was taken unasked

	Setup  predict.Setup
	Answer predict.Answer
	First  *predict.Answer // of the first epoch, where later ones find samples in memory

	Sizing *predict.Sizing
	Walls  []predict.Wall
	Waste  *predict.Waste // of Hours GPU hours
	Hours  float64
	Prices predict.Prices

	Axes   []predict.Axis // of a sweep; Setup and Answer are then its first setting
	Points []predict.Point

	Roofline *predict.Roofline
}

// Input is one thing that the answer rests on.
type Input struct {
	Name   string
	Value  string
	Source string // "given", or where it comes from
}

// Bounds are the words for what can bind; pictures colour them in this order.
var Bounds = []string{"compute", "workers", "cores", "storage", "main thread", "link", "network"}

// Binds is the word for a part of the path: for what binds, and in rows.
func Binds(stage stoker.Stage, r stoker.Resource) string {
	switch r {
	case stoker.Storage:
		return "storage"
	case stoker.Worker:
		return "workers"
	case stoker.CPU:
		return "cores"
	case stoker.MainThread:
		return "main thread"
	case stoker.Link:
		return "link"
	case stoker.GPU:
		return "compute"
	case stoker.Network:
		return "network"
	}
	if r == "" {
		return "unknown"
	}
	return stage.String() + " " + string(r)
}

// partOf names a part for people; without workers the launching thread prepares.
func partOf(f Prediction, stage stoker.Stage, r stoker.Resource) string {
	if r == stoker.MainThread && f.Setup.Workers == 0 {
		return "launching thread"
	}
	return map[string]string{
		"storage": "storage", "workers": "workers", "cores": "cores", "main thread": "collecting process", "link": "host link", "compute": "device", "network": "exchange",
	}[Binds(stage, r)]
}

// PredictText writes a prediction for people.
func PredictText(w io.Writer, f Prediction, style Style) error {
	p := newPage(style, &f)
	fmt.Fprintf(&p.b, "%s\n\n", p.bold(cut(f.Title, 300)))
	switch {
	case f.Roofline != nil:
		p.roofline(*f.Roofline)
	case len(f.Points) > 0:
		p.swept(f)
	default:
		p.answer(f)
	}
	if len(f.Walls) > 0 {
		p.walls(f.Walls)
	}
	if f.Sizing != nil {
		p.sizing(*f.Sizing)
	}
	if f.Waste != nil {
		p.waste(f)
	}
	if f.Roofline == nil && len(f.Points) == 0 {
		p.list("what would have to be true for this to be wrong", f.Answer.Wrong)
	}
	if f.Roofline == nil {
		p.unknowns(f.Answer.Unknown)
	}
	p.inputs(f)
	p.list("note", f.Answer.Notes)
	return p.to(w)
}

// answer is one setting: the result, then the parts of a step with bars.
func (p *page) answer(f Prediction) {
	a := f.Answer
	row := func(name, value string) { fmt.Fprintf(&p.b, "  %-12s %s\n", name, value) }
	row("utilisation", p.colour(useColour(a.Utilization.Point), stoker.Around(a.Utilization, stoker.Percent)))
	row("throughput", stoker.Around(a.Throughput, stoker.About)+" samples/s"+perGPU(f))
	row("step", stoker.Around(a.Step, stoker.AboutSeconds))
	row("stall", "the device waits for input "+stoker.Around(a.Stall, stoker.Percent)+" of the step")
	if f.First != nil {
		row("first epoch", fmt.Sprintf("utilisation %s, step %s: nothing is in memory yet", stoker.Around(f.First.Utilization, stoker.Percent), stoker.Around(f.First.Step, stoker.AboutSeconds)))
	}
	p.b.WriteString("\n")
	p.stages(f)
	p.bound(f)
}

func perGPU(f Prediction) string {
	if f.Setup.GPUs <= 1 {
		return ""
	}
	return fmt.Sprintf(" on %s GPUs, %s each", stoker.About(f.Setup.GPUs), stoker.Around(f.Answer.PerGPU, stoker.About))
}

// useColour is green where the device works nearly always, red where it starves.
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

// stages is a row per part of the path, with a bar to the likely time and a
// lighter one to the high end.
func (p *page) stages(f Prediction) {
	longest := 0.0
	for _, s := range f.Answer.Stages {
		longest = math.Max(longest, math.Max(zero(s.Time.Point), zero(s.Time.High)))
	}
	rows := [][]string{{"a step", "", "likely", "from", "to", ""}}
	width := max(10, p.width()-66)
	for _, s := range f.Answer.Stages {
		mark := ""
		bar := bars(s.Time, longest, width)
		if s.Stage == f.Answer.Bound.Stage && s.Resource == f.Answer.Bound.Resource {
			bar, mark = p.colour("31", bar), " binds"
		} else if s.Resource == stoker.GPU {
			bar = p.colour("32", bar)
		}
		rows = append(rows, []string{s.Stage.String(), partOf(f, s.Stage, s.Resource), stoker.AboutSeconds(s.Time.Point), stoker.AboutSeconds(s.Time.Low), stoker.AboutSeconds(s.Time.High), bar + mark})
	}
	p.table(rows, "llrrrl")
	p.b.WriteString("\n")
}

// bars draws an interval from 0: solid to the point, light to the high end.
func bars(i stoker.Interval, longest float64, width int) string {
	if !i.Known() || !(longest > 0) {
		return ""
	}
	cells := func(v float64) int { return int(math.Round(zero(v) / longest * float64(width))) }
	solid := cells(i.Point)
	return strings.Repeat("█", solid) + strings.Repeat("░", max(0, cells(i.High)-solid))
}

// bound says what binds and what comes after it.
func (p *page) bound(f Prediction) {
	a := f.Answer
	text := "What limits the step is unknown."
	switch {
	case a.Bound.Resource != "":
		text = sentence(fmt.Sprintf("%s is the limit (%s).", a.Bound.Stage, partOf(f, a.Bound.Stage, a.Bound.Resource)))
	case a.Longest.Resource != "":
		text += fmt.Sprintf(" Of what is known, %s takes longest (%s).", a.Longest.Stage, partOf(f, a.Longest.Stage, a.Longest.Resource))
	}
	if a.Bound.Resource != "" && a.Next.Resource != "" {
		times := func(v float64) string { return stoker.About(v) + "x" }
		text += fmt.Sprintf(" Without it a step gets %s faster; after that %s is the limit (%s).", stoker.Around(a.Gain, times), a.Next.Stage, partOf(f, a.Next.Stage, a.Next.Resource))
	}
	if a.Crossover.Text != "" {
		text += " " + sentence(a.Crossover.Text)
		if b := a.Crossover.Batch; b.Known() && b.Low < b.High {
			text += fmt.Sprintf(" (%s to %s)", stoker.About(b.Low), stoker.About(b.High))
		}
		text = strings.TrimSuffix(text, ".") + "."
	}
	p.wrapped("  ", "  ", text)
	d := a.Demand
	reads, copies := "", ""
	if d.Reads.Point > 0 {
		reads = fmt.Sprintf(" and %s reads/s", stoker.Around(d.Reads, stoker.About))
	}
	if !f.Setup.Pinned {
		copies = " from pinned memory (copies from pageable memory add to compute)"
	}
	p.wrapped("  ", "  ", fmt.Sprintf("To compute all the time the device needs %s samples/s: storage %s%s, %s cores, %s workers per GPU, link %s%s.",
		stoker.Around(d.Samples, stoker.About), stoker.Around(d.Storage, stoker.AboutRate), reads, stoker.Around(d.Cores, stoker.About), stoker.Around(d.Workers, stoker.About), stoker.Around(d.Link, stoker.AboutRate), copies))
	p.b.WriteString("\n")
}

// sizing is what a target takes.
func (p *page) sizing(z predict.Sizing) {
	s := sizingSheet(z)
	fmt.Fprintf(&p.b, "%s\n", p.bold(s.Title))
	if s.Says != "" {
		p.wrapped("  ", "  ", s.Says)
	}
	if len(s.Rows) > 1 {
		p.table(s.Rows, s.Align)
	}
	for _, text := range s.Lines {
		p.wrapped("  - ", "    ", text)
	}
	p.b.WriteString("\n")
}

func sizingSheet(z predict.Sizing) sheet {
	s := sheet{Title: fmt.Sprintf("what %s utilisation takes", stoker.Percent(z.Target)), Rows: [][]string{{"", "has", "needs", "from", "to"}}, Align: "lrrrr"}
	if z.Reached {
		s.Says = "reached already, by the likely values"
	}
	for _, n := range z.Changes {
		text := needText(n)
		s.Rows = append(s.Rows, []string{n.Input + unitOf(n), text(n.From), text(n.To.Point), text(n.To.Low), text(n.To.High)})
	}
	for _, text := range z.Impossible {
		s.Lines = append(s.Lines, cut(text, 600))
	}
	for _, m := range z.Unknown {
		s.Lines = append(s.Lines, m.Input+" is unknown: what depends on it is not sized")
	}
	return s
}

func needText(n predict.Need) func(float64) string {
	switch n.Unit {
	case "bytes/s":
		return stoker.AboutRate
	case "bool":
		return func(v float64) string { return strconv.FormatBool(v != 0) }
	}
	return func(v float64) string {
		if !stat.Finite(v) {
			return "unknown"
		}
		return stoker.About(math.Ceil(v))
	}
}

func unitOf(n predict.Need) string {
	return map[string]string{"per GPU": " per GPU", "reads/s": "/s"}[n.Unit]
}

// walls is a row per wall: how much of it the job takes.
func (p *page) walls(walls []predict.Wall) {
	fmt.Fprintf(&p.b, "%s\n", p.bold("walls"))
	rows := [][]string{{"wall", "share", ""}}
	width := 20
	for _, wall := range walls {
		bar := bars(stoker.Exactly(math.Min(1, wall.Share.Point)), 1, width)
		mark := ""
		if wall.Hit {
			bar, mark = p.colour("31", bar), " hit"
		}
		rows = append(rows, []string{wall.Name, stoker.Percent(wall.Share.Point), bar + mark})
	}
	p.table(rows, "lrl")
	p.b.WriteString("\n")
	for _, wall := range walls {
		p.wrapped("  "+wall.Name+": ", "    ", cut(wall.Text, 600))
	}
	p.b.WriteString("\n")
}

// waste is what the idle share costs.
func (p *page) waste(f Prediction) {
	s := wasteSheet(f)
	fmt.Fprintf(&p.b, "%s\n", p.bold(s.Title))
	for _, row := range s.Rows[1:] {
		fmt.Fprintf(&p.b, "  %-12s %s\n", row[0], row[1])
	}
	for _, note := range s.Lines {
		p.wrapped("  - ", "    ", note)
	}
	if f.Prices.Source != "" && f.Sources {
		p.wrapped("  - ", "    ", cut(f.Prices.Source, 900))
	}
	p.b.WriteString("\n")
}

func wasteSheet(f Prediction) sheet {
	w := f.Waste
	return sheet{
		Title: fmt.Sprintf("what idling costs, of %s GPU hours", stoker.About(f.Hours)), Align: "ll", Lines: w.Notes,
		Rows: [][]string{
			{"", ""},
			{"idle", stoker.Around(w.GPUHours, stoker.About) + " GPU hours"},
			{"money", stoker.Around(w.Dollars, stoker.About) + " $"},
			{"energy", stoker.Around(w.KWh, stoker.About) + " kWh"},
			{"carbon", stoker.Around(w.KgCO2, stoker.About) + " kg CO2e"},
		},
	}
}

func (p *page) unknowns(missing []predict.Missing) {
	p.list("unknown, and what the device needs it to be", unknownLines(missing))
}

func unknownLines(missing []predict.Missing) (lines []string) {
	for _, m := range missing {
		line := m.Input
		if m.Needs != "" {
			line += ": " + m.Needs
		}
		lines = append(lines, line)
	}
	return lines
}

// Given is the source of an input that the asker named.
const Given = "given"

// inputs lists what the answer rests on, then how each part was computed; without
// Sources only what was taken though nobody gave it.
func (p *page) inputs(f Prediction) {
	var lines []string
	if !f.Sources {
		for _, in := range f.Inputs {
			if in.Source != Given {
				lines = append(lines, in.Name+" "+in.Value)
			}
		}
		if len(lines) > 0 {
			p.list("assumed (--sources says from where)", []string{strings.Join(lines, "; ")})
		}
		return
	}
	for _, in := range f.Inputs {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", in.Name, in.Value, in.Source))
	}
	for _, s := range f.Answer.Stages {
		line := fmt.Sprintf("%s, %s:", s.Stage, partOf(f, s.Stage, s.Resource))
		switch {
		case len(f.Points) > 0 && s.Source == "":
			continue // computed from what stands above, anew for each setting
		case len(f.Points) > 0:
			line += " " + s.Source
		case s.Source != "":
			line += fmt.Sprintf(" %s (%s)", s.Text, s.Source)
		default:
			line += " " + s.Text
		}
		lines = append(lines, line)
	}
	p.list("what this rests on", lines)
}

// known prints the point of an interval, or the end of it that is known.
func known(i stoker.Interval, text func(float64) string) string {
	switch {
	case i.Known():
		return text(i.Point)
	case stat.Finite(i.High):
		return "<= " + text(i.High)
	case i.Low > 0:
		return ">= " + text(i.Low)
	}
	return "unknown"
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// zero takes what is unknown as nothing, for lengths of bars.
func zero(v float64) float64 {
	if stat.Finite(v) && v > 0 {
		return v
	}
	return 0
}

func (p *page) width() int {
	if p.style.Width == 0 {
		return 100
	}
	return p.style.Width
}
