package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/python/hook"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

func (a *app) observeCommand() *cobra.Command {
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
				return asUsage(fmt.Errorf("observe takes its command after --: stoker observe -- %s",
					strings.Join(args, " ")))
			}
			if (len(args) == 0) == (o.pid == 0) {
				return asUsage(errors.New("observe takes a command after --, or --pid PID"))
			}
			return errors.Join(o.canLog(), o.trace.check(o.pid > 0, o.noHook))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := o.prices.own() // before CMD begins
			if err != nil {
				return err
			}
			if otlp != "" {
				if o.collector, err = newCollector(otlp, func(text string) { a.say("%s", text) }); err != nil {
					return err
				}
			}
			a.began = true
			return a.runObserve(cmd, args, o, own)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "",
		"recording `FILE` to write, or FOLDER/ for a new one (default "+runsFolder+"/DATE-NAME-HOST-PID.jsonl.gz)")
	cmd.Flags().BoolVar(&o.noHook, "no-hook", false,
		"do not load the hook into Python (the verdict then rests on sampling alone)")
	cmd.Flags().BoolVar(&o.noLines, "no-lines", false,
		"do not sample which lines of Python the loader spends its time on")
	cmd.Flags().IntVar(&o.pid, "pid", 0, "attach to process `PID` instead of starting one")
	o.check.register(cmd, wordFed, "exit with 3 if CMD returned 0 and the GPU is starved")
	o.trace.flags(cmd)
	o.prices.register(cmd.Flags())
	cmd.Flags().StringVar(&o.prometheus, "prometheus", "",
		"`FILE.prom` to keep up to date, for node_exporter or stoker agent")
	cmd.Flags().StringVar(&o.json, "json", "", "`FILE` for the verdict as one JSON object (CMD has stdout)")
	cmd.Flags().StringVar(&otlp, "otlp", "",
		"send findings to the OpenTelemetry collector at a `URL` every 15 s: http://127.0.0.1:4318")
	cmd.Flags().StringSliceVar(&o.log, "log", nil,
		"log findings every 15 s into the run that CMD has open, to `TOOLS`: "+strings.Join(loggers, ", "))
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors")
	cmd.Flags().SetInterspersed(false)
	setGroups(cmd,
		section{"Run", "output pid quiet json check"},
		section{"Look inside", "no-hook no-lines trace trace-stacks trace-shapes no-trace"},
		section{"Tell others", "prometheus otlp log"},
		section{"Cost", costFlags},
	)
	setExitCodes(cmd, "CMD's own (128+n if signal n ended it), 3 starved or a bound is missed (--check, if CMD returned 0), "+
		"125 --pid names no process, 126 CMD cannot be run, 127 CMD not found")
	return cmd
}

// loggers are the tools that the hook knows (python/hook/log.py).
var loggers = []string{"wandb", "mlflow", "figures"}

type observeFlags struct {
	output          string
	noHook, noLines bool
	check           checkFlag
	quiet           bool
	pid             int
	trace           captureFlags
	prices          priceFlags

	prometheus string
	json       string
	log        []string
	collector  *collector
	begun      bool // that it is recorded was said
}

// canLog is nil where the tools are known and there is a hook to log.
func (o observeFlags) canLog() error {
	for _, name := range o.log {
		if !slices.Contains(loggers, name) {
			return asUsage(fmt.Errorf("--log %s: known are %s", name, strings.Join(loggers, ", ")))
		}
	}
	if len(o.log) > 0 && (o.noHook || o.pid > 0) {
		return asUsage(errors.New("--log needs the hook, which --no-hook and --pid leave out"))
	}
	return nil
}

// mostMemory is what Go's heap and stacks may take before it is collected sooner: a
// run in memory weighs 12 MB at most (recording.Writer), a file that is written anew
// ten more for a minute.
const mostMemory = 34 << 20

// frugal keeps the observer out of the way of what it observes. With one
// processor Go's scheduler does not look for work on others at each wake-up, and
// a larger heap is collected less often: 0.98 to 0.91 % of a core with 5 ms steps
// (bench/overhead.py's script, 2 cores, 2026-11-21).
func frugal() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(mostMemory)
}

func (a *app) runObserve(cmd *cobra.Command, args []string, o observeFlags, own predict.Prices) error {
	frugal()
	live := newLive(a, o)
	if o.collector != nil {
		defer o.collector.close()
	}
	o.output = recordingFile(o, args)
	options := a.observeOptions(cmd.Context(), &o, args, live)
	next := func(string) {}
	if !o.quiet {
		options.Ended = func() { next = a.newProgress().during("CMD has ended, its recording is put together") }
	}
	ctx := cmd.Context()
	if o.pid > 0 { // signals are ours then: Ctrl-C ends the observation, not the process
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, heeded(os.Interrupt)...)
		defer stop()
	}
	run, err := observe.Record(ctx, options)
	if run == nil {
		return a.notBegun(err)
	}
	if err != nil {
		next("")
		a.error(err)
	}
	next("judging what was recorded")
	var verdict, concluded diagnose.Verdict // with the user's prices, and with those of lists
	a.guarded("judge the run", func() error {
		captured := capturedOf(cmd.Context(), o.output, run, judge.Judge(run))
		concluded, verdict = captured.verdict, captured.verdict
		verdict.Cost = judge.CostOf(run, verdict, own)
		live.handOut(run, verdict)
		if next(""); o.quiet {
			return nil
		}
		return errors.Join(a.ending(run, verdict, o.output), a.capturedEnding(run, captured, options.Trace != nil))
	})
	a.guarded("keep what is concluded", func() error {
		return keepSummary(judgedRecording{o.output, run, concluded, advise.Rank(run, concluded)})
	})
	a.guarded("write the verdict", func() error {
		if o.json == "" {
			return nil
		}
		return writeFiles(cmd.Context(), output{o.json, toOthers, func(w io.Writer) error {
			return wire.WriteVerdict(w, run, verdict, advise.Rank(run, verdict))
		}})
	})
	var code error
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 {
		code = exitCode(exit.Code)
	}
	a.guarded("check the run", func() error { code = a.ended(run, verdict, &o.check); return nil })
	return code
}

// observeOptions are what the flags ask for.
func (a *app) observeOptions(ctx context.Context, o *observeFlags, args []string, live *liveVerdict) observe.Options {
	options := observe.Options{
		Command: args, PID: o.pid, Output: o.output, Version: version, NoLines: o.noLines,
		Hook: hook.Files, Emulate: os.Getenv("STOKER_EMULATE") == "1",
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OnTick: live.tick, Warn: func(text string) { a.say("%s", text) },
		Recording: func(path string) { a.sayBegin(path, o); o.output = path },
	}
	live.read = func(run *recording.Run, pid int) *diagnose.Verdict {
		if slices.ContainsFunc(run.Facts.Captures, func(c recording.Capture) bool { return c.Bytes > mostReadLive }) {
			return nil
		}
		return readCaptured(ctx, o.output, run, pid).traced
	}
	if o.noHook {
		options.Hook = nil
	}
	if options.Say = func(text string) { a.say("%s", text) }; o.quiet {
		options.Say = nil
	}
	if o.trace.steps > 0 {
		if options.Trace = o.trace.traceRequest(); !o.quiet {
			a.say("%s", o.trace.describeCost())
		}
	}
	if len(o.log) > 0 {
		options.Log = live.nextLog
	}
	if live.inside = o.trace.newInside(*o); !live.inside.forbidden {
		options.Inside = live.inside.next
	}
	return options
}

// sayBegin says on a terminal, before CMD begins, that it is recorded and what will come: a
// program may be silent for half a minute while it imports PyTorch.
func (a *app) sayBegin(path string, o *observeFlags) {
	if o.quiet || o.begun || path == "" || !a.newProgress().terminal {
		return
	}
	o.begun = true
	a.say("recording %s. The verdict comes at the end, and stoker watch shows it live", path)
}

// guarded does what comes after CMD's end: that it fails, even by a fault of ours,
// or that nobody can read it, is no reason to lose CMD's exit code.
func (a *app) guarded(what string, work func() error) {
	defer func() {
		if fault := recover(); fault != nil {
			a.error(fmt.Errorf("%s: a fault of stoker's own, please report it: %v", what, fault))
		}
	}()
	if err := work(); err != nil {
		a.error(err)
	}
}

// rankNames are the variables in which launchers name a process's rank.
var rankNames = []string{"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}

// recordingFile names the recording: as asked, in the folder that was asked for, or
// by time, program, host, rank and process, as several may start in one second and
// share a folder.
func recordingFile(o observeFlags, args []string) string {
	folder := runsFolder
	if o.output != "" {
		if info, err := os.Stat(o.output); (err != nil || !info.IsDir()) &&
			!os.IsPathSeparator(o.output[len(o.output)-1]) {
			return o.output
		}
		folder = o.output // one that ends in a slash is made
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

// programName is what a recording is named after: the script where an
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

// notBegun maps errors from before CMD began to the codes of timeout(1).
func (a *app) notBegun(err error) error {
	var command *launch.CommandError
	if !errors.As(err, &command) {
		a.error(err)
		return exitCode(exitOurs)
	}
	return a.notRun(command)
}

// notRun tells why CMD did not begin, with the code that a shell has for it.
func (a *app) notRun(err *launch.CommandError) error {
	a.error(err)
	switch by := err.Interpreter; {
	case strings.HasSuffix(by, "\r"):
		a.hint("its first line ends as on Windows: sed -i 's/\\r$//' FILE")
	case by != "":
		a.hint("install the interpreter, or name another before the file: -- python FILE")
	case err.NotFound:
		a.hint("name a program on PATH, a file with its path (./train.sh), or the interpreter: -- python train.py")
	case errors.Is(err, fs.ErrPermission):
		a.hint("chmod +x makes a script executable, or name its interpreter: -- python FILE")
	}
	return exitCode(err.ExitCode())
}

// ending prints the report after CMD has ended.
func (a *app) ending(run *recording.Run, verdict diagnose.Verdict, path string) error {
	fmt.Fprintln(a.stderr)
	if err := text.WriteVerdict(a.stderr, run, verdict, advise.Rank(run, verdict),
		a.pageStyle(a.stderr, false, path)); err != nil {
		return err
	}
	if path != "" {
		a.say("recorded %s", path)
	}
	return nil
}

// ended is CMD's own code; --check turns only a 0 into 3.
func (a *app) ended(run *recording.Run, verdict diagnose.Verdict, check *checkFlag) error {
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 {
		return exitCode(exit.Code)
	}
	return a.checked(check, verdict)
}
