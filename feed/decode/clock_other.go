//go:build !linux

package decode

import "time"

var began = time.Now()

// threadTime is the clock's, where a thread's CPU time is not easily had.
func threadTime() time.Duration { return time.Since(began) }
