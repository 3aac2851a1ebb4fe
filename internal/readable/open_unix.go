//go:build unix

package readable

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// patience is how long a named pipe's writer may take to begin, milliseconds.
const patience = 2000

// Open opens a file to read. A named pipe to which nobody writes reads as empty
// after a while, where an ordinary open would wait for ever.
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
		_ = raw.Control(func(fd uintptr) { // what goes wrong here shows in the first read
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
		})
	}
	return f, nil
}
