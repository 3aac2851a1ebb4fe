//go:build unix

package owned

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Append opens a file for reading and appending, and creates it if it does not exist. It
// follows a link if the user or root owns it, as with /dev/stdout. It refuses a file with more
// than one name, because any user may have made the second name, even without permission to
// write the file.
func Append(path string, mode os.FileMode) (*os.File, error) {
	flags := os.O_APPEND | os.O_CREATE | unix.O_NONBLOCK // does not block on a pipe without a reader
	var s unix.Stat_t
	link := unix.Lstat(path, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFLNK
	switch {
	case link && !mine(s.Uid):
		return nil, fmt.Errorf("open %s: it is a link that user %d made", path, s.Uid)
	case !link:
		flags |= unix.O_NOFOLLOW // a link made in the meantime is not followed
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
