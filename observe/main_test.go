//go:build linux

package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/python/hook"
)

// The test binary is also a small `stoker observe`, so that tests can start,
// signal and kill one: STOKER_TEST_OBSERVE names the recording, the arguments
// are the command (or --pid PID).
func TestMain(m *testing.M) {
	output := os.Getenv("STOKER_TEST_OBSERVE")
	if output == "" {
		os.Exit(leash.Main(m))
	}
	_ = os.Unsetenv("STOKER_TEST_OBSERVE")
	o := Options{
		Output: output, Command: os.Args[1:], Hook: hook.Files, Version: "test",
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Warn: func(text string) { fmt.Fprintln(os.Stderr, "warning:", text) },
	}
	if os.Args[1] == "--pid" {
		o.Command = nil
		o.PID, _ = strconv.Atoi(os.Args[2])
	}
	o.Apart = os.Getenv("STOKER_TEST_APART") != ""
	run, err := Record(context.Background(), o)
	var unstarted *launch.CommandError
	switch {
	case errors.As(err, &unstarted):
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(unstarted.ExitCode())
	case run == nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(125)
	case run.Facts.Exit != nil:
		os.Exit(run.Facts.Exit.Code)
	}
	os.Exit(0)
}
