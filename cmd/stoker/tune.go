package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/observe/hook"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/tune"
)

// tuneFlags are the flags of the verb.
type tuneFlags struct {
	allow, env, args []string
	starts           int
	longest          time.Duration
	output           string
	yes, json, live  bool
}

func (a *app) tune() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [flags] -- CMD...",
		Short: "Observe CMD, apply the best fix, run it again, keep what helped",
		Long: `Start a PyTorch program as it is, several times: first to see what starves the GPU, then with the
best fix that the hook can set (stoker apply). A fix stays if it was faster beyond noise. Each start
is ended (SIGINT) when its mean step is known to 2 %. At the end: what came of it, what each setting
was worth, the script's change as a patch, and a plan for stoker apply.

CMD trains in each start: give it a folder for what it writes with --env or --args, where {scratch}
stands for a new one per start. WANDB_MODE=offline is set. CMD has no terminal and reads nothing.

With --allow precision TF32 and bf16 are tried as well. Such a setting stays if the first losses are as
near to those of two starts without it as these are to each other; all three are printed.

With --live CMD is started once and trains to its end, with its terminal and its exit code: workers and
prefetching are tried when an epoch begins, and kept where the last one was faster.`,
		Example: `  stoker tune -- python train.py
  stoker tune --args '--output-dir={scratch}' -- python train.py --epochs 100
  stoker tune --live -- python train.py
  stoker tune --env OUT={scratch} --yes --json -- python train.py | jq .trials`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return usageError{errors.New("tune takes a command behind --: stoker tune -- python train.py")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return usageError{err}
			}
			if err := allowed(f.allow); err != nil {
				return err
			}
			a.began = true
			if f.live {
				return a.runLive(f, args)
			}
			return a.runTune(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.starts, "starts", 5, "start CMD `N` times at most")
	flags.DurationVar(&f.longest, "longest", 2*time.Minute, "end a start after this `TIME` where its mean step is not known before")
	flags.StringArrayVar(&f.env, "env", nil, "set `NAME=VALUE` for CMD; {scratch} is a new folder for each start")
	flags.StringArrayVar(&f.args, "args", nil, "a `WORD` behind CMD; {scratch} is a new folder for each start")
	flags.StringVarP(&f.output, "output", "o", "plan.json", "write the plan to a `FILE`")
	flags.BoolVarP(&f.yes, "yes", "y", false, "start without asking")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.live, "live", false, "tune CMD while it trains, at the beginnings of epochs")
	for _, other := range []string{"starts", "longest", "env", "args", "output", "yes", "json"} {
		cmd.MarkFlagsMutuallyExclusive("live", other)
	}
	allowFlag(cmd, &f.allow)
	return cmd
}

func (f tuneFlags) check() error {
	for _, entry := range f.env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			return fmt.Errorf("--env %q: NAME=VALUE is expected", entry)
		}
	}
	switch {
	case f.live && slices.Contains(f.allow, tune.Precision):
		return errors.New("--live with --allow precision: losses are compared over several starts: leave out --live")
	case f.starts < 2 || f.starts > 100:
		return fmt.Errorf("--starts %d: 2 to 100 are possible", f.starts)
	case f.longest < 10*time.Second:
		return fmt.Errorf("--longest %s: at least 10s are needed to judge a run", f.longest)
	}
	if _, err := os.Lstat(f.output); err == nil && !f.live {
		return fmt.Errorf("-o %s: it is there already and is not replaced: name another file", f.output)
	}
	return nil
}

// agreed asks whether CMD may be started so often.
func (a *app) agreed(f tuneFlags) error {
	a.say("CMD will be started %d times at most, for %s each at most, together %s; fewer and shorter where that is enough", f.starts, f.longest, time.Duration(f.starts)*f.longest)
	if !strings.Contains(strings.Join(append(f.env, f.args...), " "), "{scratch}") {
		a.say("it writes its checkpoints where it always does: --args '--output-dir={scratch}' or --env NAME={scratch} gives it a folder of its own")
	}
	if f.yes {
		return nil
	}
	stdin, isFile := a.stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(stdin.Fd())) {
		return usageError{errors.New("tune starts CMD several times, and nobody can be asked here: --yes agrees")}
	}
	fmt.Fprint(a.stderr, "stoker: start? [y/N] ")
	var answer string
	if _, err := fmt.Fscanln(stdin, &answer); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
		return exitCode(exitError)
	}
	return nil
}

func (a *app) runTune(ctx context.Context, f tuneFlags, command []string) error {
	if err := a.agreed(f); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
		Hook: hook.Files, Emulate: os.Getenv("STOKER_EMULATE") == "1", Version: version,
		Warn: func(text string) { a.say("%s", text) },
	}
	a.say("recordings and what CMD prints: %s", folder)
	result, err := tune.Run(ctx, tune.Options{
		Allow: f.allow, Most: f.starts, Version: version, Start: starts.Start, Read: os.ReadFile,
		Say: func(text string) { a.say("%s", text) }, Best: func(plan tune.Plan) { a.keepPlan(f.output, plan) },
	})
	switch {
	case errors.Is(err, context.Canceled):
		a.say("interrupted before CMD could be judged: nothing is kept")
		return exitCode(exitSignalBase + int(syscall.SIGINT))
	case err != nil:
		return err
	}
	diff, left, err := tune.Patch(context.WithoutCancel(ctx), result.Plan, here())
	if err != nil {
		a.say("no patch: %v", err)
	}
	if f.json {
		return report.Object(a.stdout, tuneObject{1, result, diff, append([]string{}, left...)})
	}
	return a.tuned(f, result, diff, left)
}

// runLive lets CMD take our place: the hook tunes it while it trains.
func (a *app) runLive(f tuneFlags, command []string) error {
	folder, err := tuneFolder()
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return err
	}
	a.say("tuned while it trains; what is decided, and the plan: %s", folder)
	return a.runApplied(command, map[string]string{"STOKER_LIVE": folder, "STOKER_APPLY_ALLOW": strings.Join(f.allow, ",")})
}

// tuneObject is what --json prints.
type tuneObject struct {
	Schema int `json:"schema"`
	tune.Result

	Patch string   `json:"patch"`
	Left  []string `json:"left"` // what the patch could not change
}

// tuneFolder is a new folder for what this tuning writes.
func tuneFolder() (string, error) {
	if err := os.MkdirAll(runsFolder, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(runsFolder, "tune-"+time.Now().Format("2006-01-02T150405")+"-")
}

// keepPlan writes the best plan so far, so that whatever ends us leaves it.
func (a *app) keepPlan(path string, plan tune.Plan) {
	text, err := plan.JSON()
	if err == nil {
		err = writeFiles(context.Background(), output{path, toUser, func(w io.Writer) error { _, err := w.Write(text); return err }})
	}
	if err != nil {
		a.error(err)
	}
}

// tuned prints what came of it.
func (a *app) tuned(f tuneFlags, r tune.Result, diff string, left []string) error {
	fmt.Fprintln(a.stdout)
	if r.Outcome == nil {
		fmt.Fprintf(a.stdout, "nothing is changed: %s\n", r.Stopped)
	} else if err := report.Outcome(a.stdout, *r.Outcome, a.style(a.stdout)); err != nil {
		return err
	}
	if len(r.Trials) > 0 {
		fmt.Fprintf(a.stdout, "%-52s %-28s %-28s\n", "tried", "promised", "achieved, by itself")
	}
	for _, t := range r.Trials {
		achieved := t.Why
		if worth := t.Worth(); worth.Known() {
			achieved = stoker.Factor(worth)
		}
		verdict := "not kept"
		if t.Kept {
			verdict = "kept"
		}
		fmt.Fprintf(a.stdout, "%-52s %-28s %s, %s\n", t.Settings(), stoker.Factor(t.Promise()), achieved, verdict)
	}
	for _, t := range r.Trials {
		a.losses(t)
	}
	for _, line := range append(r.Plan.Unset(), left...) {
		a.say("%s", line)
	}
	if r.Outcome == nil {
		return nil
	}
	fmt.Fprintf(a.stdout, "\nstopped: %s\n\n%s", r.Stopped, diff)
	apply := "stoker apply "
	if len(f.allow) > 0 && len(r.Plan.Denied(nil)) > 0 {
		apply += "--allow " + strings.Join(f.allow, ",") + " "
	}
	a.say("the plan is %s: %s%s -- CMD", f.output, apply, f.output)
	return nil
}

// losses prints those of a trial that changes numbers, beside those without it.
func (a *app) losses(t tune.Trial) {
	if t.Losses == nil {
		return
	}
	fmt.Fprintf(a.stdout, "\n%-12s %12s %12s %12s\n", "losses", "without", "once more", "with")
	for _, row := range t.Losses.Rows {
		fmt.Fprintf(a.stdout, "%-12s %12.5g %12.5g %12.5g\n", fmt.Sprintf("%d to %d", row.First, row.Last), row.Before, row.Again, row.With)
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", t.Settings(), t.Losses.Told())
}
