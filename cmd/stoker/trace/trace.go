// Package trace is the verb that says what the GPU waited for, from a profiler's file.
package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/traces"
	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/plot"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// traceFlags are the flags of the verb.
type traceFlags struct {
	traces.Faces

	by, kernels                            string
	shapes, operators, explain             bool
	check                                  pipeline.Check
	timeline, output, whatIf, flame, pprof string
	prices                                 cost.Flags
}

// Command makes the command stoker trace.
func Command(a *cli.App) *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace FILE... | BEFORE AFTER",
		Short: "Say what the GPU waited for, from a profiler's file",
		Long: `Say what the GPU waited for, what each operator cost and what to change, from a file of PyTorch's
profiler, Nsight Systems (nsys export --type sqlite) or XProf (xplane.pb of TensorFlow and JAX). A
folder is the ranks of one run. Two files of different runs are compared step by step, and "-" is
standard input.`,
		Example: `  stoker trace traces/worker0.pt.trace.json.gz
  stoker trace before.json.gz after.json.gz        what changed, per step
  stoker trace --what-if num_workers=4 FILE        the same trace, played again with a change`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.AsUsage(errors.New(
					"trace needs a file or a folder, for example: stoker trace traces/worker0.pt.trace.json.gz"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Files = args
			// A flag about a table implies that the table is printed.
			f.All = f.All || slices.ContainsFunc([]string{"top", "by", "kernels", "shapes"}, cmd.Flags().Changed)
			return runTrace(cmd.Context(), a, f, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.Top, "top", 10, "show `N` operators and kernels (0: all)")
	flags.StringVar(&f.by, "by", "self",
		"`ORDER` of operators: gpu (total time on the device), cpu (total time on the host), self")
	flags.StringVar(&f.kernels, "kernels", "name",
		"kernels by `WHAT` launched them: name, operator, range (NVTX, record_function)")
	flags.BoolVar(&f.shapes, "shapes", false, "a row per operator and operand shapes")
	flags.BoolVar(&f.operators, "operators", false, "print the table of operators alone")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON object")
	flags.BoolVar(&f.CSV, "csv", false,
		"print rows of comma-separated values: of two traces what changed, of one its kernels")
	flags.BoolVar(&f.explain, "explain", false, "print the questions that were asked and their answers")
	flags.BoolVar(&f.All, "all", false, "print every table and finding, also beyond 40 lines")
	f.check.Register(cmd, pipeline.Fed, "exit with 3 if the GPU is starved")
	flags.StringVar(&f.timeline, "timeline", "",
		"write the timeline with gap causes to a `FILE` that Perfetto opens (.json or .json.gz)")
	flags.StringVar(&f.flame, "flame", "", "write a flame graph of host time to a `FILE` (.svg)")
	flags.StringVar(&f.pprof, "pprof", "", "write the same to a `FILE` for go tool pprof")
	flags.StringVarP(&f.output, "output", "o", "", "write a recording to a `FILE`, for advise and verify")
	f.prices.Register(flags)
	flags.StringVar(&f.whatIf, "what-if", "",
		"replay the trace with `SETTING=VALUE,...` and say what a step would take, instead of a plan")
	cmd.MarkFlagsMutuallyExclusive("json", "csv", "explain", "operators")
	cli.SetGroups(cmd,
		cli.Section{Title: "Answer", Names: "all explain json csv check what-if"},
		cli.Section{Title: "Operators and kernels", Names: "operators kernels by top shapes"},
		cli.Section{Title: "Write", Names: "output timeline flame pprof"},
		cli.Section{Title: "Cost", Names: cost.FlagNames},
	)
	cli.SetExitCodes(cmd, "3 starved, or a bound is missed or unknown (--check)")
	return cmd
}

func runTrace(ctx context.Context, a *cli.App, f traceFlags, files []string) error {
	by, err := operators.ParseBy(f.by)
	if err != nil {
		return cli.AsUsage(hint.Attach(err, "--by gpu"))
	}
	if f.flame != "" {
		if err := plot.CheckName(f.flame); err != nil {
			return cli.AsUsage(fmt.Errorf("--flame %w", err))
		}
	}
	if f.Top < 0 {
		return cli.AsUsage(fmt.Errorf("--top %d: give the number of operators to show, or 0 for all", f.Top))
	}
	within, err := operators.ParseWithin(f.kernels)
	if err != nil {
		return cli.AsUsage(err)
	}
	own, err := f.prices.ReadOwn()
	if err != nil {
		return err
	}
	asked, err := parseWhatIf(f.whatIf)
	if err != nil {
		return cli.AsUsage(hint.Attach(err, "--what-if num_workers=4"))
	}
	a.Began = true
	ctx, stop := signal.NotifyContext(ctx, cli.HeededSignals(os.Interrupt)...)
	defer stop()
	started := time.Now()
	runs, err := traces.Read(ctx, a, files, f.output == "" && f.timeline == "" && f.flame == "" && f.pprof == "")
	if err != nil {
		return cli.Interrupted(ctx, err)
	}
	if len(runs) == 2 {
		o, now, err := traces.Compare(a, f.Faces, asked, runs[:1], runs[1:])
		if err != nil {
			return err
		}
		o.Refused = "" // both traces are shown even if they cannot be compared
		return traces.Conclude(ctx, a, &f.check, pipeline.Forms{}, o, now)
	}
	run := runs[0]
	r, err := traces.Inspect(ctx, a, run, operators.Options{Top: f.Top, By: by, Shapes: f.shapes})
	if err != nil {
		return cli.Interrupted(ctx, err)
	}
	r.Verdict.Cost = judge.CostOf(run, r.Verdict, own)
	if len(asked) > 0 {
		if r.Plan, err = advise.WhatIf(run, r.Verdict, asked); err != nil {
			return err
		}
	}
	r.All, r.Top, r.Within = f.All, f.Top, within
	r.Source.Files, r.Source.Bytes = files, traces.CountBytes(files)
	r.Source.Seconds = time.Since(started).Seconds()
	if err := traceFiles(ctx, a, f, r); err != nil {
		return cli.Interrupted(ctx, err)
	}
	if err := showTrace(a, f, r); err != nil {
		return err
	}
	return pipeline.Enforce(a, &f.check, r.Verdict)
}

// parseWhatIf reads the changes of --what-if.
func parseWhatIf(text string) ([]stoker.Change, error) {
	if text == "" {
		return nil, nil
	}
	changes, err := replay.Changes(text)
	if err != nil {
		return nil, fmt.Errorf("--what-if: %w", err)
	}
	return changes, nil
}

// traceFiles writes the files that the flags name, in addition to the report: all of them, or none
// if something fails or ctx ends.
func traceFiles(ctx context.Context, a *cli.App, f traceFlags, r report.TraceReport) error {
	var files []cli.Output
	if f.timeline != "" {
		files = append(files, cli.Output{Name: f.timeline, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
			return export.Perfetto(w, r.Run, r.Gaps)
		}})
	}
	tree := hostTree(f, r)
	if f.flame != "" {
		title := plot.Captions{
			Title:  "host time of the judged window",
			Source: "stoker trace " + strings.Join(r.Source.Files, " "),
		}
		files = append(files, cli.Output{
			Name: f.flame, Mode: cli.ToOthers,
			Produce: func(w io.Writer) error { return plot.Flame(w, title, tree) },
		})
	}
	if f.pprof != "" {
		files = append(files, cli.Output{Name: f.pprof, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
			return export.HostPProf(w, r.Run, tree)
		}})
	}
	if f.output != "" {
		files = append(files, cli.Output{
			Name: f.output, Mode: cli.ToUser,
			Produce: func(w io.Writer) error { return recording.Write(w, r.Run) },
		})
	}
	return cli.WriteFiles(ctx, files...)
}

// hostTree returns the tree for --flame and --pprof; an empty one without these flags. If no
// device worked, it shows everything that the first process did.
func hostTree(f traceFlags, r report.TraceReport) *flame.Node {
	d := r.JudgedDevice()
	switch {
	case f.flame == "" && f.pprof == "" || d == nil && len(r.Gaps.Processes) == 0:
		return &flame.Node{}
	case d == nil:
		d = &idle.Device{From: r.Run.Timeline.Start, To: r.Run.Timeline.End}
	}
	return flame.Of(r.Run, r.Gaps, d)
}

func showTrace(a *cli.App, f traceFlags, r report.TraceReport) error {
	style := a.PageStyle(a.Stdout, r.All, r.Source.Files...)
	switch {
	case f.JSON:
		return wire.WriteTrace(a.Stdout, r)
	case f.CSV:
		return wire.WriteKernelsCSV(a.Stdout, r)
	case f.explain:
		return text.Explain(a.Stdout, r.Verdict, style)
	case f.operators:
		return text.WriteOperators(a.Stdout, r.Operators, style)
	}
	return text.WriteTrace(a.Stdout, r, style)
}
