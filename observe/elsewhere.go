//go:build !linux

package observe

import (
	"context"
	"errors"

	"stoker/recording"
)

// Record needs Linux: everything it looks at is in /proc.
func Record(context.Context, Options) (*recording.Run, error) {
	return nil, errors.New("observe: only Linux can be observed; recordings from there can be read here with stoker diagnose")
}
