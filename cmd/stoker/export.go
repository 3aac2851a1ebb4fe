package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// exports are the formats that export writes, by how a file's name ends or begins: of one
// judged recording, or a table of many.
var exports = []struct {
	name  string
	fits  func(base string) bool
	write func(w io.Writer, j judgedRecording) error
	table func(w io.Writer, runs iter.Seq2[string, *recording.Run]) error
}{
	{name: "Prometheus text (FILE.prom)", fits: ends(".prom"), write: func(w io.Writer, j judgedRecording) error {
		return export.Prometheus(w, j.run, j.verdict, forecastsOf(j.plan))
	}},
	{
		name: "Chrome trace (FILE.json, FILE.json.gz), for ui.perfetto.dev", fits: ends(".json", ".json.gz"),
		write: func(w io.Writer, j judgedRecording) error { return export.Live(w, j.run) },
	},
	{
		name:  "TensorBoard events (events.out.tfevents.*, or a folder)",
		fits:  func(base string) bool { return strings.HasPrefix(base, tfevents) },
		write: func(w io.Writer, j judgedRecording) error { return export.TensorBoard(w, j.run) },
	},
	{name: "CSV of steps (*steps.csv, *steps.csv.gz)", fits: ends("steps.csv", "steps.csv.gz"), table: export.Steps},
	{
		name: "CSV of signals (*signals.csv, *signals.csv.gz)", fits: ends("signals.csv", "signals.csv.gz"),
		table: export.Signals,
	},
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

func (a *app) exportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export [RUN...] -o FILE",
		Short: "Write a run for Prometheus, TensorBoard, Perfetto or as CSV",
		Long: `Write a recording (default: the newest here) in another tool's format, chosen by the name of FILE:
.prom is Prometheus text, .json or .json.gz a Chrome trace, FOLDER/ TensorBoard events, and a name that
ends in steps.csv or signals.csv (or so and .gz) a table of all recordings.`,
		Example: `  stoker export -o run.json.gz RUN                 open it in ui.perfetto.dev
  stoker export -o logs/ && tensorboard --logdir logs
  stoker export -o steps.csv.gz stoker-runs        a table of all recordings`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runExport(cmd.Context(), args, file) },
	}
	cmd.Flags().StringVarP(&file, "output", "o", "",
		"`FILE` to write, or FOLDER/ for TensorBoard (the name says the format)")
	return cmd
}

func (a *app) runExport(ctx context.Context, args []string, file string) error {
	if strings.HasSuffix(file, "/") { // a folder, which nobody has to make before
		if err := os.MkdirAll(file, 0o755); err != nil {
			return fmt.Errorf("export into folder %s: %w", file, err)
		}
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, fmt.Sprintf("%s%d.stoker", tfevents, time.Now().Unix()))
	}
	for _, f := range exports {
		if file == "" || !f.fits(filepath.Base(file)) {
			continue
		}
		if f.table == nil && len(args) > 1 {
			return asUsage(fmt.Errorf(
				"export -o %q: %d recordings, and only a table (steps.csv, signals.csv) takes several", file,
				len(args)))
		}
		a.began = true
		if f.table != nil {
			return a.exportTable(ctx, args, file, f.table)
		}
		j, err := a.judge(args)
		if err != nil {
			return err
		}
		if err := writeFiles(ctx, output{file, toOthers, func(w io.Writer) error {
			return f.write(w, j)
		}}); err != nil {
			return err
		}
		a.say("%s is written", file)
		return nil
	}
	var known []string
	for _, f := range exports {
		known = append(known, f.name)
	}
	return asUsage(fmt.Errorf("export -o %q: the name says no format, expected one of %s", file,
		strings.Join(known, ", ")))
}

// exportTable writes one table of recordings. One in a folder that cannot be read is left
// out, and told, unless there is no other.
func (a *app) exportTable(ctx context.Context, args []string, file string, table func(io.Writer, iter.Seq2[string,
	*recording.Run]) error,
) error {
	if len(args) == 0 {
		path, err := newest()
		if err != nil {
			return err
		}
		args = []string{path}
	}
	files, folder, notes, err := recordingsIn(args)
	if err != nil {
		return err
	}
	p := a.newProgress()
	defer p.end()
	var unread []error
	runs := func(yield func(string, *recording.Run) bool) {
		for i, path := range files {
			p.say("reading recording %d of %d", i+1, len(files))
			run, err := a.openRun(path)
			if err != nil {
				unread = append(unread, err)
				if !folder {
					return
				}
			} else if ctx.Err() != nil || !yield(filepath.Base(path), run) {
				return
			}
		}
	}
	if err = writeFiles(ctx, output{file, toOthers, func(w io.Writer) error {
		err := errors.Join(table(w, runs), ctx.Err())
		if len(unread) > 0 && (!folder || len(unread) == len(files)) {
			return unread[0]
		}
		return err
	}}); err != nil {
		return err
	}
	p.end()
	for _, note := range notes {
		a.say("left out: %s", note)
	}
	for _, why := range unread[:min(len(unread), mostNotes)] {
		a.say("left out: %v", why)
	}
	a.say("%s is written: %d of %s", file, len(files)-len(unread), quantity.Many(len(files), "recording"))
	return nil
}

func forecastsOf(plan advise.Plan) []export.Forecast {
	var all []export.Forecast
	for _, f := range plan.Fixes {
		all = append(all, export.Forecast{Fix: f.Name, Speedup: f.Forecast.Speedup})
	}
	return all
}
