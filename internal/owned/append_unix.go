//go:build unix

package owned

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Append opens a file to read and to append to, and makes it where it is missing. A link
// is followed if it is the user's own or root's, as /dev/stdout. A file with more names
// than one is refused: who makes a second name need not be able to write the file.
func Append(path string, mode os.FileMode) (*os.File, error) {
	flags := os.O_APPEND | os.O_CREATE | unix.O_NONBLOCK // a pipe that nobody reads would wait
	var s unix.Stat_t
	link := unix.Lstat(path, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFLNK
	switch {
	case link && !mine(s.Uid):
		return nil, fmt.Errorf("open %s: it is a link that user %d made", path, s.Uid)
	case !link:
		flags |= unix.O_NOFOLLOW // one that comes now is not followed
	}
	file, err := os.OpenFile(path, flags|os.O_RDWR, mode)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EACCES) {
		file, err = os.OpenFile(path, flags|os.O_WRONLY, mode)
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if s.Mode&unix.S_IFMT == unix.S_IFREG && s.Nlink > 1 {
		return nil, errors.Join(fmt.Errorf("open %s: the file has %d names, one of which may be another user's link",
			path, s.Nlink), file.Close())
	}
	return file, nil
}

func mine(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }
