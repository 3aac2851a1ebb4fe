package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

func (a *app) diagnose() *cobra.Command {
	var asJSON, explain, list bool
	var profile string
	var check checkFlag
	var prices priceFlags
	var forms formFlags
	cmd := &cobra.Command{
		Use:   "diagnose [RUN...]",
		Short: "Say what starves the GPU, from a recording (default: the newest here)",
		Long: `Say what starves the GPU, why, how sure that is, what to change and what that is worth.
RUN is a recording, also one that is still being written; by default the newest in stoker-runs/. Several recordings, or a
folder of them, are those of one job's ranks and nodes: the verdict says who waits for whom, and is that of the rank that is late.`,
		Example: `  stoker diagnose
  stoker diagnose --explain stoker-runs/2026-11-21T101500-train.jsonl.gz
  stoker diagnose /shared/recordings/4711           all nodes of a job: one verdict
  stoker diagnose --list                            every class and finding, and what to do about it
  stoker diagnose --json RUN | jq .verdict.class
  stoker diagnose --pprof lines.pb RUN && go tool pprof -top lines.pb
  stoker diagnose --check RUN || echo starved
  stoker diagnose --check 'idle<20%,step<120ms' RUN
  stoker diagnose --github --sarif stoker.sarif --markdown "$GITHUB_STEP_SUMMARY" RUN`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := prices.own()
			if err != nil {
				return err
			}
			a.began = true
			if list {
				return report.Words(a.stdout, a.style(a.stdout))
			}
			j, job, err := a.judgeAll(args)
			if err != nil {
				return err
			}
			j.verdict.Cost = diagnose.CostOf(j.run, j.verdict, own)
			if err := a.profiled(cmd.Context(), profile, j.run); err != nil {
				return err
			}
			switch {
			case explain:
				err = report.Explain(a.stdout, j.verdict, a.style(a.stdout))
			case job != nil:
				err = a.printJob(*job, j, asJSON)
			case asJSON:
				err = report.JSON(a.stdout, j.run, j.verdict, j.plan)
			default:
				err = report.Text(a.stdout, j.run, j.verdict, j.plan, a.style(a.stdout))
			}
			if err != nil {
				return err
			}
			failed := check.failed(j.verdict)
			if err := a.written(cmd.Context(), forms, report.Problems(j.run, j.verdict, failed, here()), func(w io.Writer) error {
				return report.Markdown(w, j.run, j.verdict, j.plan, failed)
			}); err != nil {
				return err
			}
			return a.refused(failed)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&explain, "explain", false, "print the questions that were asked and their answers")
	cmd.Flags().BoolVar(&list, "list", false, "print what a verdict can say, and what to do about it")
	cmd.Flags().StringVar(&profile, "pprof", "", "write on which lines preparing batches spends its time, to a `FILE` for go tool pprof")
	check.register(cmd, wordFed, "exit with 3 where the GPU is starved")
	prices.register(cmd.Flags())
	forms.register(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "explain", "list")
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
