package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// licenses is written by make licenses.
//
//go:embed licenses.txt
var licenses string

func (a *app) licensesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of stoker and of all code that it holds",
		Args:  atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.began = true
			_, err := io.WriteString(a.stdout, licenses)
			return err
		},
	}
}
