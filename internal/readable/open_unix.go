//go:build unix

package readable

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// patience is how long to wait for data from a named pipe, in milliseconds.
const patience = 2000

// Open opens a file for reading. A named pipe without a writer reads as empty after a while;
// os.Open would block for ever.
func Open(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return f, nil
	}
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // an error here shows up in the first read
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
		})
	}
	return f, nil
}
