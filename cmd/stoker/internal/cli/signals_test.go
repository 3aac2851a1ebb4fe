package cli

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// Under nohup, a hang-up must not end the program.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	signal.Reset(os.Interrupt)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if got, want := HeededSignals(os.Interrupt, syscall.SIGHUP), []os.Signal{os.Interrupt, syscall.SIGTERM}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
