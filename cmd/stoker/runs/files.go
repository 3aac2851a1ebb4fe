package runs

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// files rejects fewer than n arguments.
func files(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return cli.AsUsage(fmt.Errorf("runs %s takes at least %d file%s, got %d", cmd.Name(), n,
				quantity.Ending(n, "", "s"), len(args)))
		}
		return nil
	}
}

func checkCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say whether recordings are whole, and how much of them is kept",
		Args:  files(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.Began = true
			var bad error
			for _, path := range args {
				run, err := recording.Open(path)
				if err != nil {
					a.PrintError(err)
					bad = cli.ExitCode(cli.ExitError)
					continue
				}
				state := "whole"
				if len(run.Warnings) > 0 {
					state, bad = "not whole", cli.ExitCode(cli.ExitError)
				}
				a.PrintLine("%s: %s, %s of %s and %s", path, state, quantity.AboutSeconds(run.End()),
					quantity.Many(len(run.Steps), "step"), quantity.Many(len(run.Series), "signal"))
				for _, text := range append(run.Warnings, run.Kept()...) {
					a.PrintLine("  %s", text)
				}
			}
			return bad
		},
	}
	cli.SetExitCodes(cmd, "1 also if a recording is not whole")
	return cmd
}

func trimCommand(a *cli.App) *cobra.Command {
	var most string
	cmd := &cobra.Command{
		Use:   "trim [--most SIZE] FILE...",
		Short: "Make recordings smaller, without changing their verdicts",
		Long: `Thin what no verdict is about until a recording has at most SIZE bytes. The last quarter of an hour of
training stays whole, so that the verdict stays the same.`,
		Args: files(1),
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := quantity.ParseBytes(most)
			if err != nil {
				return cli.AsUsage(fmt.Errorf("--most %s: %w", most, err))
			}
			a.Began = true
			for _, path := range args {
				if err := trimFile(a, path, int64(size)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&most, "most", "10MB", "`SIZE` that the file may have")
	return cmd
}

// writing is the age of the last write up to which a recording without an end counts as still
// being written.
const writing = 5 * time.Minute

func trimFile(a *cli.App, path string, most int64) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return hint.Attach(
			fmt.Errorf("trim recording %s: it is not a regular file, and trimming would replace it", path),
			"stoker runs trim FILE.jsonl.gz",
		)
	}
	run, err := recording.Open(path)
	if err != nil {
		return err
	}
	if info != nil && run.Facts.Exit == nil && time.Since(info.ModTime()) < writing {
		return fmt.Errorf("trim recording %s: its run has no end and was written to %.0f s ago: it may go on", path,
			time.Since(info.ModTime()).Seconds())
	}
	before, after, err := recording.Trim(path, most, time.Now())
	if err != nil {
		return err
	}
	left := ""
	if after > most {
		left = ": the rest is what is judged"
	}
	a.PrintLine("%s: %s, before %s%s", path, quantity.AboutBytes(float64(after)),
		quantity.AboutBytes(float64(before)), left)
	return nil
}

func mergeCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "merge -o OUT FILE...",
		Short: "Join the pieces of one run, or copies with different damage",
		Args:  files(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				return cli.AsUsage(errors.New("runs merge: -o names no file to write"))
			}
			a.Began = true
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("merge recordings: %w", err)
			}
			err = recording.Merge(file, args...)
			if err = errors.Join(err, file.Close()); err != nil {
				return errors.Join(err, os.Remove(output))
			}
			a.PrintLine("%s: what %d files hold", output, len(args))
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write (an existing file is not replaced)")
	return cmd
}
