package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
)

// Bounds lists the names of limits in the order of their colours in pictures.
var Bounds = []string{"compute", "workers", "cores", "storage", "main thread", "link", "network"}

// NameLimit returns the name of a part of the path, as limit and in rows.
func NameLimit(stage stoker.Stage, r stoker.Resource) string {
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
	case stoker.Loop, stoker.Waiting: // only for fixes of a run
	}
	if r == "" {
		return "unknown"
	}
	return stage.String() + " " + string(r)
}

// NamePart names a part for readers; without workers the launching thread prepares batches.
func NamePart(f question.Prediction, stage stoker.Stage, r stoker.Resource) string {
	if r == stoker.MainThread && f.Setup.InLoop {
		return "launching thread"
	}
	return map[string]string{
		"storage": "storage", "workers": "workers", "cores": "cores", "main thread": "collecting process",
		"link": "host link", "compute": "device", "network": "exchange",
	}[NameLimit(stage, r)]
}

// SummariseLimit says in one line what the limit is and which one is next.
func SummariseLimit(f question.Prediction) string {
	a := f.Answer
	part := func(l predict.Limit) string { return l.Stage.String() + " (" + NamePart(f, l.Stage, l.Resource) }
	switch {
	case a.Bound.Resource == "" && a.Longest.Resource == "":
		return "unknown"
	case a.Bound.Resource == "":
		return "unknown, but of what is known " + part(a.Longest) + ") takes longest"
	}
	text := part(a.Bound) + describeWaits(a) + ")"
	if a.Next.Resource != "" {
		less := "without it"
		if a.Bound.Resource == stoker.GPU {
			less = "with a quicker device at most"
		}
		text += fmt.Sprintf(", %s %sx faster, then %s)", less, quantity.About(a.Gain.Point), part(a.Next))
	}
	return text
}

// SummariseEnough says how many of the workers that were asked for do as much; "" if all are needed.
func SummariseEnough(f question.Prediction) string {
	if f.Enough == 0 {
		return ""
	}
	return fmt.Sprintf("%d do as much as %s: the others take memory and wait", f.Enough, quantity.About(f.Setup.Workers))
}

// SummariseDemand says in one line what the device needs to stay busy.
func SummariseDemand(a predict.Answer) string {
	d := a.Demand
	var parts []string
	for _, one := range []struct {
		i    stoker.Interval
		text func(float64) string
	}{
		{d.Samples, func(v float64) string { return quantity.About(v) + " samples/s" }},
		{d.Storage, func(v float64) string { return quantity.AboutRate(v) + " of storage" }},
		{d.Cores, func(v float64) string { return quantity.About(v) + " cores" }},
		{d.Workers, func(v float64) string {
			return quantity.About(v) + quantity.Ending(v, " worker", " workers") + " a GPU"
		}},
	} {
		if one.i.Point > 0 && !math.IsInf(one.i.Point, 0) {
			parts = append(parts, one.text(one.i.Point))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ")
}

// WhatDecides lists what makes the answer's interval wide, each with the flag that narrows it.
func WhatDecides(f question.Prediction) (all []string) {
	var unnamed []string
	for _, in := range f.Inputs {
		if strings.HasPrefix(in.Value, "unnamed") {
			unnamed = append(unnamed, "--"+in.Name)
		}
	}
	if len(unnamed) > 0 {
		all = append(all, strings.Join(unnamed, " and ")+", not named")
	}
	if latency := f.Setup.Latency; WaitsForStorage(f.Answer) && latency.High > latency.Low {
		all = append(all, fmt.Sprintf("how soon storage answers, %s to %s (--latency)", quantity.AboutSeconds(latency.Low),
			quantity.AboutSeconds(latency.High)))
	}
	for _, text := range f.Answer.Wrong {
		if sentence, found := strings.CutSuffix(text, predict.EstimateDecides); found && len(all) == 0 {
			return append(all, sentence)
		}
	}
	return all
}

// DescribeBound says what the limit is, which one is next, and what the device could process.
func DescribeBound(f question.Prediction) []string {
	a := f.Answer
	text := "What limits the step is unknown."
	switch {
	case a.Bound.Resource != "":
		text = Capitalise(fmt.Sprintf("%s is the limit (%s%s).", a.Bound.Stage,
			NamePart(f, a.Bound.Stage, a.Bound.Resource), describeWaits(a)))
	case a.Longest.Resource != "":
		text += fmt.Sprintf(" Of what is known, %s takes longest (%s).", a.Longest.Stage,
			NamePart(f, a.Longest.Stage, a.Longest.Resource))
	}
	if a.Bound.Resource != "" && a.Next.Resource != "" {
		times := func(v float64) string { return quantity.About(v) + "x" }
		less := "Without it a step gets"
		if a.Bound.Resource == stoker.GPU {
			less = "On a quicker device a step gets at most"
		}
		text += fmt.Sprintf(" %s %s faster, and then %s is the limit (%s).", less,
			quantity.Around(a.Gain, times), a.Next.Stage, NamePart(f, a.Next.Stage, a.Next.Resource))
	}
	if a.Crossover.Text != "" {
		text += " " + Capitalise(a.Crossover.Text)
		if b := a.Crossover.Batch; b.Known() && b.Low < b.High {
			text += fmt.Sprintf(" (%s to %s)", quantity.About(b.Low), quantity.About(b.High))
		}
		text = strings.TrimSuffix(text, ".") + "."
	}
	d := a.Demand
	reads, copies := "", ""
	if d.Reads.Point > 0 {
		reads = fmt.Sprintf(" and %s reads/s", quantity.Around(d.Reads, quantity.About))
	}
	if !f.Setup.Pinned {
		copies = " from pinned memory (copies from pageable memory add to compute)"
	}
	lines := []string{
		text,
		fmt.Sprintf("To compute all the time the device needs %s samples/s: storage %s%s, %s cores, %s workers per "+
			"GPU, link %s%s.",
			quantity.Around(d.Samples, quantity.About), quantity.Around(d.Storage, quantity.AboutRate), reads,
			quantity.Around(d.Cores, quantity.About), quantity.Around(d.Workers, quantity.About),
			quantity.Around(d.Link, quantity.AboutRate), copies),
	}
	if enough := SummariseEnough(f); enough != "" {
		lines = append(lines, "Of the workers "+enough+".")
	}
	return lines
}

// mostlyWaits is the share of workers' time spent waiting for storage from which this is
// reported.
const mostlyWaits = 0.5

// WaitsForStorage reports whether workers are the limit because they wait for storage.
func WaitsForStorage(a predict.Answer) bool {
	return a.Bound.Resource == stoker.Worker && a.Waits.Point >= mostlyWaits
}

func describeWaits(a predict.Answer) string {
	if !WaitsForStorage(a) {
		return ""
	}
	return ", waiting for storage " + quantity.Percent(a.Waits.Point) + " of their time"
}

// ListNeeds returns a table of what each part must provide for a target.
func ListNeeds(z predict.Sizing) Sheet {
	s := Sheet{
		Title: fmt.Sprintf("what %s utilisation takes", quantity.Percent(z.Target)),
		Rows:  [][]string{{"", "has", "needs", "from", "to"}}, Align: "lrrrr",
	}
	if z.Reached {
		s.Says = "reached already, by the likely values"
	}
	for _, n := range z.Changes {
		text := needText(n)
		s.Rows = append(s.Rows, []string{
			n.Input + unitOf(n), text(n.From), text(n.To.Point), text(n.To.Low),
			text(n.To.High),
		})
	}
	if text := describeElsewhere(z); text != "" {
		s.Lines = append(s.Lines, text)
	}
	for _, text := range z.Impossible {
		s.Lines = append(s.Lines, Shorten(text, 600))
	}
	for _, text := range z.Worst {
		s.Lines = append(s.Lines,
			Shorten("the upper ends are unknown: if the device is as fast and input as slow as their intervals allow, "+
				text, 600))
	}
	for _, m := range z.Unknown {
		s.Lines = append(s.Lines, m.Input+" is unknown: what depends on it is not sized")
	}
	return s
}

// describeElsewhere says what workers on other nodes need, where this machine has too few cores.
func describeElsewhere(z predict.Sizing) string {
	short := slices.ContainsFunc(z.Changes, func(n predict.Need) bool { return n.Input == "cores" })
	if !short || z.Setup.InLoop || !stat.Finite(z.Cores.Point) || !stat.Finite(z.Batches.Point) {
		return ""
	}
	bits := func(v float64) string { return quantity.About(8 * v / 1e9) }
	return fmt.Sprintf("or %s cores on other nodes (stoker feed --ray): their batches take %s (%s to %s) Gbit/s of this machine's network",
		quantity.About(math.Ceil(z.Cores.Point)), bits(z.Batches.Point), bits(z.Batches.Low), bits(z.Batches.High))
}

func needText(n predict.Need) func(float64) string {
	switch n.Unit {
	case "bytes/s":
		return quantity.AboutRate
	case "bool":
		return func(v float64) string { return strconv.FormatBool(v != 0) }
	}
	return func(v float64) string {
		if !stat.Finite(v) {
			return "unknown"
		}
		return quantity.About(math.Ceil(v))
	}
}

func unitOf(n predict.Need) string {
	return map[string]string{"per GPU": " per GPU", "reads/s": "/s"}[n.Unit]
}

// ListWaste returns a table of the cost of idle time.
func ListWaste(f question.Prediction) Sheet {
	w := f.Waste
	return Sheet{
		Title: fmt.Sprintf("what idling costs, of %s GPU hours", quantity.About(f.Hours)), Align: "ll", Lines: w.Notes,
		Rows: [][]string{
			{"", ""},
			{"idle", quantity.Around(w.GPUHours, quantity.About) + " GPU hours"},
			{"money", quantity.Around(w.Dollars, quantity.About) + " $"},
			{"energy", quantity.Around(w.KWh, quantity.About) + " kWh"},
			{"carbon", quantity.Around(w.KgCO2, quantity.About) + " kg CO2e"},
		},
	}
}

// ListUnknowns returns lines that name the missing inputs.
func ListUnknowns(missing []predict.Missing) (lines []string) {
	for _, m := range missing {
		line := m.Input
		if m.Needs != "" {
			line += ": " + m.Needs
		}
		lines = append(lines, line)
	}
	return lines
}

// FormatKnown prints the point of an interval, or else its known end.
func FormatKnown(i stoker.Interval, text func(float64) string) string {
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

// Capitalise makes the first letter of a text upper-case.
func Capitalise(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// ClampLength replaces unknown and negative values by 0, for lengths of bars.
func ClampLength(v float64) float64 {
	if stat.Finite(v) && v > 0 {
		return v
	}
	return 0
}

// MostRows is the number of settings of a sweep shown on a terminal; CSV and JSON have all.
const MostRows = 64

// ListSettings returns rows for the settings of a sweep over one setting, each with a bar of
// utilisation.
func ListSettings(f question.Prediction, bar func(use float64) string) [][]string {
	axis := f.Axes[0]
	rows := [][]string{{axis.Name, "step", "samples/s", "from", "to", "binds", "utilisation", ""}}
	each := (len(f.Points) + MostRows - 1) / MostRows
	value := func(i int) string {
		if len(axis.Storages) > 0 {
			return axis.Storages[i].Name
		}
		return FormatAxis(axis.Name, f.Points[i].X)
	}
	for i := 0; i < len(f.Points); i += each {
		q := f.Points[i]
		if q.Fits == predict.No {
			rows = append(rows, []string{value(i), "", "", "", "", "no room", "", ""})
			continue
		}
		rows = append(rows, []string{
			value(i), FormatKnown(q.Step, quantity.AboutSeconds), FormatKnown(q.Throughput, quantity.About),
			quantity.About(q.Throughput.Low), quantity.About(q.Throughput.High),
			NameLimit(q.BoundStage, q.Bound), FormatKnown(q.Utilization, quantity.Percent), bar(q.Utilization.Point),
		})
	}
	return rows
}
