package main

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/report"
)

func (a *app) doctor() *cobra.Command {
	var asJSON, check bool
	place := observe.Place{Pause: time.Second / 2, OpenGPU: openGPUs}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what may be seen here: GPU, processes, limits, the hook",
		Long: `Try everything that stoker observe looks at, and print a line for each: seen, missing, or
MISSING where some verdicts cannot be given without it; and for what is missing the line that
helps, if any does. Run it where the job runs: in its container, as its user, under its scheduler.`,
		Example: `  stoker doctor
  stoker doctor --python /opt/venv/bin/python      whether the hook runs in that interpreter
  docker run --rm --gpus all -v $PWD/stoker:/stoker IMAGE /stoker doctor
  srun --gpus 1 stoker doctor --check || echo not all is seen
  stoker doctor --json | jq -r '.checks[] | select(.seen | not) | .what + ": " + .help'`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.began = true
			var checks []report.Check
			for _, c := range observe.Examine(place) {
				checks = append(checks, report.Check(c))
			}
			var err error
			if asJSON {
				err = report.DoctorJSON(a.stdout, version, checks)
			} else {
				err = report.Doctor(a.stdout, checks, a.style(a.stdout))
			}
			if err == nil && check && slices.ContainsFunc(checks, func(c report.Check) bool { return c.Needed && !c.Seen }) {
				return exitCode(exitStarved)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&check, "check", false, "exit with 3 where something is MISSING")
	cmd.Flags().StringVar(&place.Python, "python", "python3", "the interpreter in which the job runs")
	return cmd
}

// openGPUs opens what is to be seen on this machine, outside of any job.
func openGPUs() (observe.GPU, error) {
	return observe.OpenGPUs(gpu.Options{Emulate: os.Getenv("STOKER_EMULATE") == "1", Page: os.Getenv("STOKER_EMULATED_PAGE")})
}
