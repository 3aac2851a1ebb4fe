//go:build unix

package nsight

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// SQLite's locks are on bytes that no file has, behind the first gigabyte.
const (
	firstLock = 0x40000000
	lockBytes = 512
)

// findWriter asks, without taking a lock, whether somebody holds a lock to write.
func findWriter(f *os.File) (pid int, locked bool) {
	l := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Start: firstLock, Len: lockBytes}
	err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l)
	return int(l.Pid), err == nil && l.Type != unix.F_UNLCK
}
