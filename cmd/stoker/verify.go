package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/ci"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/verify"
)

func (a *app) verifyCommand() *cobra.Command {
	var asJSON bool
	var check checkFlag
	var forms formFlags
	cmd := &cobra.Command{
		Use:   "verify BEFORE AFTER, or BEFORE... -- AFTER...",
		Short: "Say whether a change helped, as much as predicted, beyond noise",
		Long: `Compare two runs of the same work: faster, slower, no detectable difference, or too short to tell. It
sets the promised gain beside the achieved one. Put "--" between the sides if a side has several runs.`,
		Example: `  stoker verify before.jsonl.gz after.jsonl.gz
  stoker verify main/*.jsonl.gz -- branch/*.jsonl.gz
  stoker verify --check 'step<=+5%' BEFORE AFTER   exit with 3 if the step got slower than that`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := sides(args, cmd.ArgsLenAtDash())
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.began = true
			first, second, _ := sides(args, cmd.ArgsLenAtDash())
			before, after, err := a.bothSides(cmd.Context(), first, second)
			switch {
			case err != nil:
				return err
			case before[0].Timeline != nil:
				o, now, err := a.compared(pairFaces{json: asJSON, top: shownWork, files: args}, nil, before, after)
				if err != nil {
					return err
				}
				return a.concluded(cmd.Context(), &check, forms, o, now)
			}
			return a.runVerify(cmd.Context(), judgeAll(first, before), judgeAll(second, after), asJSON, &check, forms)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	check.register(cmd, wordPromise,
		"exit with 4 if the prediction was missed, with 3 if AFTER is starved (--check=fed)")
	forms.register(cmd)
	setGroups(cmd,
		section{"Answer", "json"},
		section{"In a pipeline", ciFlags},
	)
	setExitCodes(cmd, "3 a bound is missed or unknown, 4 a prediction is missed (--check)")
	return cmd
}

// sides are the files before and those after: two, or all with -- between them. dash is how
// many stand before the first -- of the command line, which is gone.
func sides(args []string, dash int) (before, after []string, err error) {
	if at := slices.Index(args, "--"); dash < 1 && at >= 0 { // one -- ended the flags, another one stands between
		before, after = args[:at], args[at+1:]
	} else if dash < 1 && len(args) == 2 {
		before, after = args[:1], args[1:]
	} else if dash > 0 {
		before, after = args[:dash], args[dash:]
	}
	if len(before) == 0 || len(after) == 0 {
		return nil, nil, asUsage(hint.Add(
			fmt.Errorf(
				"verify takes two recordings, BEFORE and AFTER, or several with -- between, got %d", len(args)),
			"stoker verify A1 A2 -- B1 B2",
		))
	}
	return before, after, nil
}

func judgeAll(files []string, runs []*recording.Run) (all []judgedRecording) {
	for i, run := range runs {
		all = append(all, judgeRun(files[i], run))
	}
	return all
}

// shownWork is how many kernels of two traces are shown.
const shownWork = 10

// bothSides reads recordings of live runs, or traces, as profilers wrote them or as
// recordings of them.
func (a *app) bothSides(ctx context.Context, first, second []string) (before, after []*recording.Run, err error) {
	files := slices.Concat(first, second)
	if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
		return nil, nil, asUsage(errors.New("verify reads one of its files from stdin: name the others"))
	}
	runs := make([]*recording.Run, len(files))
	for i, file := range files {
		if runs[i], err = a.openRun(file); err != nil {
			read, failed := a.readTraces(ctx, []string{file}, false)
			if failed != nil {
				return nil, nil, err
			}
			runs[i] = read[0]
		}
		if (runs[i].Timeline != nil) != (runs[0].Timeline != nil) {
			return nil, nil, asUsage(fmt.Errorf(
				"of %s and %s one is a trace, the other a recording of a live run: give files of a kind",
				files[0], file))
		}
	}
	return runs[:len(first)], runs[len(first):], nil
}

func (a *app) runVerify(ctx context.Context, before, after []judgedRecording, asJSON bool, check *checkFlag,
	forms formFlags,
) (err error) {
	outcome, now := compareAll(before, after), after[0]
	if asJSON {
		err = wire.WriteOutcome(a.stdout, now.run, now.verdict, now.plan, outcome)
	} else {
		err = text.WriteOutcome(a.stdout, outcome, a.textStyle(a.stdout))
	}
	if err != nil {
		return err
	}
	return a.concluded(ctx, check, forms, outcome, after)
}

// concluded writes the forms that were asked for of a comparison, and gives its exit code.
func (a *app) concluded(ctx context.Context, check *checkFlag, forms formFlags, o verify.Outcome,
	after []judgedRecording,
) error {
	failed, now := check.between(o), after[0]
	for _, j := range after {
		failed = append(failed, check.failed(j.verdict)...)
	}
	problems := ci.FindProblems(now.run, now.verdict, now.plan, failed, here())
	if err := a.written(ctx, forms, problems, func(w io.Writer) error {
		return ci.WriteOutcome(w, o, now.verdict, failed)
	}); err != nil {
		return err
	}
	if o.Refused != "" {
		return exitCode(exitError)
	}
	if err := a.kept(check, o); err != nil {
		return err
	}
	return a.refused(failed)
}

// forecastPromise is what would have been forecast for just these changes; nothing where
// nothing was changed.
func forecastPromise(before *recording.Run, changes []stoker.Change) predict.Forecast {
	if len(changes) == 0 {
		return predict.Forecast{Speedup: stoker.Unknown()}
	}
	return measure.From(before).Forecast(changes...)
}
