package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/tune"
)

func (a *app) apply() *cobra.Command {
	var allow []string
	var force bool
	cmd := &cobra.Command{
		Use:   "apply PLAN -- CMD...",
		Short: "Run CMD with the settings of a plan",
		Long: `Run a PyTorch program as it is, with the settings of a plan (stoker advise -o plan.json, stoker
tune) on its DataLoaders: the start-up hook sets them. Batches and losses stay the same to the bit;
what may change them needs --allow, as TF32 and bf16 of the whole program do. Where a setting cannot be applied a line says why, and CMD
runs with its own. The exit code is CMD's.`,
		Example: `  stoker advise -o plan.json && stoker apply plan.json -- python train.py
  stoker observe -- stoker apply plan.json -- python train.py      and see what came of it
  stoker apply --allow draws plan.json -- python train.py          other random numbers, of the same distribution`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usageError{errors.New("apply takes one plan, and a command behind --: stoker apply plan.json -- python train.py")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := allowed(allow); err != nil {
				return err
			}
			a.began = true
			plan, err := readPlan(args[0])
			if err == nil {
				err = a.fits(plan, args[0], args[1:], allow, force)
			}
			command := args[1:]
			if err == nil && plan.Feeds() {
				a.say("apply: stoker feed makes the pictures")
				command, err = fedCommand(command)
			}
			if err != nil {
				a.error(err)
				return exitCode(exitOurs)
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.runApplied(command, map[string]string{"STOKER_APPLY": path, "STOKER_APPLY_ALLOW": strings.Join(allow, ",")})
		},
	}
	allowFlag(cmd, &allow)
	cmd.Flags().BoolVar(&force, "force", false, "apply a plan of another script, or of another version of it")
	return cmd
}

// fedCommand is a command whose pictures stoker feed makes.
func fedCommand(command []string) ([]string, error) {
	own, err := os.Executable()
	return append([]string{own, "feed", "--"}, command...), err
}

// allowFlag registers --allow.
func allowFlag(cmd *cobra.Command, allow *[]string) {
	cmd.Flags().StringSliceVar(allow, "allow", nil, "set what may change batches or numbers: "+strings.Join(tune.Allowances, ", "))
}

func allowed(words []string) error {
	for _, word := range words {
		if !slices.Contains(tune.Allowances, word) {
			return usageError{fmt.Errorf("--allow %q: expected one of %s", word, strings.Join(tune.Allowances, ", "))}
		}
	}
	return nil
}

func readPlan(file string) (tune.Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return tune.Plan{}, fmt.Errorf("read plan: %w", err)
	}
	plan, err := tune.Read(text)
	if err != nil {
		return plan, fmt.Errorf("read plan %s: %w", file, err)
	}
	return plan, nil
}

// fits says why a plan is not applied to a command, before the command begins.
func (a *app) fits(plan tune.Plan, file string, command, allow []string, force bool) error {
	if err := plan.Refusal(command, os.ReadFile); err != nil && !force {
		return hintedError{fmt.Errorf("apply %s: %w", file, err), "make it anew (stoker observe, stoker advise -o " + file + "), or --force applies it all the same"}
	}
	if denied := plan.Denied(allow); len(denied) > 0 {
		hint, what := fmt.Sprintf("stoker apply --allow %s %s -- %s", denied[0].Allow, file, strings.Join(command, " ")), "losses"
		if denied[0].Allow != tune.Precision {
			hint, what = hint+"; stoker feed -- CMD keeps batches and makes pictures faster", "batches"
		}
		return hintedError{fmt.Errorf("apply %s: %s may change: %s", file, what, denied[0].Why), hint}
	}
	for _, line := range plan.Unset() {
		a.say("apply: %s", line)
	}
	if len(plan.Loaders) == 0 && len(plan.Program) == 0 {
		a.say("apply: the plan sets nothing: CMD runs with its own settings")
	}
	return nil
}
