package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/trace"
)

// captureFlags ask observe for a trace by PyTorch's own profiler.
type captureFlags struct {
	steps          int
	stacks, shapes bool
	none           bool // not even where idle time stays without a name
}

func (t *captureFlags) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&t.steps, "trace", 0, "have PyTorch's profiler write a trace of `N` steady steps")
	cmd.Flags().BoolVar(&t.stacks, "trace-stacks", false, "with Python's stacks in the trace (slower, larger)")
	cmd.Flags().BoolVar(&t.none, "no-trace", false,
		"take no trace (a short one is taken if idle time stays unexplained)")
	cmd.Flags().BoolVar(&t.shapes, "trace-shapes", false, "with operand shapes in the trace (slower, larger)")
}

// check refuses what cannot be asked for: attached is with --pid.
func (t *captureFlags) check(attached, noHook bool) error {
	switch {
	case t.steps < 0 || t.steps > observe.MostTraceSteps:
		return asUsage(fmt.Errorf("--trace takes a number of steps, 1 to %d, got %d", observe.MostTraceSteps,
			t.steps))
	case t.steps > 0 && attached:
		return asUsage(errors.New("--trace with --pid: a process that runs already has no hook to take a trace. " +
			"start it with stoker observe --trace 5 -- CMD, or record with torch.profiler and read the file: stoker trace FILE"))
	case t.steps > 0 && noHook:
		return asUsage(errors.New("--trace needs the hook, which takes it: leave --no-hook away"))
	case t.none && t.steps > 0:
		return asUsage(errors.New("--trace asks for a trace and --no-trace forbids one: leave one of them away"))
	case t.steps == 0 && (t.stacks || t.shapes):
		return asUsage(errors.New("--trace-stacks and --trace-shapes say what a trace holds: add --trace 5"))
	}
	return nil
}

func (t *captureFlags) traceRequest() *observe.TraceRequest {
	return &observe.TraceRequest{Steps: t.steps, Stacks: t.stacks, Shapes: t.shapes}
}

// describeCost says beforehand what a trace costs the job.
func (t *captureFlags) describeCost() string {
	return fmt.Sprintf("a trace of %d steps is taken once, when steps are steady. They take longer meanwhile, with "+
		"stacks and shapes most of all, "+
		"and its start and its file hold the program up for %s (what it cost here is said at the end)", t.steps,
		insideCost)
}

// newInside says whether a trace is taken where idle time stays without a name. Without a
// word on what it costs, as with -q, it is not.
func (t *captureFlags) newInside(o observeFlags) *inside {
	i := &inside{forbidden: t.none || t.steps > 0 || o.quiet}
	switch {
	case o.pid > 0:
		i.lacking = "the process ran before stoker"
	case o.noHook:
		i.lacking = "--no-hook"
	}
	return i
}

// captured is what was concluded from a run and the traces that were taken of it.
type captured struct {
	verdict diagnose.Verdict  // of both, where there is a trace that can be read
	traced  *diagnose.Verdict // of the traces alone; nil where none can be read
	files   []string          // beside the recording
	table   *operators.Table  // nil without a trace
	trouble []string          // sentences
}

// mostTrace bounds what is read of a file that a recording names.
const mostTrace = 4 << 30 // bytes

// capturedOf reads the traces beside a recording and joins their verdict with the
// run's.
func capturedOf(ctx context.Context, path string, run *recording.Run, live diagnose.Verdict) captured {
	c := readCaptured(ctx, path, run, live.Costs.Window.PID)
	if c.verdict = live; c.traced != nil {
		c.verdict = judge.Merge(run, live, *c.traced)
	}
	c.verdict.Warnings = append(slices.Clone(c.verdict.Warnings), c.trouble...)
	return c
}

// readCaptured reads and judges the traces beside a recording; where they are not of
// one run, that of the process alone.
func readCaptured(ctx context.Context, path string, run *recording.Run, pid int) (c captured) {
	own := ""
	for _, one := range run.Facts.Captures {
		file, err := besides(path, one.File)
		if err != nil {
			c.trouble = append(c.trouble, err.Error())
			continue
		}
		c.files = append(c.files, file)
		if own == "" || one.PID == pid {
			own = file
		}
	}
	if len(c.files) == 0 {
		return c
	}
	traced, err := trace.Read(ctx, c.files, trace.Options{})
	if err != nil && len(c.files) > 1 { // not of one run, as two programs under one command are not
		c.trouble = append(c.trouble, err.Error()+", and the trace of the judged process alone is read")
		traced, err = trace.Read(ctx, []string{own}, trace.Options{})
	}
	if err != nil {
		c.trouble = append(c.trouble, err.Error())
	} else {
		verdict := judge.Judge(traced)
		c.traced, c.table = &verdict, operators.Tabulate(traced.Timeline, operators.Options{Top: 10})
	}
	return c
}

// besides is a file that a recording names, in the recording's own folder: the
// recording may come from anybody.
func besides(path, name string) (string, error) {
	if name == "" || name != filepath.Base(name) || name == ".." || name == "." {
		return "", fmt.Errorf("the recording names a trace %q that is not beside it: it is not read", name)
	}
	file := filepath.Join(filepath.Dir(path), name)
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", fmt.Errorf("the trace of this run is missing: %s", file)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a plain file: it is not read", file)
	case info.Size() > mostTrace:
		return "", fmt.Errorf("%s has %d bytes: stoker trace %s reads it", file, info.Size(), file)
	}
	return file, nil
}

// capturedEnding says after the report what the trace holds, what it cost and
// where it lies; or how to take one by hand.
func (a *app) capturedEnding(run *recording.Run, c captured, asked bool) error {
	if len(run.Facts.Captures) == 0 {
		if asked {
			a.noTrace(run)
		}
		return nil
	}
	if c.verdict.Traced != nil && c.verdict.Traced.HostOnly {
		fmt.Fprintln(a.stderr)
		if err := text.WriteOperators(a.stderr, c.table, a.textStyle(a.stderr)); err != nil {
			return err
		}
	}
	for _, one := range run.Facts.Captures {
		var b strings.Builder
		if err := text.WriteCapture(&b, one, judge.CaptureCost(run, one)); err != nil {
			return err
		}
		a.say("%s", strings.TrimSpace(b.String()))
	}
	if len(c.files) > 0 {
		a.say("kept %s, more: stoker trace %s", strings.Join(c.files, ", "), strings.Join(c.files, " "))
	}
	return nil
}

// byHand are the lines with which a program records a trace by itself.
const byHand = `    prof = torch.profiler.profile(schedule=torch.profiler.schedule(wait=10, warmup=2, active=5),
                                  on_trace_ready=lambda p: p.export_chrome_trace("trace.json"))
    prof.start()      # before the loop
    prof.step()       # at the end of each step, and after the loop prof.stop()
`

// noTrace says why no trace was taken, and the four lines that take one.
func (a *app) noTrace(run *recording.Run) {
	why := "the run ended before"
	for _, absence := range run.Facts.Absent {
		if absence.What == "trace" {
			why = absence.Why
		}
	}
	a.say("no trace was taken: %s", why)
	a.say("four lines take one by hand, then stoker trace trace.json:")
	fmt.Fprint(a.stderr, byHand)
}
