//go:build !linux

package tune

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// Command is not usable here: it needs Linux, as observing does.
type Command struct {
	Words, Env, Args, Allow, Feed []string
	Folder, Version               string
	Longest                       time.Duration
	Hook                          fs.FS
	Emulate                       bool
	Warn                          func(text string)
}

// Start returns an error: it needs Linux.
func (c *Command) Start(context.Context, string, *Plan) (Attempt, error) {
	return Attempt{}, errors.New("tune runs commands on Linux only")
}
