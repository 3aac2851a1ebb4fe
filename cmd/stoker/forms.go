package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/owned"
	"github.com/stoker-dev/stoker/report/ci"
)

// formFlags are the forms in which continuous integration takes a verdict, beside the page.
type formFlags struct {
	markdown, sarif, gitlab string
	github                  bool
}

func (f *formFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.markdown, "markdown", "", "append a summary to a `FILE`, such as \"$GITHUB_STEP_SUMMARY\"")
	flags.StringVar(&f.sarif, "sarif", "", "write what was found as SARIF 2.1.0 to a `FILE`, for code scanning")
	flags.StringVar(&f.gitlab, "gitlab", "", "write what was found as a Code Quality report to a `FILE`")
	flags.BoolVar(&f.github, "github", false,
		"print what was found as workflow commands of GitHub as well, which shows them at their lines")
	cmd.MarkFlagsMutuallyExclusive("json", "github")
}

// written writes the forms that were asked for.
func (a *app) written(ctx context.Context, f formFlags, problems []ci.Problem, summary func(io.Writer) error) error {
	var files []output
	if f.sarif != "" {
		files = append(files, output{f.sarif, toOthers, func(w io.Writer) error {
			return ci.WriteSARIF(w, problems, version)
		}})
	}
	if f.gitlab != "" {
		files = append(files, output{f.gitlab, toOthers, func(w io.Writer) error {
			return ci.WriteGitLab(w, problems)
		}})
	}
	if err := writeFiles(ctx, files...); err != nil {
		return err
	}
	if f.github {
		if err := ci.WriteGitHub(a.stdout, problems); err != nil {
			return err
		}
	}
	if f.markdown == "" {
		return nil
	}
	file, err := owned.Append(f.markdown, toOthers) // GitHub's is shared by all that a step starts
	if err != nil {
		return hint.Add(fmt.Errorf("write summary: %w", err), "--markdown summary.md, in a folder of your own")
	}
	return errors.Join(summary(file), file.Close())
}

// here is the folder that lines are named from, "" where it has gone.
func here() string {
	folder, _ := os.Getwd()
	return folder
}
