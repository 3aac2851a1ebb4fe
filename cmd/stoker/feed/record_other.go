//go:build !linux

package feed

import (
	"os"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/feed/serve"
)

// feedRecorder: the daemon needs Linux, and so does what it is recorded with.
func feedRecorder(path string, take func() serve.Snapshot) (stop func() error, err error) {
	return serve.Recording{Version: cli.Version, Command: os.Args}.StartRecorder(path, take)
}
