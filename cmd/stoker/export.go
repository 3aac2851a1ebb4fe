package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/export"
)

// exports are the formats that export writes, by how a file's name ends or begins.
var exports = []struct {
	name  string
	fits  func(base string) bool
	write func(w io.Writer, j judged) error
}{
	{"Prometheus text (FILE.prom)", ends(".prom"), func(w io.Writer, j judged) error {
		return export.Prometheus(w, j.run, j.verdict, forecastsOf(j.plan))
	}},
	{"Chrome trace (FILE.json, FILE.json.gz), for ui.perfetto.dev", ends(".json", ".json.gz"), func(w io.Writer, j judged) error {
		return export.Live(w, j.run)
	}},
	{"TensorBoard events (events.out.tfevents.*, or a folder)", func(base string) bool { return strings.HasPrefix(base, tfevents) }, func(w io.Writer, j judged) error {
		return export.TensorBoard(w, j.run)
	}},
}

// tfevents is how the names of TensorBoard's files begin.
const tfevents = "events.out.tfevents."

func ends(suffixes ...string) func(string) bool {
	return func(base string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(base, s) {
				return true
			}
		}
		return false
	}
}

func (a *app) export() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export [RUN] -o FILE",
		Short: "Write a run in another tool's format: Prometheus, TensorBoard, Chrome trace",
		Long: `Write a recording (default: the newest here) in another tool's format. The name of FILE says which: .prom is
Prometheus' text format, as node_exporter's textfile collector takes it; .json or .json.gz a Chrome trace with steps,
waits and all signals; events.out.tfevents.NAME, or a folder that is there, TensorBoard's event file.`,
		Example: `  stoker export -o /var/lib/node_exporter/stoker.prom
  stoker export -o run.json.gz stoker-runs/2026-11-21T101500-train.jsonl.gz
  stoker export -o logs/ && tensorboard --logdir logs`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runExport(cmd.Context(), args, file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write; its name says the format")
	return cmd
}

func (a *app) runExport(ctx context.Context, args []string, file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, fmt.Sprintf("%s%d.stoker", tfevents, time.Now().Unix()))
	}
	for _, f := range exports {
		if file == "" || !f.fits(filepath.Base(file)) {
			continue
		}
		a.began = true
		j, err := a.judge(args)
		if err != nil {
			return err
		}
		if err := writeFiles(ctx, output{file, toOthers, func(w io.Writer) error { return f.write(w, j) }}); err != nil {
			return err
		}
		a.say("%s is written", file)
		return nil
	}
	var known []string
	for _, f := range exports {
		known = append(known, f.name)
	}
	return usageError{fmt.Errorf("export -o %q: the name says no format; there are: %s", file, strings.Join(known, ", "))}
}

func forecastsOf(plan advise.Plan) []export.Forecast {
	var all []export.Forecast
	for _, f := range plan.Fixes {
		all = append(all, export.Forecast{Fix: f.Name, Speedup: f.Forecast.Speedup})
	}
	return all
}
