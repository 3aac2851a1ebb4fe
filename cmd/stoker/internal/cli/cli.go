// Package cli is the command line that all verbs share: streams, colours, errors and hints, help, exit codes,
// and files that are written whole or not at all.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/recording"
)

// Version is the version of stoker in reports and recordings.
var Version = cmp.Or(moduleVersion(), "devel")

// moduleVersion returns the version that `go install` and a plain `go build` write into the binary.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") {
		return ""
	}
	return info.Main.Version[1:]
}

// Run runs a command line and returns its exit code. build makes the root command.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	build func(*App) *cobra.Command,
) int {
	app := &App{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	root := build(app)
	root.SetArgs(joinChecks(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	verb, err := root.ExecuteContextC(ctx)
	app.verb = verb.CommandPath()
	return app.Exit(err)
}

// NewRoot returns the command above all verbs, with the flags of every verb.
func (a *App) NewRoot() *cobra.Command {
	root := &cobra.Command{Use: "stoker", SilenceErrors: true, SilenceUsage: true, Version: Version}
	root.PersistentFlags().StringVar(&a.colour, "color", "auto", "colours: auto, always, never (NO_COLOR is respected)")
	root.SetFlagErrorFunc(suggestFlag)
	root.SetVersionTemplate("stoker {{.Version}}\n")
	root.SetHelpFunc(a.help)
	return root
}

// Exit returns the exit code for the error of a verb, and prints the error.
func (a *App) Exit(err error) int {
	var code ExitCode
	var usage usageError
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage) || !a.Began:
		text, nearest, misspelt := strings.Cut(err.Error(), "\n\nDid you mean this?\n") // cobra's
		a.PrintError(errors.New(text))
		line := cmp.Or(findAnswer(text), cmp.Or(a.verb, "stoker")+" --help")
		if names := strings.Fields(nearest); misspelt && len(names) > 0 {
			line = "stoker " + names[0] + " --help"
		}
		a.Hint(cmp.Or(hint.FindLine(err), line))
		return ExitUsage
	}
	a.PrintError(err)
	if errors.Is(err, recording.ErrNotRecording) {
		a.Hint("stoker observe -- python train.py writes a recording, and stoker trace FILE reads a profiler's file")
	}
	return ExitError
}

// suggestFlag adds a hint to an error about a flag: the flag that was probably meant, or the help
// of the verb.
func suggestFlag(cmd *cobra.Command, err error) error {
	line := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := hardware.Nearest(unknown.GetSpecifiedName(), names); len(near) > 0 {
			line = cmd.CommandPath() + " --" + near[0]
		}
	}
	return AsUsage(hint.Attach(err, line))
}

// AtMost rejects more than n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return AsUsage(fmt.Errorf("%s takes at most %d argument(s), got %d", cmd.Name(), n, len(args)))
		}
		return nil
	}
}
