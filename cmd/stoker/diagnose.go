package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/ci"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

func (a *app) diagnoseCommand() *cobra.Command {
	var asJSON, explain, list, all bool
	var profile string
	var check checkFlag
	var prices priceFlags
	var forms formFlags
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
			own, err := prices.own()
			if err != nil {
				return err
			}
			a.began = true
			if list {
				return text.WriteWords(a.stdout, a.textStyle(a.stdout))
			}
			j, job, err := a.judgeAll(args)
			if err != nil {
				return err
			}
			j.verdict.Cost = judge.CostOf(j.run, j.verdict, own)
			if err := a.profiled(cmd.Context(), profile, j.run); err != nil {
				return err
			}
			switch {
			case explain:
				err = text.Explain(a.stdout, j.verdict, a.textStyle(a.stdout))
			case job != nil:
				err = a.printJob(*job, j, asJSON, a.pageStyle(a.stdout, all, args...))
			case asJSON:
				err = wire.WriteVerdict(a.stdout, j.run, j.verdict, j.plan)
			default:
				err = text.WriteVerdict(a.stdout, j.run, j.verdict, j.plan, a.pageStyle(a.stdout, all, args...))
			}
			if err != nil {
				return err
			}
			failed := check.failed(j.verdict)
			if err := a.written(cmd.Context(), forms, ci.FindProblems(j.run, j.verdict, j.plan, failed, here()),
				func(w io.Writer) error {
					return ci.WriteSummary(w, j.run, j.verdict, j.plan, failed)
				}); err != nil {
				return err
			}
			return a.refused(failed)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&explain, "explain", false, "print the questions that were asked and their answers")
	cmd.Flags().BoolVar(&all, "all", false, "print everything that is known, also beyond 40 lines")
	cmd.Flags().BoolVar(&list, "list", false, "print what a verdict can say, and what to do about it")
	cmd.Flags().StringVar(&profile, "pprof", "",
		"write on which lines preparing batches spends its time, to a `FILE` for go tool pprof")
	check.register(cmd, wordFed, "exit with 3 if the GPU is starved")
	prices.register(cmd.Flags())
	forms.register(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "explain", "list", "all")
	setGroups(cmd,
		section{"Answer", "all explain list json pprof"},
		section{"In a pipeline", ciFlags},
		section{"Cost", costFlags},
	)
	setExitCodes(cmd, "3 starved, or a bound is missed or unknown (--check)")
	return cmd
}

// profiled writes on which lines preparing batches spends its time, where a file is named.
func (a *app) profiled(ctx context.Context, file string, run *recording.Run) error {
	if file == "" {
		return nil
	}
	err := writeFiles(ctx, output{file, toOthers, func(w io.Writer) error { return export.PProf(w, run) }})
	if errors.Is(err, export.ErrNoStacks) {
		a.hint("record it anew, without --no-lines: stoker observe -- python train.py")
	}
	return err
}
