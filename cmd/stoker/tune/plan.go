package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/tune"
)

// runPlan runs CMD with the settings of a plan.
func runPlan(a *cli.App, file string, command, allow []string, force bool) error {
	plan, err := readPlan(file)
	if err == nil {
		err = checkPlan(a, plan, file, command, allow, force)
	}
	if err == nil && plan.Feeds() {
		a.Say("plan: stoker feed makes the pictures")
		command, err = fedCommand(command)
	}
	if err != nil {
		a.PrintError(err)
		return cli.ExitCode(cli.ExitOurs)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return runHooked(a, command, map[string]string{"STOKER_PLAN": path, "STOKER_PLAN_ALLOW": strings.Join(allow, ",")})
}

// fedCommand returns a command that runs under stoker feed.
func fedCommand(command []string) ([]string, error) {
	own, err := os.Executable()
	return append([]string{own, "feed", "--"}, command...), err
}

// allowFlag registers --allow.
func allowFlag(cmd *cobra.Command, allow *[]string) {
	cmd.Flags().StringSliceVar(allow, "allow", nil, "also set what may change batches or numbers, by `WORD`: "+
		strings.Join(tune.Allowances, ", "))
}

func checkAllowed(words []string) error {
	for _, word := range words {
		if !slices.Contains(tune.Allowances, word) {
			return cli.AsUsage(hint.Attach( // the user must decide which of them may change
				fmt.Errorf("--allow %q: expected one of %s", word, strings.Join(tune.Allowances, ", ")),
				"stoker tune --help",
			))
		}
	}
	return nil
}

func readPlan(file string) (tune.Plan, error) {
	text, err := cli.ReadSmall(file)
	if err != nil {
		return tune.Plan{}, fmt.Errorf("read plan: %w", err)
	}
	plan, err := tune.Read(text)
	if err != nil {
		return plan, fmt.Errorf("read plan %s: %w", file, err)
	}
	return plan, nil
}

// checkPlan returns why a plan cannot be applied to a command, before the command begins.
func checkPlan(a *cli.App, plan tune.Plan, file string, command, allow []string, force bool) error {
	if err := plan.Refusal(command, os.ReadFile); err != nil && !force {
		return hint.Attach(
			fmt.Errorf("plan %s: %w", file, err),
			"make a new one: stoker observe -- CMD, then stoker advise -o "+file+" (--force applies this one)",
		)
	}
	if denied := plan.Denied(allow); len(denied) > 0 {
		line, what := fmt.Sprintf("stoker tune --plan %s --allow %s -- %s", file, denied[0].Allow,
			strings.Join(command, " ")), "losses"
		if denied[0].Allow != tune.Precision {
			line, what = line+". stoker feed -- CMD keeps batches and makes pictures faster", "batches"
		}
		return hint.Attach(fmt.Errorf("plan %s: %s may change: %s", file, what, denied[0].Why), line)
	}
	for _, line := range plan.Unset() {
		a.Say("plan: %s", line)
	}
	if len(plan.Loaders) == 0 && len(plan.Program) == 0 {
		a.Say("plan: the plan sets nothing: CMD runs with its own settings")
	}
	return nil
}
