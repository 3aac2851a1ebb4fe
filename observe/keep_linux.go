package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Bounds of a trace that a job wrote.
const (
	mostTraceBytes = int64(4 << 30)
	tailBytes      = 256
)

// writtenTrace is a file that a job wrote, open and found to be one that we may keep.
type writtenTrace struct {
	*os.File
	bytes int64
}

var errUnfinished = errors.New("the file is not finished")

// openWritten opens a file that a job was asked to write, and follows no link:
// it must be a plain file of our own, with one name, and not too large.
func openWritten(path string) (*writtenTrace, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	size, err := checkFile(fd, path)
	if err == nil && !isFinished(f, size) {
		err = errUnfinished
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &writtenTrace{f, size}, nil
}

func checkFile(fd int, path string) (int64, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, err
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return 0, fmt.Errorf("%s is not a plain file", path)
	case int(s.Uid) != os.Getuid():
		return 0, fmt.Errorf("%s belongs to another user", path)
	case s.Nlink != 1:
		return 0, fmt.Errorf("%s has %d names", path, s.Nlink)
	case s.Size > mostTraceBytes:
		return 0, fmt.Errorf("%s has %d bytes, more than %d", path, s.Size, mostTraceBytes)
	}
	return s.Size, nil
}

// isFinished reports whether the JSON is closed: some versions write in place.
func isFinished(f *os.File, size int64) bool {
	tail := make([]byte, min(size, tailBytes))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return false
	}
	tail = bytes.TrimRight(tail, " \t\r\n")
	return size > 2 && len(tail) > 0 && tail[len(tail)-1] == '}'
}

// moveTrace copies a trace that a job wrote to a new file under the first name that is
// free, and takes the job's away.
func moveTrace(path string, names ...string) (name string, bytes int64, err error) {
	w, err := openWritten(path)
	if err != nil {
		return "", 0, fmt.Errorf("keep trace: %w", err)
	}
	defer func() { _ = w.Close() }()
	if name, err = w.copyTo(names); err == nil {
		_ = os.Remove(path)
	}
	return name, w.bytes, err
}

// copyTo copies the file to a new one, mode 0600, under a name that is free.
func (w *writtenTrace) copyTo(names []string) (path string, err error) {
	for _, name := range names {
		var to *os.File
		to, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep trace: %w", err)
		}
		_, err = io.Copy(to, io.NewSectionReader(w, 0, w.bytes))
		if closing := to.Close(); err == nil {
			err = closing
		}
		if err != nil {
			_ = os.Remove(name)
			return "", fmt.Errorf("keep trace: %w", err)
		}
		return name, nil
	}
	return "", fmt.Errorf("keep trace: %w", err)
}
