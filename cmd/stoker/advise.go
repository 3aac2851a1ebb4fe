package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoker/advise"
	"stoker/advise/emit"
	"stoker/report"
)

func (a *app) advise() *cobra.Command {
	var asJSON bool
	var dialect string
	dialects := strings.Join(slices.Sorted(maps.Keys(emit.Dialects)), ", ")
	cmd := &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Rank the fixes, each with its predicted gain",
		Long: `Rank the changes of settings that would feed the GPU better, each with its predicted
gain, effort, risk, and the traps of this machine. --emit prints the lines to paste.`,
		Example: `  stoker advise
  stoker advise --emit torch           DataLoader(...) keywords
  stoker advise --emit hf RUN          Hugging Face TrainingArguments
  stoker advise --emit lightning RUN   lightning.Trainer and its DataLoader`,
		Args: atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write := emit.Dialects[dialect]
			if dialect != "" && write == nil {
				return usageError{fmt.Errorf("--emit %q: expected one of %s", dialect, dialects)}
			}
			a.began = true
			j, err := a.judge(args)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return report.JSON(a.stdout, j.run, j.verdict, j.plan)
			case dialect != "":
				return a.emit(j.plan, write)
			}
			return report.Plan(a.stdout, j.run, j.verdict, j.plan, a.style(a.stdout))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&dialect, "emit", "", "print settings to paste: "+dialects)
	cmd.MarkFlagsMutuallyExclusive("json", "emit")
	return cmd
}

func (a *app) emit(plan advise.Plan, write func(io.Writer, advise.Fix) error) error {
	if len(plan.Fixes) == 0 {
		a.say("nothing to change: no fix can be promised a gain")
		return nil
	}
	for i, fix := range plan.Fixes {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := write(a.stdout, fix); err != nil {
			return err
		}
	}
	return nil
}
