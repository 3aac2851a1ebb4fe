package source

import (
	"cmp"
	"errors"

	"golang.org/x/sys/unix"
)

// File is an open file of a data set. A descriptor and no os.File, which would
// cost an allocation, a finaliser and an epoll registration per sample.
type File struct {
	Size int64
	fd   int
}

// openBelow opens a path below the root for reading. Without waiting: the name
// may be that of a pipe.
func (f *Folder) openBelow(path string) (File, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	var fd int
	var err error
	// Control keeps the root's descriptor from being closed and used for another
	// file in between: a thread may hang in here when the loader is closed.
	closed := f.conn.Control(func(root uintptr) {
		err = again(func() (err error) {
			fd, err = unix.Openat(int(root), path, flags, 0)
			return err
		})
	})
	if err := cmp.Or(closed, err); err != nil {
		return File{}, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return File{}, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return File{}, errNoFile
	}
	return File{Size: stat.Size, fd: fd}, nil
}

func (f *File) readAt(buffer []byte, offset int64) (n int, err error) {
	err = again(func() (err error) {
		n, err = unix.Pread(f.fd, buffer, offset)
		return err
	})
	return max(n, 0), err
}

// Announce has the kernel fetch the file of sample i into the page cache, without
// waiting for its bytes. That it cannot is for the reader to find.
func (f *Folder) Announce(i int) {
	if f.bucket != nil {
		f.ahead(i)
		return
	}
	file, err := f.openBelow(f.Below(i))
	if err != nil {
		return
	}
	defer file.Close()
	_ = unix.Fadvise(file.fd, 0, min(file.Size, f.maxFile), unix.FADV_WILLNEED)
}

// Close closes the file.
func (f *File) Close() { _ = unix.Close(f.fd) } // nothing was written that could be lost

// again calls a system call until a signal does not interrupt it: Go's own
// preemption signals do so on network storage.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
