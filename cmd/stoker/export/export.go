// Package export is the verb that writes a run in other tools' formats.
package export

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

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// exports are the formats that export writes, by the beginning or end of a file's name. Some take
// one judged recording, others make a table of many.
var exports = []struct {
	name  string
	fits  func(base string) bool
	write func(w io.Writer, j judged.Recording) error
	table func(w io.Writer, runs iter.Seq2[string, *recording.Run]) error
}{
	{name: "Prometheus text (FILE.prom)", fits: ends(".prom"), write: func(w io.Writer, j judged.Recording) error {
		return export.Prometheus(w, j.Run, j.Verdict, judged.ListForecasts(j.Plan))
	}},
	{
		name: "Chrome trace (FILE.json, FILE.json.gz), for ui.perfetto.dev", fits: ends(".json", ".json.gz"),
		write: func(w io.Writer, j judged.Recording) error { return export.Live(w, j.Run) },
	},
	{
		name:  "TensorBoard events (events.out.tfevents.*, or a folder)",
		fits:  func(base string) bool { return strings.HasPrefix(base, tfevents) },
		write: func(w io.Writer, j judged.Recording) error { return export.TensorBoard(w, j.Run) },
	},
	{name: "CSV of steps (*steps.csv, *steps.csv.gz)", fits: ends("steps.csv", "steps.csv.gz"), table: export.Steps},
	{
		name: "CSV of signals (*signals.csv, *signals.csv.gz)", fits: ends("signals.csv", "signals.csv.gz"),
		table: export.Signals,
	},
}

// tfevents is the beginning of the names of TensorBoard's files.
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

// Command makes the command stoker export.
func Command(a *cli.App) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd.Context(), a, args, file) },
	}
	cmd.Flags().StringVarP(&file, "output", "o", "",
		"`FILE` to write, or FOLDER/ for TensorBoard (the name says the format)")
	return cmd
}

func runExport(ctx context.Context, a *cli.App, args []string, file string) error {
	if strings.HasSuffix(file, "/") { // a folder, which is created if it is missing
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
			return cli.AsUsage(fmt.Errorf(
				"export -o %q: %d recordings, and only a table (steps.csv, signals.csv) takes several", file,
				len(args)))
		}
		a.Began = true
		if f.table != nil {
			return exportTable(ctx, a, args, file, f.table)
		}
		j, err := judged.Open(a, args)
		if err != nil {
			return err
		}
		if err := cli.WriteFiles(ctx, cli.Output{Name: file, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
			return f.write(w, j)
		}}); err != nil {
			return err
		}
		a.Say("%s is written", file)
		return nil
	}
	var known []string
	for _, f := range exports {
		known = append(known, f.name)
	}
	return cli.AsUsage(fmt.Errorf("export -o %q: the name says no format, expected one of %s", file,
		strings.Join(known, ", ")))
}

// exportTable writes one table of recordings. It skips those in a folder that cannot be read, and
// prints them. If all are unreadable, that is an error.
func exportTable(ctx context.Context, a *cli.App, args []string, file string, table func(io.Writer, iter.Seq2[string,
	*recording.Run]) error,
) error {
	if len(args) == 0 {
		path, err := judged.FindNewest()
		if err != nil {
			return err
		}
		args = []string{path}
	}
	files, folder, notes, err := judged.FindFiles(args)
	if err != nil {
		return err
	}
	p := a.NewProgress()
	defer p.End()
	var unread []error
	runs := func(yield func(string, *recording.Run) bool) {
		for i, path := range files {
			p.Say("reading recording %d of %d", i+1, len(files))
			run, err := judged.Read(a, path)
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
	if err = cli.WriteFiles(ctx, cli.Output{Name: file, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
		err := errors.Join(table(w, runs), ctx.Err())
		if len(unread) > 0 && (!folder || len(unread) == len(files)) {
			return unread[0]
		}
		return err
	}}); err != nil {
		return err
	}
	p.End()
	for _, note := range notes {
		a.Say("left out: %s", note)
	}
	for _, why := range unread[:min(len(unread), judged.MostNotes)] {
		a.Say("left out: %v", why)
	}
	a.Say("%s is written: %d of %s", file, len(files)-len(unread), quantity.Many(len(files), "recording"))
	return nil
}
