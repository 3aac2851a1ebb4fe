package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Lists names the tables that --list prints.
var Lists = []string{
	"gpus", "models", "language", "storage", "profiles", "grids", "links", "networks", "cpus",
	"settings",
}

// printTable prints the table that --list names.
func printTable(a *cli.App, q *question.Question) error {
	rows := rowsOf(q.Text("list"), q.Table)
	if rows == nil {
		return cli.AsUsage(fmt.Errorf("--list %q: expected one of %s", q.Text("list"), strings.Join(Lists, ", ")))
	}
	a.Began = true
	switch {
	case q.On("json"):
		return wire.WriteTable(a.Stdout, q.Text("list"), rows)
	case q.On("csv"):
		return wire.WriteCSV(a.Stdout, rows)
	}
	return text.WriteTable(a.Stdout, rows, a.TextStyle(a.Stdout))
}

func rowsOf(name string, table hardware.Table) [][]string {
	switch name {
	case "gpus":
		return gpuRows(table)
	case "models":
		return ModelRows()
	case "language":
		return languageRows()
	case "storage":
		return storageRows(table)
	case "profiles":
		return ProfileRows()
	case "grids":
		return gridRows(table)
	case "links":
		return linkRows(table)
	case "networks":
		return networkRows(table)
	case "cpus":
		return cpuRows(table)
	case "settings":
		return settingRows()
	}
	return nil
}

// settingRows lists the settings, and whether a live run or a trace can forecast their effect.
func settingRows() [][]string {
	yes := map[bool]string{true: "yes"}
	rows := [][]string{{"name", "values", "law", "replay", "what"}}
	for _, s := range stoker.AllSettings() {
		rows = append(rows, []string{string(s), s.Expects(), yes[predict.Models(s)], yes[replay.Models(s)], s.Title()})
	}
	return rows
}

func gpuRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "fp16", "memory", "memory rate", "link", "power", "price", "sources"}}
	for _, g := range table.GPUs {
		rows = append(rows, []string{
			g.Name, show(g.FP16, quantity.AboutFLOPs), show(g.MemoryBytes, quantity.AboutBytes),
			show(g.MemoryRate, quantity.AboutRate), g.Link,
			show(g.PowerLimit, func(v float64) string { return quantity.About(v) + " W" }),
			show(g.Price, func(v float64) string { return "$" + quantity.About(v) + "/h" }),
			sourcesOf(g.FP16, g.MemoryBytes, g.MemoryRate, g.PowerLimit, g.Price),
		})
	}
	return rows
}

// ModelRows returns the table of networks.
func ModelRows() [][]string {
	rows := [][]string{{"name", "title", "sample", "parameters", "forward GFLOP", "usual data", "sources"}}
	for _, w := range slices.Concat(device.Workloads, device.Counted()) {
		unit := w.Unit
		switch {
		case w.Side > 0:
			unit += fmt.Sprintf(", side %.0f", w.Side)
		case w.Tokens > 0:
			unit += fmt.Sprintf(", %.0f tokens", w.Tokens)
		}
		rows = append(rows, []string{
			w.Name, w.Title, unit, quantity.About(w.Params.Value/1e6) + " M", quantity.About(w.Forward.Value / 1e9),
			w.Profile, sourcesOf(w.Params, w.Forward),
		})
	}
	return rows
}

func storageRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "title", "rate", "random reads/s", "latency", "sources"}}
	for _, s := range table.Storages {
		rows = append(rows, []string{
			s.Name, s.Title, show(s.Rate, quantity.AboutRate), show(s.IOPS, quantity.About), showLatency(s),
			sourcesOf(s.Rate, s.IOPS, s.Latency),
		})
	}
	return rows
}

func showLatency(s hardware.Storage) string {
	if s.LatencyEnds[0] > 0 {
		return quantity.AboutSeconds(s.LatencyEnds[0]) + " to " + quantity.AboutSeconds(s.LatencyEnds[1])
	}
	return show(s.Latency, quantity.AboutSeconds)
}

// ProfileRows returns the table of kinds of data.
func ProfileRows() [][]string {
	rows := [][]string{{"name", "stored", "copied", "core time", "per", "sources"}}
	for _, p := range predict.Profiles {
		per := "sample"
		if p.PerToken {
			per = "token"
		}
		rows = append(rows, []string{
			p.Name, quantity.AboutBytes(p.Stored.Point), quantity.AboutBytes(p.Decoded.Point),
			quantity.AboutSeconds(p.Prepare.Point), per,
			p.Sample + ". " + strings.Join([]string{p.Stored.Source, p.Decoded.Source, p.Prepare.Source}, "; "),
		})
	}
	return rows
}

func gridRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "title", "g CO2e/kWh", "$/kWh", "sources"}}
	for _, g := range table.Grids {
		rows = append(rows, []string{
			g.Name, g.Title, show(g.Carbon, quantity.About), show(g.Price, quantity.About),
			sourcesOf(g.Carbon, g.Price),
		})
	}
	return rows
}

func linkRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "nominal", "pinned", "pageable", "sources"}}
	for _, l := range table.Links {
		pageable := show(l.Pageable[0], quantity.AboutRate) + " to " + show(l.Pageable[1], quantity.AboutRate)
		rows = append(rows, []string{
			l.Name, show(l.Nominal, quantity.AboutRate), show(l.Pinned, quantity.AboutRate),
			pageable, sourcesOf(l.Nominal, l.Pinned, l.Pageable[0]),
		})
	}
	return rows
}

func networkRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "title", "rate of a machine", "source"}}
	for _, n := range table.Networks {
		rows = append(rows, []string{n.Name, n.Title, show(n.Rate, quantity.AboutRate), n.Rate.Source})
	}
	return rows
}

func cpuRows(table hardware.Table) [][]string {
	rows := [][]string{{"name", "title", "library", "images/s", "source"}}
	for _, c := range table.CPUs {
		for _, d := range c.Decode {
			rows = append(rows, []string{c.Name, c.Title, d.Library, show(d.Rate, quantity.About), d.Rate.Source})
		}
	}
	return rows
}

// show prints a figure, or "unknown".
func show(f hardware.Figure, text func(float64) string) string {
	if !f.Known() {
		return "unknown"
	}
	return text(f.Value)
}

// sourcesOf joins the sources of a row's figures without repeating any.
func sourcesOf(figures ...hardware.Figure) string {
	var all []string
	for _, f := range figures {
		if f.Known() && !slices.Contains(all, f.Source) {
			all = append(all, f.Source)
		}
	}
	return strings.Join(all, ", ")
}

// languageRows returns the table of language models.
func languageRows() [][]string {
	rows := [][]string{{
		"name", "title", "parameters", "active", "layers", "width", "heads", "KV heads", "experts",
		"words", "sources",
	}}
	for _, m := range language.Models {
		experts := ""
		if m.Experts > 0 {
			experts = fmt.Sprintf("%s of %s", quantity.About(m.Chosen+m.Always), quantity.About(m.Experts+m.Always))
		}
		rows = append(rows, []string{
			m.Name, m.Title, quantity.About(m.Params()/1e9) + " B", quantity.About(m.Active()/1e9) + " B",
			fmt.Sprintf("%.0f", m.Layers),
			fmt.Sprintf("%.0f", m.Width), fmt.Sprintf("%.0f", m.Heads), fmt.Sprintf("%.0f", m.KVHeads), experts,
			fmt.Sprintf("%.0f", m.Words), m.Source,
		})
	}
	return rows
}
