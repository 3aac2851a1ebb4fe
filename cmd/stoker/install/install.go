// Package install is the verb that copies this binary into a folder.
package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/hint"
)

// Command makes the command stoker install.
func Command(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "install FOLDER",
		Short: "Copy this binary into a folder, for a container that shares it",
		Long: `Copy this binary into a folder and print its path. It needs nothing else, so an init container can put
it into a volume that the trainer's container mounts (docs/cluster.md).`,
		Example: `  stoker install /shared && /shared/stoker observe -- python train.py`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.AsUsage(fmt.Errorf("install takes one folder, got %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Began = true
			own, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this binary: %w", err)
			}
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return hint.Attach(
					fmt.Errorf("install into %s: %w", args[0], err),
					"name a folder in which you may write: stoker install ~/bin",
				)
			}
			target := filepath.Join(args[0], filepath.Base(own))
			if err := copyBinary(cmd.Context(), own, target); err != nil {
				return err
			}
			a.PrintLine("%s", target)
			return nil
		},
	}
}

func copyBinary(ctx context.Context, own, target string) error {
	err := cli.WriteFiles(ctx, cli.Output{Name: target, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
		file, err := os.Open(own)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(w, file)
		return err
	}})
	if err != nil {
		return err
	}
	return os.Chmod(target, 0o755) // the trainer may be another user, who must be able to run it
}
