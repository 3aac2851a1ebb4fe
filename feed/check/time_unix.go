//go:build unix

package check

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used so far, user and system.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
