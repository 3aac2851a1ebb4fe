package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// Under nohup a hang-up ends nothing.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	heedAgain(os.Interrupt)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if got, want := heeded(os.Interrupt, syscall.SIGHUP), []os.Signal{os.Interrupt, syscall.SIGTERM}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// heedAgain undoes that signals are ignored: another test ran the daemon in this process,
// which ignores some. Of an ignored signal Go's Reset alone changes nothing.
func heedAgain(signals ...os.Signal) {
	signal.Notify(make(chan os.Signal, 1), signals...)
	signal.Reset(signals...)
}
