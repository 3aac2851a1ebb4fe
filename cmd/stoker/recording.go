package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/recording"
)

func (a *app) recording() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recording (check | trim | merge) FILE...",
		Short: "Look after recordings: are they whole, make them smaller, join pieces and copies",
		Long: `Look after the files that observe writes. They are small by themselves: what no verdict is about
any more is thinned while the run goes on, and the file says so (docs/reliability.md).`,
		Example: `  stoker recording check stoker-runs/*.jsonl.gz          whole, torn or damaged, and how much is kept
  stoker recording trim --most 5MB stoker-runs/*.jsonl.gz
  stoker recording merge -o whole.jsonl.gz damaged.jsonl.gz backup.jsonl.gz`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("recording %s: check, trim or merge is expected", args[0])}
			}
			return usageError{errors.New("recording: check, trim or merge is expected")}
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(a.recordingCheck(), a.recordingTrim(), a.recordingMerge())
	return cmd
}

// files refuses fewer than n arguments.
func files(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError{fmt.Errorf("recording %s takes at least %d file%s, got %d", cmd.Name(), n, stoker.Ending(n, "", "s"), len(args))}
		}
		return nil
	}
}

func (a *app) recordingCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Say whether recordings are whole, and how much of them is kept (exit code 1: some are not)",
		Args:  files(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.began = true
			var bad error
			for _, path := range args {
				run, err := recording.Open(path)
				if err != nil {
					a.error(err)
					bad = exitCode(exitError)
					continue
				}
				state := "whole"
				if len(run.Warnings) > 0 {
					state, bad = "not whole", exitCode(exitError)
				}
				a.line("%s: %s, %s of %s and %s", path, state, stoker.AboutSeconds(run.End()), stoker.Many(len(run.Steps), "step"), stoker.Many(len(run.Series), "signal"))
				for _, text := range append(run.Warnings, run.Kept()...) {
					a.line("  %s", text)
				}
			}
			return bad
		},
	}
}

// line prints a line of a result.
func (a *app) line(format string, args ...any) {
	fmt.Fprintln(a.stdout, safe.Text(fmt.Sprintf(format, args...), 0))
}

func (a *app) recordingTrim() *cobra.Command {
	var most string
	cmd := &cobra.Command{
		Use:   "trim [--most SIZE] FILE...",
		Short: "Thin what no verdict is about until a recording has at most so many bytes",
		Long: `Thin what no verdict is about (all but the last quarter of an hour of training, and of the run)
until a recording has at most so many bytes: of each signal one value in 10, 20, 40 ... seconds
is kept, and as many steps. The verdict stays what it was. The file is written anew beside
itself and takes its own place when it is whole.`,
		Args: files(1),
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := stoker.ParseBytes(most)
			if err != nil {
				return usageError{fmt.Errorf("--most %s: %w", most, err)}
			}
			a.began = true
			for _, path := range args {
				if err := a.trimFile(path, int64(size)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&most, "most", "10MB", "how large the file may be")
	return cmd
}

// writing is how long ago a recording without an end may have been written to if it is
// still being written.
const writing = 5 * time.Minute

func (a *app) trimFile(path string, most int64) error {
	run, err := recording.Open(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && run.Facts.Exit == nil && time.Since(info.ModTime()) < writing {
		return fmt.Errorf("trim recording %s: its run has no end and was written to %.0f s ago: it may go on", path, time.Since(info.ModTime()).Seconds())
	}
	before, after, err := recording.Trim(path, most, time.Now())
	if err != nil {
		return err
	}
	left := ""
	if after > most {
		left = ": the rest is what is judged"
	}
	a.line("%s: %s, before %s%s", path, stoker.AboutBytes(float64(after)), stoker.AboutBytes(float64(before)), left)
	return nil
}

func (a *app) recordingMerge() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "merge -o OUT FILE...",
		Short: "Join what several files hold of one run: pieces, or copies damaged in different places",
		Args:  files(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				return usageError{errors.New("recording merge: -o names no file to write")}
			}
			a.began = true
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("merge recordings: %w", err)
			}
			err = recording.Merge(file, args...)
			if err = errors.Join(err, file.Close()); err != nil {
				return errors.Join(err, os.Remove(output))
			}
			a.line("%s: what %d files hold", output, len(args))
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; one that is there stays")
	return cmd
}
