// Package takeover replaces stoker with a command, and reports why a command did not begin.
package takeover

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/launch"
)

// ReportFailure maps errors from before CMD began to the codes of timeout(1).
func ReportFailure(a *cli.App, err error) error {
	var command *launch.CommandError
	if !errors.As(err, &command) {
		a.PrintError(err)
		return cli.ExitCode(cli.ExitOurs)
	}
	return reportNotRun(a, command)
}

// reportNotRun prints why CMD did not begin, and returns a shell's exit code for that.
func reportNotRun(a *cli.App, err *launch.CommandError) error {
	a.PrintError(err)
	switch by := err.Interpreter; {
	case strings.HasSuffix(by, "\r"):
		a.Hint("its first line ends as on Windows: sed -i 's/\\r$//' FILE")
	case by != "":
		a.Hint("install the interpreter, or name another before the file: -- python FILE")
	case err.NotFound:
		a.Hint("name a program on PATH, a file with its path (./train.sh), or the interpreter: -- python train.py")
	case errors.Is(err, fs.ErrPermission):
		a.Hint("chmod +x makes a script executable, or name its interpreter: -- python FILE")
	}
	return cli.ExitCode(err.ExitCode())
}
