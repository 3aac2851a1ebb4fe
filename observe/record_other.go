//go:build !linux

package observe

import (
	"context"
	"errors"
	"time"

	"github.com/stoker-dev/stoker/recording"
)

// Record needs Linux: everything it samples is in /proc.
func Record(context.Context, Options) (*recording.Run, error) {
	return nil, errors.New(
		"observe: only Linux can be observed, and recordings from there can be read here with stoker diagnose")
}

// Cramped says nothing: Record does.
func Cramped() string { return "" }

// Place is where Examine searches.
type Place struct {
	Python  string
	OpenGPU func() (GPU, error)
	Pause   time.Duration
}

// Examine needs Linux, as Record does.
func Examine(Place) []Check {
	return []Check{{
		What: "Linux", Needed: true,
		Text: "only Linux can be observed: everything that is looked at is in /proc",
		Help: "recordings from there can be read here: stoker diagnose RUN",
	}}
}
