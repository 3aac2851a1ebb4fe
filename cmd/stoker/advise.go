package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"stoker/advise"
	"stoker/advise/emit"
	"stoker/report"
)

func (a *app) advise() *cobra.Command {
	var asJSON bool
	var dialect string
	cmd := &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Rank the fixes, each with its predicted gain",
		Long: `Rank the changes of settings that would feed the GPU better, each with its predicted
gain, effort, risk, and the traps of this machine. --emit prints the lines to paste.`,
		Example: `  stoker advise
  stoker advise --emit torch           DataLoader(...) keywords
  stoker advise --emit hf RUN          Hugging Face TrainingArguments`,
		Args: atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if dialect != "" && dialect != "torch" && dialect != "hf" {
				return usageError{fmt.Errorf(`--emit %q: expected "torch" or "hf"`, dialect)}
			}
			a.began = true
			j, err := judge(args)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return report.JSON(a.stdout, j.run, j.verdict, j.plan)
			case dialect != "":
				return a.emit(j.plan, dialect)
			}
			return report.Plan(a.stdout, j.run, j.verdict, j.plan, a.style(a.stdout))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&dialect, "emit", "", "print settings to paste: torch, hf")
	cmd.MarkFlagsMutuallyExclusive("json", "emit")
	return cmd
}

func (a *app) emit(plan advise.Plan, dialect string) error {
	if len(plan.Fixes) == 0 {
		a.say("nothing to change: no fix can be promised a gain")
		return nil
	}
	for i, fix := range plan.Fixes {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		write := emit.Torch
		if dialect == "hf" {
			write = emit.HF
		}
		if err := write(a.stdout, fix); err != nil {
			return err
		}
	}
	return nil
}
