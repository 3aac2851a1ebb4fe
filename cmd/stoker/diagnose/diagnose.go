// Package diagnose is the verb that says what starves the GPU, from a recording.
package diagnose

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/ci"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker diagnose.
func Command(a *cli.App) *cobra.Command {
	var asJSON, explain, list, all bool
	var profile string
	var check pipeline.Check
	var prices cost.Flags
	var forms pipeline.Forms
	cmd := &cobra.Command{
		Use:   "diagnose [RUN...]",
		Short: "Say what starves the GPU, from a recording",
		Long: `Say what limits a recorded run, which figures show it, and what to do first. RUN is a recording, also
one that is still being written (default: the newest in stoker-runs/). A folder or several recordings
are the ranks and nodes of one job.`,
		Example: `  stoker diagnose                                  the newest recording here
  stoker diagnose --explain RUN                    every question that was asked, with its answer
  stoker diagnose --check 'idle<20%' RUN           exit with 3 if the bound is missed`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := prices.ReadOwn()
			if err != nil {
				return err
			}
			a.Began = true
			if list {
				return text.WriteWords(a.Stdout, a.TextStyle(a.Stdout))
			}
			j, job, err := judgeAll(a, args)
			if err != nil {
				return err
			}
			j.Verdict.Cost = judge.CostOf(j.Run, j.Verdict, own)
			if err := writeProfile(cmd.Context(), a, profile, j.Run); err != nil {
				return err
			}
			switch {
			case explain:
				err = text.Explain(a.Stdout, j.Verdict, a.TextStyle(a.Stdout))
			case job != nil:
				err = printJob(a, *job, j, asJSON, a.PageStyle(a.Stdout, all, args...))
			case asJSON:
				err = wire.WriteVerdict(a.Stdout, j.Run, j.Verdict, j.Plan)
			default:
				err = text.WriteVerdict(a.Stdout, j.Run, j.Verdict, j.Plan, a.PageStyle(a.Stdout, all, args...))
			}
			if err != nil {
				return err
			}
			return conclude(cmd.Context(), a, &check, forms, j)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&explain, "explain", false, "print the questions that were asked and their answers")
	cmd.Flags().BoolVar(&all, "all", false, "print everything that is known, also beyond 40 lines")
	cmd.Flags().BoolVar(&list, "list", false, "print what a verdict can say, and what to do about it")
	cmd.Flags().StringVar(&profile, "pprof", "",
		"write on which lines preparing batches spends its time, to a `FILE` for go tool pprof")
	check.Register(cmd, pipeline.Fed, "exit with 3 if the GPU is starved")
	prices.Register(cmd.Flags())
	forms.Register(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "explain", "list", "all")
	cli.SetGroups(cmd,
		cli.Section{Title: "Answer", Names: "all explain list json pprof"},
		cli.Section{Title: "In a pipeline", Names: pipeline.FlagNames},
		cli.Section{Title: "Cost", Names: cost.FlagNames},
	)
	cli.SetExitCodes(cmd, "3 starved, or a bound is missed or unknown (--check)")
	return cmd
}

// writeProfile writes a profile of the lines that prepare batches, if a file is named.
func writeProfile(ctx context.Context, a *cli.App, file string, run *recording.Run) error {
	if file == "" {
		return nil
	}
	err := cli.WriteFiles(ctx, cli.Output{
		Name: file, Mode: cli.ToOthers,
		Produce: func(w io.Writer) error { return export.PProf(w, run) },
	})
	if errors.Is(err, export.ErrNoStacks) {
		a.Hint("record it anew, without --no-lines: stoker observe -- python train.py")
	}
	return err
}

// conclude writes the formats for pipelines, and returns exit code 3 if --check does not hold.
func conclude(ctx context.Context, a *cli.App, check *pipeline.Check, forms pipeline.Forms, j judged.Recording) error {
	failed := check.FindFailures(j.Verdict)
	problems := ci.FindProblems(j.Run, j.Verdict, j.Plan, failed, cli.WorkingFolder())
	if err := pipeline.WriteForms(ctx, a, forms, problems, func(w io.Writer) error {
		return ci.WriteSummary(w, j.Run, j.Verdict, j.Plan, failed)
	}); err != nil {
		return err
	}
	return pipeline.Refuse(a, failed)
}
