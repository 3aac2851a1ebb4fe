// Package sparetest leaves a test's process without descriptors.
package sparetest

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// enough descriptors are left to Go's runtime and the test's own files before the limit.
const enough = 256

// Forbid leaves this process with the descriptors that it has: not even one that is closed can be had
// again, until the test ends or giveBack is called.
func Forbid(t *testing.T) (giveBack func()) {
	t.Helper()
	giveBack = sync.OnceFunc(lowerLimit(t, 0))
	t.Cleanup(giveBack)
	return giveBack
}

// lowerLimit lowers the number of descriptors, and returns what raises it again.
func lowerLimit(t *testing.T, most uint64) (raise func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = most
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}
}

// UseUp takes all descriptors that this process may have, until the test ends or giveBack is called. One
// that is closed meanwhile can be had again.
func UseUp(t *testing.T) (giveBack func()) {
	t.Helper()
	raise := lowerLimit(t, enough)
	var taken []int
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	giveBack = sync.OnceFunc(func() {
		for _, fd := range taken {
			_ = unix.Close(fd)
		}
		raise()
	})
	t.Cleanup(giveBack)
	return giveBack
}
