package observe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
)

// loggers are the tools that the hook can log to (python/hook/log.py).
var loggers = []string{"wandb", "mlflow", "figures"}

type observeFlags struct {
	output          string
	noHook, noLines bool
	check           pipeline.Check
	quiet           bool
	pid             int
	trace           captureFlags
	prices          cost.Flags

	prometheus string
	json       string
	log        []string
	collector  *collector
	begun      bool // the line on stderr about the recording was printed
}

// canLog returns nil if the tools are known and the hook is used.
func (o observeFlags) canLog() error {
	for _, name := range o.log {
		if !slices.Contains(loggers, name) {
			return cli.AsUsage(fmt.Errorf("--log %s: known are %s", name, strings.Join(loggers, ", ")))
		}
	}
	if len(o.log) > 0 && (o.noHook || o.pid > 0) {
		return cli.AsUsage(errors.New("--log needs the hook, which --no-hook and --pid leave out"))
	}
	return nil
}
