package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/plot"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/trace"
	"github.com/stoker-dev/stoker/verify"
)

// traceFlags are the flags of the verb.
type traceFlags struct {
	pairFaces

	by, kernels                            string
	shapes, operators, explain             bool
	check                                  checkFlag
	timeline, output, whatIf, flame, pprof string
	prices                                 priceFlags
}

// pairFaces is how a comparison of two traces is shown.
type pairFaces struct {
	json, csv, all bool
	top            int      // kernels and operators that are shown
	files          []string // that were named
}

func (a *app) traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace FILE... | BEFORE AFTER",
		Short: "Say what the GPU waited for, from a profiler's file",
		Long: `Say what the GPU waited for, what each operator cost and what to change, from a file of PyTorch's
profiler, Nsight Systems (nsys export --type sqlite) or XProf (xplane.pb). A folder is the ranks of one
run. Two files of different runs are compared step by step, and "-" is standard input.`,
		Example: `  stoker trace traces/worker0.pt.trace.json.gz
  stoker trace before.json.gz after.json.gz        what changed, per step
  stoker trace --what-if num_workers=4 FILE        the same trace, played again with a change`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return asUsage(errors.New(
					"trace needs a file or a folder, for example: stoker trace traces/worker0.pt.trace.json.gz"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = args
			// Who says what a table should look like wants to see it.
			f.all = f.all || slices.ContainsFunc([]string{"top", "by", "kernels", "shapes"}, cmd.Flags().Changed)
			return a.runTrace(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.top, "top", 10, "show `N` operators and kernels (0: all)")
	flags.StringVar(&f.by, "by", "self",
		"`ORDER` of operators: gpu (total time on the device), cpu (total time on the host), self")
	flags.StringVar(&f.kernels, "kernels", "name",
		"kernels by `WHAT` launched them: name, operator, range (NVTX, record_function)")
	flags.BoolVar(&f.shapes, "shapes", false, "a row per operator and operand shapes")
	flags.BoolVar(&f.operators, "operators", false, "print the table of operators alone")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.csv, "csv", false,
		"print rows of comma-separated values: of two traces what changed, of one its kernels")
	flags.BoolVar(&f.explain, "explain", false, "print the questions that were asked and their answers")
	flags.BoolVar(&f.all, "all", false, "print every table and finding, also beyond 40 lines")
	f.check.register(cmd, wordFed, "exit with 3 if the GPU is starved")
	flags.StringVar(&f.timeline, "timeline", "",
		"write the timeline with gap causes to a `FILE` that Perfetto opens (.json or .json.gz)")
	flags.StringVar(&f.flame, "flame", "", "write a flame graph of host time to a `FILE` (.svg)")
	flags.StringVar(&f.pprof, "pprof", "", "write the same to a `FILE` for go tool pprof")
	flags.StringVarP(&f.output, "output", "o", "", "write a recording to a `FILE`, for advise and verify")
	f.prices.register(flags)
	flags.StringVar(&f.whatIf, "what-if", "",
		"replay the trace with `SETTING=VALUE,...` and say what a step would take, instead of a plan")
	cmd.MarkFlagsMutuallyExclusive("json", "csv", "explain", "operators")
	setGroups(cmd,
		section{"Answer", "all explain json csv check what-if"},
		section{"Operators and kernels", "operators kernels by top shapes"},
		section{"Write", "output timeline flame pprof"},
		section{"Cost", costFlags},
	)
	setExitCodes(cmd, "3 starved, or a bound is missed or unknown (--check)")
	return cmd
}

func (a *app) runTrace(ctx context.Context, f traceFlags, files []string) error {
	by, err := operators.ParseBy(f.by)
	if err != nil {
		return asUsage(hint.Add(err, "--by gpu"))
	}
	if f.flame != "" {
		if err := plot.CheckName(f.flame); err != nil {
			return asUsage(fmt.Errorf("--flame %w", err))
		}
	}
	if f.top < 0 {
		return asUsage(fmt.Errorf("--top %d: give the number of operators to show, or 0 for all", f.top))
	}
	within, err := operators.ParseWithin(f.kernels)
	if err != nil {
		return asUsage(err)
	}
	own, err := f.prices.own()
	if err != nil {
		return err
	}
	asked, err := asked(f.whatIf)
	if err != nil {
		return asUsage(hint.Add(err, "--what-if num_workers=4"))
	}
	a.began = true
	ctx, stop := signal.NotifyContext(ctx, heeded(os.Interrupt)...)
	defer stop()
	started := time.Now()
	runs, err := a.readTraces(ctx, files, f.output == "" && f.timeline == "" && f.flame == "" && f.pprof == "")
	if err != nil {
		return interrupted(ctx, err)
	}
	if len(runs) == 2 {
		o, now, err := a.compared(f.pairFaces, asked, runs[:1], runs[1:])
		if err != nil {
			return err
		}
		o.Refused = "" // two traces are shown beside each other all the same
		return a.concluded(ctx, &f.check, formFlags{}, o, now)
	}
	run := runs[0]
	r, err := a.inspectUntil(ctx, run, operators.Options{Top: f.top, By: by, Shapes: f.shapes})
	if err != nil {
		return interrupted(ctx, err)
	}
	r.Verdict.Cost = judge.CostOf(run, r.Verdict, own)
	if len(asked) > 0 {
		if r.Plan, err = advise.WhatIf(run, asked); err != nil {
			return err
		}
	}
	r.All, r.Top, r.Within = f.all, f.top, within
	r.Source.Files, r.Source.Bytes = files, bytesOf(files)
	r.Source.Seconds = time.Since(started).Seconds()
	if err := a.traceFiles(ctx, f, r); err != nil {
		return interrupted(ctx, err)
	}
	if err := a.showTrace(f, r); err != nil {
		return err
	}
	return a.checked(&f.check, r.Verdict)
}

// asked reads the changes of --what-if.
func asked(text string) ([]stoker.Change, error) {
	if text == "" {
		return nil, nil
	}
	changes, err := replay.Changes(text)
	if err != nil {
		return nil, fmt.Errorf("--what-if: %w", err)
	}
	return changes, nil
}

// inspectUntil is inspect that Ctrl-C ends: the work itself goes on until the
// process does, which is at once. A line says so where it takes longer than a second.
func (a *app) inspectUntil(ctx context.Context, run *recording.Run, o operators.Options) (report.TraceReport, error) {
	p := a.newProgress()
	defer p.end()
	done := make(chan report.TraceReport, 1)
	go func() { done <- inspect(run, o) }()
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case r := <-done:
			return r, nil
		case <-ctx.Done():
			return report.TraceReport{}, ctx.Err()
		case <-tick.C:
			p.say("judging %d events", len(run.Timeline.Host.Start)+len(run.Timeline.Device.Start))
		}
	}
}

// inspect judges a run, and then ranks changes beside making the tables of it: both
// only read the run.
func inspect(run *recording.Run, o operators.Options) report.TraceReport {
	r := report.TraceReport{Run: run, Gaps: idle.Analyse(run)}
	r.Verdict = judge.WithGaps(run, r.Gaps)
	var beside sync.WaitGroup
	beside.Go(func() { r.Plan = advise.Rank(run, r.Verdict) })
	r.Operators, r.Roofline = operators.TabulateAndMeasure(run, r.Gaps, o)
	r.Ranks = ranks.Compare(run, r.Gaps)
	t := run.Timeline
	r.Source.Events = len(t.Host.Start) + len(t.Device.Start) + len(t.Frames.Start) + len(t.Memory.At)
	for _, n := range t.Dropped {
		r.Source.Events += n
	}
	beside.Wait()
	return r
}

// traceFiles writes what the flags ask for beside the report: all of it, or where
// something fails or ctx ends, nothing.
func (a *app) traceFiles(ctx context.Context, f traceFlags, r report.TraceReport) error {
	var files []output
	if f.timeline != "" {
		files = append(files, output{f.timeline, toOthers, func(w io.Writer) error {
			return export.Perfetto(w, r.Run, r.Gaps)
		}})
	}
	tree := hostTree(f, r)
	if f.flame != "" {
		title := plot.Captions{
			Title:  "host time of the judged window",
			Source: "stoker trace " + strings.Join(r.Source.Files, " "),
		}
		files = append(files, output{f.flame, toOthers, func(w io.Writer) error { return plot.Flame(w, title, tree) }})
	}
	if f.pprof != "" {
		files = append(files, output{f.pprof, toOthers, func(w io.Writer) error {
			return export.HostPProf(w, r.Run, tree)
		}})
	}
	if f.output != "" {
		files = append(files, output{f.output, toUser, func(w io.Writer) error { return recording.Write(w, r.Run) }})
	}
	return writeFiles(ctx, files...)
}

// hostTree is what --flame and --pprof show: empty where neither is asked for. Where no
// device worked it is of all that the first process did.
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

func (a *app) showTrace(f traceFlags, r report.TraceReport) error {
	style := a.pageStyle(a.stdout, r.All, r.Source.Files...)
	switch {
	case f.json:
		return wire.WriteTrace(a.stdout, r)
	case f.csv:
		return wire.WriteKernelsCSV(a.stdout, r)
	case f.explain:
		return text.Explain(a.stdout, r.Verdict, style)
	case f.operators:
		return text.WriteOperators(a.stdout, r.Operators, style)
	}
	return text.WriteTrace(a.stdout, r, style)
}

// readTraces reads with a line on stderr where it takes longer than a second: one run, or
// where a pair may be compared, of two traces that are not ranks of one, two.
func (a *app) readTraces(ctx context.Context, files []string, pair bool) ([]*recording.Run, error) {
	p := a.newProgress()
	defer p.end()
	o := trace.Options{Stdin: a.stdin, Progress: func(done, total int64) {
		p.say("reading, %.0f %% of %.0f MB", 100*float64(done)/math.Max(1, float64(total)), float64(total)/1e6)
	}}
	if pair && len(files) == 2 {
		return trace.Pair(ctx, files[0], files[1], o)
	}
	run, err := trace.Read(ctx, files, o)
	return []*recording.Run{run}, err
}

// compared says what changed between traces.
func (a *app) compared(f pairFaces, asked []stoker.Change, before,
	after []*recording.Run,
) (verify.Outcome, []judgedRecording, error) {
	was, now := judgedTraces(before), judgedTraces(after)
	plan := advise.Rank(before[0], was[0].Verdict)
	if len(asked) > 0 {
		var err error
		if plan, err = advise.WhatIf(before[0], asked); err != nil {
			return verify.Outcome{}, nil, err
		}
	}
	promises := promisesOf(plan)
	for i := range promises {
		promises[i].Asked = len(asked) > 0
	}
	o := verify.Traces(was, now, promises)
	if len(asked) > 0 && len(o.Promises) == 1 && o.Speedup != nil {
		o.Changes = asked
	}
	var all []judgedRecording
	for _, t := range now {
		all = append(all, judgedRecording{run: t.Run, verdict: t.Verdict})
	}
	return o.Outcome, all, a.showTraces(f, o, now[0])
}

func (a *app) showTraces(f pairFaces, o verify.TraceOutcome, now verify.Traced) error {
	switch {
	case f.json:
		return wire.WriteTraces(a.stdout, now, o)
	case f.csv:
		return wire.WriteTracesCSV(a.stdout, o)
	}
	return text.WriteTraces(a.stdout, o, f.top, a.pageStyle(a.stdout, f.all, f.files...))
}

func judgedTraces(runs []*recording.Run) (all []verify.Traced) {
	for _, run := range runs {
		gaps := idle.Analyse(run)
		all = append(all, verify.Traced{Run: run, Gaps: gaps, Verdict: judge.WithGaps(run, gaps)})
	}
	return all
}

// promisesOf are the fixes of a plan that promise from where to where a gain lies.
func promisesOf(plan advise.Plan) (out []verify.TracedPromise) {
	for _, fix := range plan.Fixes {
		// no file shows that all of it was done
		if s := fix.Forecast.Speedup; s.Known() && fix.Name != advise.Together {
			out = append(out, verify.TracedPromise{
				Fix: fix.Name, Changes: fix.Changes, Promised: s,
				Kept: verify.PromiseUntested,
			})
		}
	}
	return out
}

// interrupted turns an error that Ctrl-C caused into its exit code.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exitCode(exitSignalBase + int(syscall.SIGINT))
	}
	return err
}

// bytesOf is how large files are on the disk, those in named folders included.
func bytesOf(paths []string) int64 {
	total := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			total += info.Size()
			continue
		}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				total += info.Size()
			}
		}
	}
	return total
}
