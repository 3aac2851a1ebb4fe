//go:build !linux

package feed

import (
	"os"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/feed/serve"
)

// feedRecorder does not exist on other systems: the daemon and its recorder need Linux.
func feedRecorder(path string, take func() serve.Snapshot) (stop func() error, err error) {
	return serve.Recording{Version: cli.Version, Command: os.Args}.StartRecorder(path, take)
}
