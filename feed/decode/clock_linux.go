package decode

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of this thread: on a machine with more work than cores
// a good image takes long by the clock, and is not bad for that.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
