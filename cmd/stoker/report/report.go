// Package report is the verb that writes pages about runs, or serves them.
package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/traces"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/report/plot"
	"github.com/stoker-dev/stoker/tune"
	"github.com/stoker-dev/stoker/verify"
)

// Command makes the command stoker report.
func Command(a *cli.App) *cobra.Command {
	var file string
	var serve bool
	var port int
	cmd := &cobra.Command{
		Use:   "report [RUN [RUN2]] -o FILE",
		Short: "Write a page about a run, or serve the pages of a folder",
		Long: `Write one HTML page about a run that needs no network and no other file. RUN is a recording (default:
the newest here), a profiler's trace or the output of stoker tune --json, and a second one is compared
with the first. --serve shows a folder's runs to a browser on this machine, at an address with a token.`,
		Example: `  stoker report -o run.html RUN
  stoker report -o helped.html BEFORE AFTER
  stoker report --serve stoker-runs                until Ctrl-C`,
		Args: cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkServed(serve, args, cmd.Flags().Changed); err != nil {
				return err
			}
			a.Began = true
			if serve {
				return serveReports(cmd.Context(), a, cmp.Or(strings.Join(args, ""), judged.Folder), port)
			}
			return runReport(cmd.Context(), a, args, file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "",
		"page `FILE` to write (default: RUN's name with .html, here), or - for stdout")
	cmd.Flags().BoolVar(&serve, "serve", false,
		"serve the pages of all recordings in a folder to a browser on this machine")
	cmd.Flags().IntVar(&port, "port", 0, "with --serve: port on loopback (default: a free one)")
	return cmd
}

func runReport(ctx context.Context, a *cli.App, args []string, file string) error {
	name, page, err := makePage(ctx, a, args)
	if err != nil {
		return err
	}
	if file == "-" {
		return page(a.Stdout)
	}
	if file == "" {
		file = pageName(name)
	}
	if strings.HasSuffix(file, ".gz") {
		return cli.AsUsage(fmt.Errorf("-o %s: a browser opens no packed page: name it .html", file))
	}
	if err := cli.WriteFiles(ctx, cli.Output{Name: file, Mode: cli.ToOthers, Produce: page}); err != nil {
		return err
	}
	a.Say("%s is written", file)
	return nil
}

// makePage reads the recordings or traces of a page, and returns a function that writes it.
func makePage(ctx context.Context, a *cli.App, args []string) (name string, write func(io.Writer) error, err error) {
	if len(args) == 1 {
		if t, is := tunedPage(args[0]); is {
			return args[0], func(w io.Writer) error { return page.WriteTuning(w, t) }, nil
		}
	}
	s, err := readSubject(ctx, a, args)
	return s.Name, func(w io.Writer) error { return page.WriteRun(w, s) }, err
}

// mostTuned is the largest size of an output of stoker tune --json.
const mostTuned = 16 << 20

// tunedPage reads the output of stoker tune --json; false if the file is something else.
func tunedPage(file string) (page.Tuned, bool) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > mostTuned {
		return page.Tuned{}, false
	}
	text, err := os.ReadFile(file)
	var o tune.Object
	if err != nil || json.Unmarshal(text, &o) != nil || o.Schema != 1 || o.Plan.Format == 0 {
		return page.Tuned{}, false
	}
	t := page.Tuned{
		Name: file, Version: cli.Version, Stopped: o.Stopped, Outcome: o.Outcome, Patch: o.Patch,
		Command: o.Plan.Command, Object: text,
	}
	for _, trial := range o.Trials {
		if trial.Losses != nil && trial.Why == "" {
			trial.Why = trial.Losses.Sentence()
		}
		t.Trials = append(t.Trials, page.Tried{
			Settings: trial.SettingsText(), Promised: trial.PromisedRange(),
			Achieved: trial.Worth(), Kept: trial.Kept, Why: trial.Why,
		})
	}
	return t, true
}

// pageName returns the name of the page for a recording or trace.
func pageName(run string) string {
	name := filepath.Base(run)
	for _, end := range []string{".gz", ".zst", ".jsonl", ".json", ".pb", ".sqlite"} {
		name = strings.TrimSuffix(name, end)
	}
	return name + ".html"
}

// readSubject reads the files of a page: recordings, or a profiler's files.
func readSubject(ctx context.Context, a *cli.App, args []string) (page.Subject, error) {
	now, err := judged.Open(a, args[max(0, len(args)-1):])
	if err != nil {
		if s, bad := traceSubject(ctx, a, args); len(args) > 0 && bad == nil {
			return s, nil
		}
		return page.Subject{}, err
	}
	s := page.Subject{Name: now.Path, Version: cli.Version, Run: now.Run, Verdict: now.Verdict, Plan: now.Plan}
	if len(args) < 2 {
		return s, nil
	}
	before, err := judged.Open(a, args[:1])
	if err != nil {
		return s, err
	}
	s.Before = &page.EarlierRun{
		Name: before.Path, Run: before.Run, Verdict: before.Verdict,
		Outcome: judged.CompareAll([]judged.Recording{before}, []judged.Recording{now}),
	}
	return s, nil
}

// traceSubject reads a profiler's files: of one run, or of one before and one after.
func traceSubject(ctx context.Context, a *cli.App, files []string) (page.Subject, error) {
	runs, err := traces.Read(ctx, a, files, true)
	if err != nil {
		return page.Subject{}, err
	}
	run, name := runs[len(runs)-1], files[len(files)-1:]
	if len(runs) == 1 {
		name = files
	}
	r, err := traces.Inspect(ctx, a, run, operators.Options{By: operators.BySelf})
	if err != nil {
		return page.Subject{}, errors.Join(err, ctx.Err())
	}
	r.Source.Files, r.Source.Bytes = name, traces.CountBytes(name)
	s := page.Subject{Name: name[0], Version: cli.Version, Run: run, Verdict: r.Verdict, Plan: r.Plan, Trace: &r}
	if c := r.RooflineCeilings(); c != nil {
		var picture strings.Builder
		if err := plot.WriteRoofline(&picture,
			plot.Captions{Title: "What " + c.GPU.Title + " can do, and what these steps did"}, c.Roofline); err != nil {
			return s, err
		}
		s.Picture = picture.String()
	}
	if len(runs) == 2 {
		was := traces.Judge(runs[:1])
		o := verify.Traces(was, []verify.Traced{{Run: run, Gaps: r.Gaps, Verdict: r.Verdict}},
			traces.ListPromises(advise.Rank(runs[0], was[0].Verdict)))
		o.Refused = "" // both traces are shown even if they cannot be compared
		s.Before = &page.EarlierRun{
			Name: files[0], Run: runs[0], Verdict: was[0].Verdict, Outcome: o.Outcome,
			Traces: &o,
		}
	}
	return s, nil
}
