// Package verify is the verb that says whether a change helped.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/traces"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker verify.
func Command(a *cli.App) *cobra.Command {
	var asJSON bool
	var check pipeline.Check
	var forms pipeline.Forms
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
			a.Began = true
			first, second, _ := sides(args, cmd.ArgsLenAtDash())
			before, after, err := bothSides(cmd.Context(), a, first, second)
			switch {
			case err != nil:
				return err
			case before[0].Timeline != nil:
				o, now, err := traces.Compare(a, traces.Faces{JSON: asJSON, Top: shownWork, Files: args}, nil,
					before, after)
				if err != nil {
					return err
				}
				return traces.Conclude(cmd.Context(), a, &check, forms, o, now)
			}
			return runVerify(cmd.Context(), a, judgeAll(first, before), judgeAll(second, after), asJSON, &check, forms)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	check.Register(cmd, pipeline.Promise,
		"exit with 4 if the prediction was missed, with 3 if AFTER is starved (--check=fed)")
	forms.Register(cmd)
	cli.SetGroups(cmd,
		cli.Section{Title: "Answer", Names: "json"},
		cli.Section{Title: "In a pipeline", Names: pipeline.FlagNames},
	)
	cli.SetExitCodes(cmd, "3 a bound is missed or unknown, 4 a prediction is missed (--check)")
	return cmd
}

// sides returns the files before and after: two files, or several with -- between the sides. dash
// is the number of arguments before the first -- of the command line, which pflag has removed.
func sides(args []string, dash int) (before, after []string, err error) {
	if at := slices.Index(args, "--"); dash < 1 && at >= 0 { // the first -- ended the flags, the second separates
		before, after = args[:at], args[at+1:]
	} else if dash < 1 && len(args) == 2 {
		before, after = args[:1], args[1:]
	} else if dash > 0 {
		before, after = args[:dash], args[dash:]
	}
	if len(before) == 0 || len(after) == 0 {
		return nil, nil, cli.AsUsage(hint.Attach(
			fmt.Errorf(
				"verify takes two recordings, BEFORE and AFTER, or several with -- between, got %d", len(args)),
			"stoker verify A1 A2 -- B1 B2",
		))
	}
	return before, after, nil
}

func judgeAll(files []string, runs []*recording.Run) (all []judged.Recording) {
	for i, run := range runs {
		all = append(all, judged.Judge(files[i], run))
	}
	return all
}

// shownWork is how many kernels of two traces are shown.
const shownWork = 10

// bothSides reads recordings of live runs, or traces: a profiler's files, or recordings made from
// them.
func bothSides(ctx context.Context, a *cli.App, first, second []string) (before,
	after []*recording.Run, err error,
) {
	files := slices.Concat(first, second)
	if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
		return nil, nil, cli.AsUsage(errors.New("verify reads one of its files from stdin: name the others"))
	}
	runs := make([]*recording.Run, len(files))
	for i, file := range files {
		if runs[i], err = judged.Read(a, file); err != nil {
			read, failed := traces.Read(ctx, a, []string{file}, false)
			if failed != nil {
				return nil, nil, err
			}
			runs[i] = read[0]
		}
		if (runs[i].Timeline != nil) != (runs[0].Timeline != nil) {
			return nil, nil, cli.AsUsage(fmt.Errorf(
				"of %s and %s one is a trace, the other a recording of a live run: give files of a kind",
				files[0], file))
		}
	}
	return runs[:len(first)], runs[len(first):], nil
}

func runVerify(ctx context.Context, a *cli.App, before, after []judged.Recording, asJSON bool,
	check *pipeline.Check,
	forms pipeline.Forms,
) (err error) {
	outcome, now := judged.CompareAll(before, after), after[0]
	if asJSON {
		err = wire.WriteOutcome(a.Stdout, now.Run, now.Verdict, now.Plan, outcome)
	} else {
		err = text.WriteOutcome(a.Stdout, outcome, a.TextStyle(a.Stdout))
	}
	if err != nil {
		return err
	}
	return traces.Conclude(ctx, a, check, forms, outcome, after)
}
