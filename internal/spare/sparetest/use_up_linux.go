// Package sparetest takes file descriptors away from a test's process.
package sparetest

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// enough is a limit that leaves descriptors for Go's runtime and the test's files.
const enough = 256

// Forbid prevents this process from opening any further descriptor, even after closing one,
// until the test ends or giveBack is called.
func Forbid(t *testing.T) (giveBack func()) {
	t.Helper()
	giveBack = sync.OnceFunc(lowerLimit(t, 0))
	t.Cleanup(giveBack)
	return giveBack
}

// lowerLimit lowers the limit on descriptors, and returns a function that restores it.
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

// UseUp takes all descriptors that this process may have, until the test ends or giveBack is
// called. A descriptor that is closed meanwhile can be opened again.
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
