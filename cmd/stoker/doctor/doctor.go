// Package doctor is the verb that checks what stoker can observe on this machine.
package doctor

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/sampling"
	"github.com/stoker-dev/stoker/feed/kernels"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker doctor.
func Command(a *cli.App) *cobra.Command {
	var asJSON, check bool
	place := observe.Place{Pause: time.Second / 2, OpenGPU: sampling.OpenGPUs}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what can be seen on this machine, and what would help",
		Long: `Try everything that stoker observe looks at, and print for each whether it is seen, with the line that
helps if it is not. Run it as the job runs: in its container, as its user, under its scheduler.`,
		Example: `  stoker doctor
  stoker doctor --python /opt/venv/bin/python      does the hook load in that interpreter
  srun --gpus 1 stoker doctor --check              exit with 3 if something is missing`,
		Args: cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.Began = true
			var checks []report.Check
			for _, c := range observe.Examine(place) {
				checks = append(checks, report.Check(c))
			}
			groups := kernelGroups()
			checks = append(checks, CheckKernels(groups))
			var err error
			if asJSON {
				err = wire.WriteChecks(a.Stdout, cli.Version, checks, groups)
			} else {
				err = text.WriteChecks(a.Stdout, checks, a.TextStyle(a.Stdout))
			}
			if err == nil && check && slices.ContainsFunc(checks, func(c report.Check) bool {
				return c.Needed && !c.Seen
			}) {
				return cli.ExitCode(cli.ExitStarved)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&check, "check", false, "exit with 3 if something is MISSING")
	cmd.Flags().StringVar(&place.Python, "python", "python3", "`INTERPRETER` that the job runs in")
	cli.SetExitCodes(cmd, "3 something that verdicts need is missing (--check)")
	return cmd
}

// kernelGroups returns the feed's kernels for this processor architecture.
func kernelGroups() []report.KernelGroup {
	groups := []report.KernelGroup{}
	for _, g := range kernels.All {
		if g.Arch == runtime.GOARCH {
			groups = append(groups, report.KernelGroup{
				Name: g.Name, Package: g.Package, Routines: g.Routines,
				Needs: featureNames(g.Needs), Lacks: featureNames(g.Lacks()), Runs: g.Supported(),
			})
		}
	}
	return groups
}

func featureNames(features []kernels.Feature) []string {
	names := []string{}
	for _, f := range features {
		names = append(names, string(f))
	}
	return names
}

// CheckKernels says which kernels run here. Without them the feed is slower, but its bytes are the
// same.
func CheckKernels(groups []report.KernelGroup) report.Check {
	var run, plain, lacks []string
	for _, g := range groups {
		if g.Runs {
			run = append(run, g.Name)
		} else {
			plain, lacks = append(plain, g.Name), append(lacks, g.Lacks...)
		}
	}
	slices.Sort(lacks)
	c := report.Check{What: "feed kernels", Seen: len(run) > 0 && len(plain) == 0}
	switch {
	case len(groups) == 0:
		c.Text = "there are none for " + runtime.GOARCH + ": plain Go makes the same bytes"
	case c.Seen:
		c.Text = "this processor runs all of them: " + strings.Join(run, ", ")
	default:
		c.Text = "this processor lacks " + strings.Join(slices.Compact(lacks), ", ") +
			": plain Go makes the same bytes in " + strings.Join(plain, ", ")
	}
	return c
}
