package observe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
)

// captureFlags are the flags for a trace by PyTorch's profiler.
type captureFlags struct {
	steps          int
	stacks, shapes bool
	none           bool // no trace, even if idle time remains unexplained
}

func (t *captureFlags) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&t.steps, "trace", 0, "have PyTorch's profiler write a trace of `N` steady steps")
	cmd.Flags().BoolVar(&t.stacks, "trace-stacks", false, "with Python's stacks in the trace (slower, larger)")
	cmd.Flags().BoolVar(&t.none, "no-trace", false,
		"take no trace (a short one is taken if idle time stays unexplained)")
	cmd.Flags().BoolVar(&t.shapes, "trace-shapes", false, "with operand shapes in the trace (slower, larger)")
}

// check rejects combinations of flags that are impossible. attached: --pid is given.
func (t *captureFlags) check(attached, noHook bool) error {
	switch {
	case t.steps < 0 || t.steps > observe.MostTraceSteps:
		return cli.AsUsage(fmt.Errorf("--trace takes a number of steps, 1 to %d, got %d", observe.MostTraceSteps,
			t.steps))
	case t.steps > 0 && attached:
		return cli.AsUsage(errors.New("--trace with --pid: a process that runs already has no hook to take a trace. " +
			"start it with stoker observe --trace 5 -- CMD, or record with torch.profiler and read the file: stoker trace FILE"))
	case t.steps > 0 && noHook:
		return cli.AsUsage(errors.New("--trace needs the hook, which takes it: leave --no-hook away"))
	case t.none && t.steps > 0:
		return cli.AsUsage(errors.New("--trace asks for a trace and --no-trace forbids one: leave one of them away"))
	case t.steps == 0 && (t.stacks || t.shapes):
		return cli.AsUsage(errors.New("--trace-stacks and --trace-shapes say what a trace holds: add --trace 5"))
	}
	return nil
}

func (t *captureFlags) traceRequest() *observe.TraceRequest {
	return &observe.TraceRequest{Steps: t.steps, Stacks: t.stacks, Shapes: t.shapes}
}

// describeCost says what a trace will cost the job.
func (t *captureFlags) describeCost() string {
	return fmt.Sprintf("a trace of %d steps is taken once, when steps are steady. They take longer meanwhile, with "+
		"stacks and shapes most of all, "+
		"and its start and its file hold the program up for %s (what it cost here is said at the end)", t.steps,
		insideCost)
}

// newInside decides whether a trace may be taken if idle time remains unexplained. With -q it may
// not, because its cost could not be announced.
func (t *captureFlags) newInside(quiet, attached, noHook bool) *inside {
	i := &inside{forbidden: t.none || t.steps > 0 || quiet}
	switch {
	case attached:
		i.lacking = "the process ran before stoker"
	case noHook:
		i.lacking = "--no-hook"
	}
	return i
}

// printCaptures prints, after the report, the verdict of the trace, its cost and its file. Without
// a trace it prints how to record one by hand.
func printCaptures(a *cli.App, run *recording.Run, c judged.Captured, asked bool) error {
	if len(run.Facts.Captures) == 0 {
		if asked {
			explainNoTrace(a, run)
		}
		return nil
	}
	if c.Verdict.Traced != nil && c.Verdict.Traced.HostOnly {
		fmt.Fprintln(a.Stderr)
		if err := text.WriteOperators(a.Stderr, c.Table, a.TextStyle(a.Stderr)); err != nil {
			return err
		}
	}
	for _, one := range run.Facts.Captures {
		var b strings.Builder
		if err := text.WriteCapture(&b, one, judge.CaptureCost(run, one)); err != nil {
			return err
		}
		a.Say("%s", strings.TrimSpace(b.String()))
	}
	if len(c.Files) > 0 {
		a.Say("kept %s, more: stoker trace %s", strings.Join(c.Files, ", "), strings.Join(c.Files, " "))
	}
	return nil
}

// byHand are the lines that record a trace without stoker.
const byHand = `    prof = torch.profiler.profile(schedule=torch.profiler.schedule(wait=10, warmup=2, active=5),
                                  on_trace_ready=lambda p: p.export_chrome_trace("trace.json"))
    prof.start()      # before the loop
    prof.step()       # at the end of each step, and after the loop prof.stop()
`

// explainNoTrace says why no trace was taken, and prints the lines that record one.
func explainNoTrace(a *cli.App, run *recording.Run) {
	why := "the run ended before"
	for _, absence := range run.Facts.Absent {
		if absence.What == "trace" {
			why = absence.Why
		}
	}
	a.Say("no trace was taken: %s", why)
	a.Say("four lines take one by hand, then stoker trace trace.json:")
	fmt.Fprint(a.Stderr, byHand)
}
