package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stoker"
	"stoker/predict"
	"stoker/recording"
	"stoker/report"
)

func (a *app) verify() *cobra.Command {
	var asJSON bool
	var check checkFlag
	cmd := &cobra.Command{
		Use:   "verify BEFORE AFTER",
		Short: "Did it help, as much as predicted, beyond noise",
		Long: `Compare two recordings, or two traces of a profiler's, of the same work: step time and throughput with 95 % intervals, what
had been promised for just these changes of settings beside what was achieved, and what binds
now. The answer is faster, slower, no detectable difference, or too short to tell, with the
seconds that both would have to run. Runs of different work are refused, or compared per sample.`,
		Example: `  stoker verify stoker-runs/before.jsonl.gz stoker-runs/after.jsonl.gz
  stoker verify --json BEFORE AFTER | jq .outcome.promise`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("verify takes two recordings, BEFORE and AFTER, got %d", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.began = true
			before, after, err := a.twoRuns(cmd.Context(), args[0], args[1])
			switch {
			case err != nil:
				return err
			case before.Timeline != nil:
				refused, err := a.compared(traceFlags{json: asJSON, check: check, top: shownWork}, nil, before, after)
				if err == nil && refused != "" {
					return exitCode(exitError)
				}
				return err
			}
			return a.runVerify(judgeRun(args[0], before), judgeRun(args[1], after), asJSON, &check)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	check.register(cmd, wordPromise, "exit with 4 where the prediction was missed; with 3 where AFTER is starved (--check=fed)")
	return cmd
}

// shownWork is how many kernels of two traces are shown.
const shownWork = 10

// twoRuns reads two recordings of live runs, or two traces, as profilers wrote them or as
// recordings of them.
func (a *app) twoRuns(ctx context.Context, first, second string) (before, after *recording.Run, err error) {
	if first == "-" && second == "-" {
		return nil, nil, usageError{errors.New("verify reads one of the two from stdin: name a file for the other")}
	}
	runs := make([]*recording.Run, 2)
	for i, file := range []string{first, second} {
		run, err := a.openRun(file)
		if err == nil {
			runs[i] = run
			continue
		}
		read, failed := a.readTraces(ctx, []string{file}, false)
		if failed != nil {
			return nil, nil, err
		}
		runs[i] = read[0]
	}
	if (runs[0].Timeline != nil) != (runs[1].Timeline != nil) {
		return nil, nil, usageError{fmt.Errorf("of %s and %s one is a trace, the other a recording of a live run: give two of a kind", first, second)}
	}
	return runs[0], runs[1], nil
}

func (a *app) runVerify(before, after judged, asJSON bool, check *checkFlag) (err error) {
	outcome := after.comparedWith(before)
	if asJSON {
		err = report.OutcomeJSON(a.stdout, after.run, after.verdict, after.plan, outcome)
	} else {
		err = report.Outcome(a.stdout, outcome, a.style(a.stdout))
	}
	switch {
	case err != nil:
		return err
	case outcome.Refused != "":
		return exitCode(exitError)
	}
	if err := a.kept(check, outcome.Promise); err != nil {
		return err
	}
	return a.checked(check, after.verdict)
}

// promise is what would have been forecast for just these changes; nothing where
// nothing was changed.
func promise(before *recording.Run, changes []stoker.Change) predict.Forecast {
	if len(changes) == 0 {
		return predict.Forecast{Speedup: stoker.Unknown()}
	}
	return predict.From(before).Forecast(changes...)
}
