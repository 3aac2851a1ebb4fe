// Package tune is the verb that tries the fixes on a command, and keeps those that helped.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/python/hook"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/tune"
)

// tuneFlags are the flags of the verb.
type tuneFlags struct {
	allow, env, args []string
	starts           int
	longest          time.Duration
	output           string
	plan             string
	yes, json, live  bool
	force            bool
}

// Command makes the command stoker tune.
func Command(a *cli.App) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [flags] -- CMD...",
		Short: "Try the fixes on CMD, and keep what helped",
		Long: `Start a PyTorch program several times, each time with the best fix that is left, and keep the fixes
that are faster beyond noise. It prints what each was worth, a patch for the script and a plan. CMD
trains in each start, so give it a folder for its output with {scratch}.

num_workers is found so, also while CMD trains (--live). The largest batch that fits the device is
what stoker advise says.

With --live, CMD starts once and tries settings at the beginnings of epochs. With --plan, CMD starts
once with the settings of a plan.`,
		Example: `  stoker tune --args '--output-dir={scratch}' -- python train.py
  stoker tune --live -- python train.py            while it trains, once
  stoker tune --plan plan.json -- python train.py  with the settings of stoker advise -o plan.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return cli.AsUsage(errors.New("tune takes a command behind --: stoker tune -- python train.py"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(f.alone(cmd.Flags().Changed), f.check()); err != nil {
				return cli.AsUsage(err)
			}
			if err := checkAllowed(f.allow); err != nil {
				return err
			}
			a.Began = true
			switch {
			case f.live:
				return runLive(a, f, args)
			case f.plan != "":
				return runPlan(a, f.plan, args, f.allow, f.force)
			}
			return runTune(cmd.Context(), a, f, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.starts, "starts", 5, "start CMD `N` times at most")
	flags.DurationVar(&f.longest, "longest", 2*time.Minute,
		"end a start after this `TIME`, even if its mean step is not known yet")
	flags.StringArrayVar(&f.env, "env", nil, "set `NAME=VALUE` for CMD ({scratch}: a new folder for each start)")
	flags.StringArrayVar(&f.args, "args", nil, "add a `WORD` to CMD ({scratch}: a new folder for each start)")
	flags.StringVarP(&f.output, "output", "o", "", "write the plan to a new `FILE` (default "+planFile+
		", or a free name like it)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "start without asking")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.live, "live", false, "tune CMD while it trains, at the beginnings of epochs")
	flags.StringVar(&f.plan, "plan", "", "start CMD once, with the settings of a plan `FILE` (stoker advise -o FILE)")
	flags.BoolVar(&f.force, "force", false, "with --plan: take a plan of another script, or of another version of it")
	allowFlag(cmd, &f.allow)
	cli.SetGroups(cmd,
		cli.Section{Title: "Try fixes", Names: "starts longest env args output yes json"},
		cli.Section{Title: "Other ways", Names: "live plan force"},
		cli.Section{Title: "Every way", Names: "allow"},
	)
	cli.SetExitCodes(cmd, "with --plan and --live CMD's own, 125 stoker failed before it, 126 CMD cannot be run, 127 CMD not found")
	return cmd
}

// alone rejects flags that have no effect with --live and --plan, which start CMD only once.
func (f tuneFlags) alone(given func(flag string) bool) error {
	if f.force && f.plan == "" {
		return errors.New("--force without --plan: it takes a plan of another script: --plan FILE --force")
	}
	for _, other := range []string{"live", "starts", "longest", "env", "args", "output", "yes", "json"} {
		switch {
		case f.plan != "" && given(other):
			return fmt.Errorf(
				"--plan with --%s: CMD is started once, with the settings of the plan: leave out --%[1]s", other)
		case f.live && other != "live" && given(other):
			return fmt.Errorf(
				"--live with --%s: CMD is started once, as it is, and the plan goes into the folder that is named "+
					"then: leave out --%[1]s", other)
		}
	}
	return nil
}

func (f tuneFlags) check() error {
	for _, entry := range f.env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			return fmt.Errorf("--env %q: NAME=VALUE is expected", entry)
		}
	}
	switch {
	case f.plan != "":
		return nil // the other flags need no check
	case f.live && slices.Contains(f.allow, tune.Precision):
		return errors.New("--live with --allow precision: losses are compared over several starts: leave out --live")
	case f.starts < 2 || f.starts > 100:
		return fmt.Errorf("--starts %d: 2 to 100 are possible", f.starts)
	case f.longest < 10*time.Second:
		return fmt.Errorf("--longest %s: at least 10s are needed to judge a run", f.longest)
	}
	if f.output != "" && exists(f.output) {
		return fmt.Errorf("-o %s: it is there already and is not replaced: name another file", f.output)
	}
	return nil
}

// planFile is the default file of the plan.
const planFile = "plan.json"

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// freePlan returns a file for a plan if none was named. It never overwrites a plan.
func freePlan() string {
	file := planFile
	for n := 2; exists(file); n++ {
		file = recording.Beside(planFile, n)
	}
	return file
}

// confirm asks the user whether CMD may be started that often.
func confirm(a *cli.App, f tuneFlags) error {
	a.Say("CMD will be started %d times at most, for %s each at most, together %s. Fewer and shorter ones do if that is enough", f.starts, f.longest, time.Duration(f.starts)*f.longest)
	if f.starts <= tune.InTurn {
		a.Say("next to other programs a trial takes %d starts after the first one: --starts %d is the least that "+
			"tries something there", tune.InTurn, tune.InTurn+1)
	}
	if !strings.Contains(strings.Join(append(f.env, f.args...), " "), "{scratch}") {
		a.Say("it writes its checkpoints to their usual place: --args '--output-dir={scratch}' or --env " +
			"NAME={scratch} gives it a folder of its own")
	}
	if f.yes {
		return nil
	}
	stdin, isFile := a.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(stdin.Fd())) {
		return cli.AsUsage(errors.New("tune starts CMD several times, and there is no terminal to ask on: add --yes"))
	}
	fmt.Fprint(a.Stderr, "stoker: start? [y/N] ")
	var answer string
	if _, err := fmt.Fscanln(stdin, &answer); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
		return cli.ExitCode(cli.ExitError)
	}
	return nil
}

func runTune(ctx context.Context, a *cli.App, f tuneFlags, command []string) error {
	if why := observe.Cramped(); why != "" {
		return runUntuned(a, why, command)
	}
	if err := confirm(a, f); err != nil {
		return err
	}
	// Interrupt even if this process ignores it, because it ends CMD
	ctx, stop := signal.NotifyContext(ctx, append(cli.HeededSignals(syscall.SIGHUP), os.Interrupt)...)
	defer stop()
	folder, err := tuneFolder()
	if err != nil {
		return err
	}
	fed, err := fedCommand(nil)
	if err != nil {
		return err
	}
	starts := tune.Command{
		Words: command, Env: f.env, Args: f.args, Folder: folder, Allow: f.allow, Feed: fed, Longest: f.longest,
		Hook: hook.Files, Emulate: os.Getenv("STOKER_EMULATE") == "1", Version: cli.Version,
		Warn: func(text string) { a.Say("%s", text) },
	}
	if f.output == "" {
		f.output = freePlan()
	}
	a.Say("recordings and what CMD prints: %s, the plan: %s", folder, f.output)
	result, err := tune.Run(ctx, tune.Options{
		Allow: f.allow, Most: f.starts, Version: cli.Version, Start: starts.Start, Read: os.ReadFile,
		Say:  func(text string) { a.Say("%s", text) },
		Best: func(plan tune.Plan) { a.KeepText(f.output, plan.JSON) }, // kept however this process ends
	})
	switch {
	case errors.Is(err, context.Canceled):
		a.Say("interrupted before CMD could be judged: nothing is kept")
		return cli.ExitCode(cli.ExitSignalBase + int(syscall.SIGINT))
	case err != nil:
		return err
	}
	diff, left, err := tune.Patch(context.WithoutCancel(ctx), result.Plan, cli.WorkingFolder())
	if err != nil {
		a.Say("no patch: %v", err)
	}
	if f.json {
		return wire.WriteObject(a.Stdout, tune.Object{
			Schema: 1, Result: result, Patch: diff,
			Left: append([]string{}, left...),
		})
	}
	return printTuned(a, f, result, diff, left)
}

// runLive replaces this process with CMD. The hook tunes it while it trains.
func runLive(a *cli.App, f tuneFlags, command []string) error {
	folder, err := tuneFolder()
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return err
	}
	a.Say("tuned while it trains, what is decided, and the plan: %s", folder)
	return runHooked(a, command, map[string]string{
		"STOKER_LIVE":       folder,
		"STOKER_PLAN_ALLOW": strings.Join(f.allow, ","),
	})
}

// tuneFolder makes a new folder for the files of this tuning.
func tuneFolder() (string, error) {
	if err := os.MkdirAll(judged.Folder, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(judged.Folder, judged.TunePrefix+time.Now().Format("2006-01-02T150405")+"-")
}

// printTuned prints the result.
func printTuned(a *cli.App, f tuneFlags, r tune.Result, diff string, left []string) error {
	fmt.Fprintln(a.Stdout)
	if r.Outcome == nil {
		fmt.Fprintf(a.Stdout, "nothing is changed: %s\n", r.Stopped)
	} else if err := text.WriteOutcome(a.Stdout, *r.Outcome, a.TextStyle(a.Stdout)); err != nil {
		return err
	}
	if len(r.Trials) > 0 {
		fmt.Fprintf(a.Stdout, "%-52s %-28s %-28s\n", "tried", "promised", "achieved, by itself")
	}
	for _, t := range r.Trials {
		achieved := t.Why
		if worth := t.Worth(); worth.Known() {
			achieved = quantity.Factor(worth)
		}
		verdict := "not kept"
		if t.Kept {
			verdict = "kept"
		}
		fmt.Fprintf(a.Stdout, "%-52s %-28s %s, %s\n", t.SettingsText(), quantity.Factor(t.PromisedRange()), achieved,
			verdict)
	}
	for _, t := range r.Trials {
		printLosses(a, t)
	}
	for _, line := range append(r.Plan.Unset(), left...) {
		a.Say("%s", line)
	}
	if r.Outcome == nil {
		return nil
	}
	fmt.Fprintf(a.Stdout, "\nstopped: %s\n\n%s", r.Stopped, diff)
	again := "stoker tune --plan " + f.output
	if len(f.allow) > 0 && len(r.Plan.Denied(nil)) > 0 {
		again += " --allow " + strings.Join(f.allow, ",")
	}
	a.Say("the plan is %s: %s -- CMD", f.output, again)
	return nil
}

// printLosses compares the losses of a trial that changes numbers with those without it.
func printLosses(a *cli.App, t tune.Trial) {
	if t.Losses == nil {
		return
	}
	fmt.Fprintf(a.Stdout, "\n%-12s %12s %12s %12s\n", "losses", "without", "once more", "with")
	for _, row := range t.Losses.Rows {
		fmt.Fprintf(a.Stdout, "%-12s %12.5g %12.5g %12.5g\n", fmt.Sprintf("%d to %d", row.First, row.Last), row.Before,
			row.Again, row.With)
	}
	fmt.Fprintf(a.Stdout, "%s: %s\n", t.SettingsText(), t.Losses.Sentence())
}
