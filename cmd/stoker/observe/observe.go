// Package observe is the verb that runs a command, records it, and says what starves the GPU.
package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/sampling"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/summary"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/takeover"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/python/hook"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker observe.
func Command(a *cli.App) *cobra.Command {
	var o observeFlags
	var otlp string
	cmd := &cobra.Command{
		Use:   "observe [flags] -- CMD...",
		Short: "Run CMD, record it, and say what starves the GPU",
		Long: `Run CMD with no change in its code, record it, and say at its end (or on Ctrl-C) what starves the
GPU, what to change and what that gains. CMD keeps its terminal, its signals and its exit code.`,
		Example: `  stoker observe -- python train.py --epochs 3
  stoker observe -o before.jsonl.gz -- torchrun --nproc-per-node 2 train.py
  stoker observe --pid 4711                        a run that is already going (without the hook)`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return cli.AsUsage(fmt.Errorf("observe takes its command after --: stoker observe -- %s",
					strings.Join(args, " ")))
			}
			if (len(args) == 0) == (o.pid == 0) {
				return cli.AsUsage(errors.New("observe takes a command after --, or --pid PID"))
			}
			return errors.Join(o.canLog(), o.trace.check(o.pid > 0, o.noHook))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := o.prices.ReadOwn() // before CMD begins
			if err != nil {
				return err
			}
			if otlp != "" {
				if o.collector, err = newCollector(otlp, func(text string) { a.Say("%s", text) }); err != nil {
					return err
				}
			}
			a.Began = true
			return runObserve(a, cmd, args, o, own)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "",
		"recording `FILE` to write, or FOLDER/ for a new one (default "+judged.Folder+"/DATE-NAME-HOST-PID.jsonl.gz)")
	cmd.Flags().BoolVar(&o.noHook, "no-hook", false,
		"do not load the hook into Python (the verdict then rests on sampling alone)")
	cmd.Flags().BoolVar(&o.noLines, "no-lines", false,
		"do not sample which lines of Python the loader spends its time on")
	cmd.Flags().IntVar(&o.pid, "pid", 0, "attach to process `PID` instead of starting one")
	o.check.Register(cmd, pipeline.Fed, "exit with 3 if CMD returned 0 and the GPU is starved")
	o.trace.flags(cmd)
	o.prices.Register(cmd.Flags())
	cmd.Flags().StringVar(&o.prometheus, "prometheus", "",
		"`FILE.prom` to keep up to date, for node_exporter or stoker agent")
	cmd.Flags().StringVar(&o.json, "json", "", "`FILE` for the verdict as one JSON object (CMD has stdout)")
	cmd.Flags().StringVar(&otlp, "otlp", "",
		"send findings to the OpenTelemetry collector at a `URL` every 15 s: http://127.0.0.1:4318")
	cmd.Flags().StringSliceVar(&o.log, "log", nil,
		"log findings every 15 s into the run that CMD has open, to `TOOLS`: "+strings.Join(loggers, ", "))
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors")
	cmd.Flags().SetInterspersed(false)
	cli.SetGroups(cmd,
		cli.Section{Title: "Run", Names: "output pid quiet json check"},
		cli.Section{Title: "Look inside", Names: "no-hook no-lines trace trace-stacks trace-shapes no-trace"},
		cli.Section{Title: "Tell others", Names: "prometheus otlp log"},
		cli.Section{Title: "Cost", Names: cost.FlagNames},
	)
	cli.SetExitCodes(cmd, "CMD's own (128+n if signal n ended it), 3 starved or a bound is missed (--check, if CMD returned 0), "+
		"125 --pid names no process, 126 CMD cannot be run, 127 CMD not found")
	return cmd
}

func runObserve(a *cli.App, cmd *cobra.Command, args []string, o observeFlags, own predict.Prices) error {
	sampling.BeFrugal()
	live := newLive(a, o)
	if o.collector != nil {
		defer o.collector.close()
	}
	o.output = recordingFile(o, args)
	options := observeOptions(cmd.Context(), a, &o, args, live)
	next := func(string) {}
	if !o.quiet {
		options.Ended = func() { next = a.NewProgress().During("CMD has ended, its recording is put together") }
	}
	ctx := cmd.Context()
	if o.pid > 0 { // then Ctrl-C ends the observation, not the observed process
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, cli.HeededSignals(os.Interrupt)...)
		defer stop()
	}
	run, err := observe.Record(ctx, options)
	if run == nil {
		return takeover.ReportFailure(a, err)
	}
	if err != nil {
		next("")
		a.PrintError(err)
	}
	next("judging what was recorded")
	var verdict, concluded diagnose.Verdict // with the user's prices, and with list prices
	guard(a, "judge the run", func() error {
		captured := judged.JoinTraces(cmd.Context(), o.output, run, judge.Judge(run))
		concluded, verdict = captured.Verdict, captured.Verdict
		verdict.Cost = judge.CostOf(run, verdict, own)
		live.handOut(run, verdict)
		if next(""); o.quiet {
			return nil
		}
		return errors.Join(printEnding(a, run, verdict, o.output),
			printCaptures(a, run, captured, options.Trace != nil))
	})
	guard(a, "keep what is concluded", func() error {
		return summary.Keep(judged.Recording{
			Path: o.output, Run: run, Verdict: concluded,
			Plan: advise.Rank(run, concluded),
		})
	})
	guard(a, "write the verdict", func() error {
		if o.json == "" {
			return nil
		}
		return cli.WriteFiles(cmd.Context(), cli.Output{
			Name: o.json, Mode: cli.ToOthers,
			Produce: func(w io.Writer) error {
				return wire.WriteVerdict(w, run, verdict, advise.Rank(run, verdict))
			},
		})
	})
	var code error
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 {
		code = cli.ExitCode(exit.Code)
	}
	guard(a, "check the run", func() error { code = endAsCommand(a, run, verdict, &o.check); return nil })
	return code
}

// observeOptions turns the flags into options of package observe.
func observeOptions(ctx context.Context, a *cli.App, o *observeFlags, args []string,
	live *liveVerdict,
) observe.Options {
	options := observe.Options{
		Command: args, PID: o.pid, Output: o.output, Version: cli.Version, NoLines: o.noLines,
		Hook: hook.Files, Emulate: os.Getenv("STOKER_EMULATE") == "1",
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OnTick: live.tick, Warn: func(text string) { a.Say("%s", text) },
		Recording: func(path string) { sayBegin(a, path, o); o.output = path },
	}
	live.read = func(run *recording.Run, pid int) *diagnose.Verdict {
		if slices.ContainsFunc(run.Facts.Captures, func(c recording.Capture) bool { return c.Bytes > mostReadLive }) {
			return nil
		}
		return judged.ReadTraces(ctx, o.output, run, pid).Traced
	}
	if o.noHook {
		options.Hook = nil
	}
	if options.Say = func(text string) { a.Say("%s", text) }; o.quiet {
		options.Say = nil
	}
	if o.trace.steps > 0 {
		if options.Trace = o.trace.traceRequest(); !o.quiet {
			a.Say("%s", o.trace.describeCost())
		}
	}
	if len(o.log) > 0 {
		options.Log = live.nextLog
	}
	if live.inside = o.trace.newInside(o.quiet, o.pid > 0, o.noHook); !live.inside.forbidden {
		options.Inside = live.inside.next
	}
	return options
}

// sayBegin prints on a terminal, before CMD begins, that it is recorded and when the
// verdict comes: a program may print nothing for half a minute while it imports PyTorch.
func sayBegin(a *cli.App, path string, o *observeFlags) {
	if o.quiet || o.begun || path == "" || !a.NewProgress().Terminal {
		return
	}
	o.begun = true
	a.Say("recording %s. The verdict comes at the end, and stoker watch shows it live", path)
}

// guard runs work that comes after CMD's end. If it fails or panics, that is printed, and the exit
// code is still CMD's.
func guard(a *cli.App, what string, work func() error) {
	defer func() {
		if fault := recover(); fault != nil {
			a.PrintError(fmt.Errorf("%s: a fault of stoker's own, please report it: %v", what, fault))
		}
	}()
	if err := work(); err != nil {
		a.PrintError(err)
	}
}

// rankNames are the environment variables in which launchers pass a process's rank.
var rankNames = []string{
	"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
	"MV2_COMM_WORLD_RANK",
}

// recordingFile returns the name of the recording: that of -o, or one made from time, program,
// host, rank and process, because several may start in the same second and folder.
func recordingFile(o observeFlags, args []string) string {
	folder := judged.Folder
	if o.output != "" {
		if info, err := os.Stat(o.output); (err != nil || !info.IsDir()) &&
			!os.IsPathSeparator(o.output[len(o.output)-1]) {
			return o.output
		}
		folder = o.output // it is created if it ends in a slash
	}
	name := fmt.Sprintf("pid-%d", o.pid)
	if len(args) > 0 {
		name = programName(redact.CommandLine(args))
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	rank := ""
	for _, variable := range rankNames {
		if _, err := strconv.Atoi(os.Getenv(variable)); err == nil {
			rank = "r" + os.Getenv(variable)
			break
		}
	}
	return filepath.Join(folder, recording.Name(time.Now().Format("2006-01-02T150405"), name, host, rank,
		strconv.Itoa(os.Getpid())))
}

// programName returns the name of the program for the recording's name: that of the script if an
// interpreter runs one.
func programName(args []string) string {
	for _, arg := range args[1:] {
		switch filepath.Ext(arg) {
		case ".py", ".sh":
			return arg
		}
	}
	return args[0]
}

// printEnding prints the report after CMD has ended.
func printEnding(a *cli.App, run *recording.Run, verdict diagnose.Verdict, path string) error {
	fmt.Fprintln(a.Stderr)
	if err := text.WriteVerdict(a.Stderr, run, verdict, advise.Rank(run, verdict),
		a.PageStyle(a.Stderr, false, path)); err != nil {
		return err
	}
	if path != "" {
		a.Say("recorded %s", path)
	}
	return nil
}

// endAsCommand returns CMD's exit code. --check replaces only a 0, by 3.
func endAsCommand(a *cli.App, run *recording.Run, verdict diagnose.Verdict, check *pipeline.Check) error {
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 {
		return cli.ExitCode(exit.Code)
	}
	return pipeline.Enforce(a, check, verdict)
}
