//go:build !linux

package agent

import (
	"context"
	"errors"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

func runAgent(context.Context, *cli.App, agentFlags) error {
	return errors.New("agent watches nodes on Linux only")
}
