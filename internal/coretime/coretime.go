//go:build unix

// Package coretime returns the core time that this process has used.
package coretime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used returns the core time of this process, user and system; 0 if unknown.
func Used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
