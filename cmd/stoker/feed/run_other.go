//go:build !linux

package feed

import (
	"errors"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

func runFed(*cli.App, feedFlags, []string) error {
	return errors.New("feed runs commands on Linux only")
}
