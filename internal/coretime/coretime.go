//go:build unix

// Package coretime tells what this process has cost so far.
package coretime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used is the time of cores that this process has used, user and system; 0 where it is
// not known.
func Used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
