package main

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
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/tune"
)

func (a *app) adviseCommand() *cobra.Command {
	var asJSON bool
	var dialect, file string
	dialects := strings.Join(slices.Sorted(maps.Keys(emit.Dialects)), ", ")
	cmd := &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Rank the fixes, each with its predicted gain",
		Long: `Rank the changes that would feed the GPU better, each with its predicted gain, effort and risk. --emit
prints the lines to paste.`,
		Example: `  stoker advise                                    the newest recording here
  stoker advise --emit torch                       lines for DataLoader(...)
  stoker advise -o plan.json                       a plan, for stoker tune --plan plan.json -- CMD`,
		Args: atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write := emit.Dialects[dialect]
			if dialect != "" && write == nil {
				return asUsage(fmt.Errorf("--emit %q: expected one of %s", dialect, dialects))
			}
			a.began = true
			j, err := a.judge(args)
			if err != nil {
				return err
			}
			switch {
			case file != "":
				return a.writePlan(j, file)
			case asJSON:
				return wire.WriteVerdict(a.stdout, j.run, j.verdict, j.plan)
			case dialect != "":
				return a.emit(j, write)
			}
			return text.WritePlan(a.stdout, j.run, j.verdict, j.plan, a.pageStyle(a.stdout, true, args...))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&dialect, "emit", "", "print settings to paste, in a `DIALECT`: "+dialects)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write a plan to a `FILE` (JSON), for stoker tune --plan")
	cmd.MarkFlagsMutuallyExclusive("json", "emit", "output")
	return cmd
}

// writePlan writes the settings that the hook can set, and says what it cannot.
func (a *app) writePlan(j judgedRecording, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("write %s: it is there already and is not replaced", file)
	}
	plan, err := tune.New(j.run, j.verdict, j.plan, j.path, version, os.ReadFile)
	if err != nil {
		return err
	}
	for _, line := range plan.Unset() {
		a.say("%s", line)
	}
	if len(plan.Loaders) == 0 {
		a.say("nothing to apply: no plan is written")
		return exitCode(exitError)
	}
	for _, doubt := range plan.Denied(nil) {
		a.say("stoker tune --plan will want --allow %s: %s", doubt.Allow, doubt.Why)
	}
	a.keepText(file, plan.JSON)
	return nil
}

// emit prints what to do first where no fix says it, as a comment, and the lines of the fixes.
func (a *app) emit(j judgedRecording, write func(io.Writer, advise.Fix) error) error {
	next := report.LeadOf(j.run, j.verdict, j.plan, "").Next
	switch {
	case len(j.plan.Fixes) == 0:
		a.say("there is no line to paste for %s. Next: %s", j.verdict.Class, next)
		return nil
	case !report.LeadsWithFix(j.verdict, j.plan):
		a.printLine("# first: %s", next)
		a.printLine("")
	}
	for i, fix := range j.plan.Fixes {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := write(a.stdout, fix); err != nil {
			return err
		}
	}
	return nil
}
