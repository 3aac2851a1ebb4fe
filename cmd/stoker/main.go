// Command stoker keeps GPUs fed: it observes a training run, says what starves
// the GPU and what each fix is worth, and verifies that a fix helped.
//
// This package lists the verbs. Each verb has a folder with its flags and its help. Code that
// several verbs share is in internal.
package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/agent"
	"github.com/stoker-dev/stoker/cmd/stoker/diagnose"
	"github.com/stoker-dev/stoker/cmd/stoker/doctor"
	"github.com/stoker-dev/stoker/cmd/stoker/export"
	"github.com/stoker-dev/stoker/cmd/stoker/feed"
	"github.com/stoker-dev/stoker/cmd/stoker/install"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/licenses"
	"github.com/stoker-dev/stoker/cmd/stoker/observe"
	"github.com/stoker-dev/stoker/cmd/stoker/pack"
	"github.com/stoker-dev/stoker/cmd/stoker/predict"
	"github.com/stoker-dev/stoker/cmd/stoker/report"
	"github.com/stoker-dev/stoker/cmd/stoker/runs"
	"github.com/stoker-dev/stoker/cmd/stoker/trace"
	"github.com/stoker-dev/stoker/cmd/stoker/tune"
	"github.com/stoker-dev/stoker/cmd/stoker/verify"
	"github.com/stoker-dev/stoker/cmd/stoker/watch"
	"github.com/stoker-dev/stoker/internal/launch"
)

// linked is set by the linker: -X main.linked=0.1.0. The only version number is in
// python/stoker/__init__.py, and make passes it to everything it builds.
var linked string

func main() {
	launch.EndTrial()
	cli.Version = cmp.Or(linked, cli.Version)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command and returns its exit code. All that it reads or writes is an argument.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(ctx, args, stdin, stdout, stderr, rootCommand)
}

func rootCommand(a *cli.App) *cobra.Command {
	root := a.NewRoot()
	root.Short = "Keep GPUs fed"
	root.Long = `Stoker keeps GPUs fed. It says what starves the GPU of a training run, what to change and what
that gains, and afterwards whether it helped.`
	root.Example = `  stoker observe -- python train.py     run it as always, and read the verdict at its end
  stoker advise --emit torch            the lines to paste
  stoker verify BEFORE AFTER            did it help, as much as predicted`
	root.RunE = func(*cobra.Command, []string) error {
		_, err := io.WriteString(a.Stdout, introduction)
		return err
	}
	root.AddCommand(observe.Command(a), trace.Command(a), diagnose.Command(a), predict.Command(a), advise.Command(a),
		verify.Command(a), runs.Command(a), watch.Command(a), report.Command(a), agent.Command(a), export.Command(a),
		feed.Command(a), pack.Command(a), tune.Command(a), doctor.Command(a), install.Command(a), licenses.Command(a))
	cli.SetGroups(root, // verbs in no group are listed under "More"
		cli.Section{Title: "See what starves the GPU", Names: "observe watch diagnose trace"},
		cli.Section{Title: "Decide and prove", Names: "advise predict verify"},
		cli.Section{Title: "Fix it", Names: "feed pack tune"},
		cli.Section{Title: "Keep and share", Names: "report runs export"},
		cli.Section{Title: "Machines", Names: "doctor agent"},
	)
	complete(root)
	return root
}

// introduction is printed by stoker without arguments: one screen of 80 x 24.
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
