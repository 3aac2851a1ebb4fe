package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// HeededSignals are SIGTERM and those of some signals that whoever started us does not ignore,
// as nohup ignores SIGHUP: Go heeds an ignored signal again as soon as it is asked for.
func HeededSignals(signals ...os.Signal) []os.Signal {
	return append(slices.DeleteFunc(signals, signal.Ignored), syscall.SIGTERM)
}

// Interrupted turns an error that Ctrl-C caused into its exit code.
func Interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ExitCode(ExitSignalBase + int(syscall.SIGINT))
	}
	return err
}
