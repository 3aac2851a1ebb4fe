// Package licenses is the verb that prints the licences of all code in the binary.
package licenses

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

// licenses is written by make licenses.
//
//go:embed licenses.txt
var licenses string

// Command makes the command stoker licenses.
func Command(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of stoker and of all code that it holds",
		Args:  cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.Began = true
			_, err := io.WriteString(a.Stdout, licenses)
			return err
		},
	}
}
