package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// HeededSignals returns SIGTERM, and those of the given signals that this process was not started
// with as ignored, as nohup ignores SIGHUP: signal.Notify would undo that.
func HeededSignals(signals ...os.Signal) []os.Signal {
	return append(slices.DeleteFunc(signals, signal.Ignored), syscall.SIGTERM)
}

// Interrupted returns the exit code of Ctrl-C if ctx was cancelled, else the error.
func Interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ExitCode(ExitSignalBase + int(syscall.SIGINT))
	}
	return err
}
