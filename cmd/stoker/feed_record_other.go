//go:build !linux

package main

import (
	"os"

	"github.com/stoker-dev/stoker/feed/serve"
)

// feedRecorder: the daemon needs Linux, and so does what it is recorded with.
func feedRecorder(path string, take func() serve.Snapshot) (stop func() error, err error) {
	return serve.Recording{Version: version, Command: os.Args}.StartRecorder(path, take)
}
