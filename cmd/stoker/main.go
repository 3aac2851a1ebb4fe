// Command stoker keeps GPUs fed: it observes a training run, says what starves
// the GPU and what each fix is worth, and verifies that a fix helped.
//
// This package is wiring: flags, files, signals, exit codes. A file per verb.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/recording"
)

// linked is set by the linker: -X main.linked=0.1.0. There is one version, that of
// python/stoker/__init__.py, and make gives it to everything that it builds.
var linked string

// version is what every page and recording names.
var version = cmp.Or(moduleVersion(), "devel")

// moduleVersion is what `go install` and a plain `go build` know of the version.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") {
		return ""
	}
	return info.Main.Version[1:]
}

func main() {
	launch.EndTrial()
	version = cmp.Or(linked, version)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command with everything it touches as arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runCommand(ctx, args, stdin, stdout, stderr, func(a *app) *cobra.Command { return a.rootCommand() })
}

// runCommand runs a command line of the root that build makes, and returns its exit code.
func runCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	build func(*app) *cobra.Command,
) int {
	app := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := build(app)
	root.SetArgs(joinChecks(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	verb, err := root.ExecuteContextC(ctx)
	app.verb = verb.CommandPath()
	return app.exit(err)
}

// newRoot is the command above all verbs, with what each of them takes.
func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{Use: "stoker", SilenceErrors: true, SilenceUsage: true, Version: version}
	root.PersistentFlags().StringVar(&a.colour, "color", "auto", "colours: auto, always, never (NO_COLOR is respected)")
	root.SetFlagErrorFunc(misspelt)
	root.SetVersionTemplate("stoker {{.Version}}\n")
	root.SetHelpFunc(a.help)
	return root
}

// app is what every verb shares.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	colour         string // auto, always, never
	verb           string // as it was called: "stoker predict"
	began          bool   // a verb's own work has begun: later errors are not about usage
}

func (a *app) rootCommand() *cobra.Command {
	root := a.newRoot()
	root.Short = "Keep GPUs fed"
	root.Long = `Stoker keeps GPUs fed. It says what starves the GPU of a training run, what to change and what
that gains, and afterwards whether it helped.`
	root.Example = `  stoker observe -- python train.py     run it as always, and read the verdict at its end
  stoker advise --emit torch            the lines to paste
  stoker verify BEFORE AFTER            did it help, as much as predicted`
	root.RunE = func(*cobra.Command, []string) error {
		_, err := io.WriteString(a.stdout, introduction)
		return err
	}
	root.AddCommand(a.observeCommand(), a.traceCommand(), a.diagnoseCommand(), a.predictCommand(), a.adviseCommand(),
		a.verifyCommand(), a.runsCommand(), a.watchCommand(), a.reportCommand(), a.agentCommand(), a.exportCommand(),
		a.feedCommand(), a.packCommand(), a.tuneCommand(), a.doctorCommand(), a.installCommand(), a.licensesCommand())
	setGroups(root, // what stands in none of them comes under "More"
		section{"See what starves the GPU", "observe watch diagnose trace"},
		section{"Decide and prove", "advise predict verify"},
		section{"Fix it", "feed pack tune"},
		section{"Keep and share", "report runs export"},
		section{"Machines", "doctor agent"},
	)
	complete(root)
	return root
}

// introduction is what stoker alone prints: one screen of 80 x 24.
const introduction = `stoker keeps GPUs fed: it says what starves the GPU of a training run, what to
change, what that gains, and afterwards whether it helped.

Start your program as always, with stoker in front of it. Nothing in it changes:

  stoker observe -- python train.py     run it, the verdict comes at its end

Then, with the recording that it left in stoker-runs/:

  stoker diagnose --explain             why: what was asked, what was seen
  stoker advise --emit torch            lines to paste, each with its gain
  stoker verify BEFORE AFTER            did it help, as much as was promised
  stoker report                         one page to look at and to send round

Other ways in:

  stoker watch                          one live screen, beside a run or without
  stoker trace FILE                     the same of a profiler's file
  stoker predict --help                 what a job needs, without any run
  stoker doctor                         what can be seen on this machine

stoker --help has all verbs, stoker completion the set-up for your shell.
`

// exit turns the end of a verb into an exit code and prints what went wrong.
func (a *app) exit(err error) int {
	var code exitCode
	var usage usageError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage) || !a.began:
		text, nearest, misspelt := strings.Cut(err.Error(), "\n\nDid you mean this?\n") // cobra's
		a.error(errors.New(text))
		line := cmp.Or(findAnswer(text), cmp.Or(a.verb, "stoker")+" --help")
		if names := strings.Fields(nearest); misspelt && len(names) > 0 {
			line = "stoker " + names[0] + " --help"
		}
		a.hint(cmp.Or(hint.Find(err), line))
		return exitUsage
	}
	a.error(err)
	if errors.Is(err, recording.ErrNotRecording) {
		a.hint("stoker observe -- python train.py writes a recording, and stoker trace FILE reads a profiler's file")
	}
	return exitError
}

// misspelt is an error about a flag, with the flag that was meant, else with where the
// verb's flags are.
func misspelt(cmd *cobra.Command, err error) error {
	line := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := hardware.Nearest(unknown.GetSpecifiedName(), names); len(near) > 0 {
			line = cmd.CommandPath() + " --" + near[0]
		}
	}
	return asUsage(hint.Add(err, line))
}

// atMost refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return asUsage(fmt.Errorf("%s takes at most %d argument(s), got %d", cmd.Name(), n, len(args)))
		}
		return nil
	}
}
