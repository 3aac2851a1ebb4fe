// Package advise is the verb that ranks the fixes of a run.
package advise

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/tune"
)

// Command makes the command stoker advise.
func Command(a *cli.App) *cobra.Command {
	var asJSON bool
	var dialect, file string
	dialects := strings.Join(slices.Sorted(maps.Keys(emit.Dialects)), ", ")
	cmd := &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Rank the fixes, each with its predicted gain",
		Long: `Rank the changes that would feed the GPU better, each with its predicted gain, effort and risk. --emit
prints the lines to paste.

It computes num_workers and the largest batch that fits the device from one run, without trials.
stoker tune tries num_workers, also while CMD trains.`,
		Example: `  stoker advise                                    the newest recording here
  stoker advise --emit torch                       lines for DataLoader(...)
  stoker advise -o plan.json                       a plan, for stoker tune --plan plan.json -- CMD`,
		Args: cli.AtMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write := emit.Dialects[dialect]
			if dialect != "" && write == nil {
				return cli.AsUsage(fmt.Errorf("--emit %q: expected one of %s", dialect, dialects))
			}
			a.Began = true
			j, err := judged.Open(a, args)
			if err != nil {
				return err
			}
			switch {
			case file != "":
				return writePlan(a, j, file)
			case asJSON:
				return wire.WriteVerdict(a.Stdout, j.Run, j.Verdict, j.Plan)
			case dialect != "":
				return emitFixes(a, j, write)
			}
			return text.WritePlan(a.Stdout, j.Run, j.Verdict, j.Plan, a.PageStyle(a.Stdout, true, args...))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&dialect, "emit", "", "print settings to paste, in a `DIALECT`: "+dialects)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write a plan to a `FILE` (JSON), for stoker tune --plan")
	cmd.MarkFlagsMutuallyExclusive("json", "emit", "output")
	return cmd
}

// writePlan writes the settings that the hook can apply to a file, and prints those that it cannot.
func writePlan(a *cli.App, j judged.Recording, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("write %s: it is there already and is not replaced", file)
	}
	plan, err := tune.New(j.Run, j.Verdict, j.Plan, j.Path, cli.Version, os.ReadFile)
	if err != nil {
		return err
	}
	for _, line := range plan.Unset() {
		a.Say("%s", line)
	}
	if len(plan.Loaders) == 0 {
		a.Say("nothing to apply: no plan is written")
		return cli.ExitCode(cli.ExitError)
	}
	for _, doubt := range plan.Denied(nil) {
		a.Say("stoker tune --plan will want --allow %s: %s", doubt.Allow, doubt.Why)
	}
	a.KeepText(file, plan.JSON)
	return nil
}

// emitFixes prints the lines of the fixes; if none comes first, what to do first, as a comment.
func emitFixes(a *cli.App, j judged.Recording, write func(io.Writer, advise.Fix) error) error {
	next := report.LeadOf(j.Run, j.Verdict, j.Plan, "").Next
	switch {
	case len(j.Plan.Fixes) == 0:
		a.Say("there is no line to paste for %s. Next: %s", j.Verdict.Class, next)
		return nil
	case !report.LeadsWithFix(j.Verdict, j.Plan):
		a.PrintLine("# first: %s", next)
		a.PrintLine("")
	}
	for i, fix := range j.Plan.Fixes {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		if err := write(a.Stdout, fix); err != nil {
			return err
		}
	}
	return nil
}
