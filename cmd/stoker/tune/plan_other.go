//go:build !linux

package tune

import (
	"errors"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

func runHooked(*cli.App, []string, map[string]string) error {
	return errors.New("tune --plan runs commands on Linux only")
}

func runUntuned(_ *cli.App, why string, _ []string) error { return errors.New(why) }
