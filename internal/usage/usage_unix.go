//go:build unix

package usage

import (
	"time"

	"golang.org/x/sys/unix"
)

// Processor is what this process has used of processors so far, user and system.
func Processor() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
