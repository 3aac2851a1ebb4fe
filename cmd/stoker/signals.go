package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// heeded are SIGTERM and those of some signals that whoever started us does not ignore,
// as nohup ignores SIGHUP: Go heeds an ignored signal again as soon as it is asked for.
func heeded(signals ...os.Signal) []os.Signal {
	return append(slices.DeleteFunc(signals, signal.Ignored), syscall.SIGTERM)
}
