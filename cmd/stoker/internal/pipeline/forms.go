package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/owned"
	"github.com/stoker-dev/stoker/report/ci"
)

// Forms are the formats of a verdict for continuous integration.
type Forms struct {
	markdown, sarif, gitlab string
	github                  bool
}

// Register adds the flags to a verb.
func (f *Forms) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.markdown, "markdown", "", "append a summary to a `FILE`, such as \"$GITHUB_STEP_SUMMARY\"")
	flags.StringVar(&f.sarif, "sarif", "", "write what was found as SARIF 2.1.0 to a `FILE`, for code scanning")
	flags.StringVar(&f.gitlab, "gitlab", "", "write what was found as a Code Quality report to a `FILE`")
	flags.BoolVar(&f.github, "github", false,
		"print what was found as workflow commands of GitHub as well, which shows them at their lines")
	cmd.MarkFlagsMutuallyExclusive("json", "github")
}

// WriteForms writes the formats that the flags ask for.
func WriteForms(ctx context.Context, a *cli.App, f Forms, problems []ci.Problem, summary func(io.Writer) error) error {
	var files []cli.Output
	if f.sarif != "" {
		files = append(files, cli.Output{Name: f.sarif, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
			return ci.WriteSARIF(w, problems, cli.Version)
		}})
	}
	if f.gitlab != "" {
		files = append(files, cli.Output{Name: f.gitlab, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
			return ci.WriteGitLab(w, problems)
		}})
	}
	if err := cli.WriteFiles(ctx, files...); err != nil {
		return err
	}
	if f.github {
		if err := ci.WriteGitHub(a.Stdout, problems); err != nil {
			return err
		}
	}
	if f.markdown == "" {
		return nil
	}
	file, err := owned.Append(f.markdown, cli.ToOthers) // GitHub's file is shared by all commands of a step
	if err != nil {
		return hint.Attach(fmt.Errorf("write summary: %w", err), "--markdown summary.md, in a folder of your own")
	}
	return errors.Join(summary(file), file.Close())
}

// FlagNames are the names of the flags for pipelines, the same in every verb.
const FlagNames = "check github gitlab markdown sarif"
