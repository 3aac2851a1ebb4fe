//go:build !linux

package source

import (
	"errors"
	"os"
)

// File is an open file of a data set.
type File struct {
	Size int64
	file *os.File
	shardPart
}

// openBelow opens a path below the root for reading.
func (f *Folder) openBelow(path string, _ bool) (File, error) {
	file, err := os.Open(joinPath(f.open.Name(), path))
	if err != nil {
		return File{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		file.Close()
		return File{}, err
	}
	return File{Size: info.Size(), file: file}, nil
}

func (f *File) readAt(buffer []byte, offset int64) (int, error) { return f.file.ReadAt(buffer, offset) }

// Close closes the file.
func (f *File) Close() { f.file.Close() } // nothing was written that could be lost

var reserve noReserve

// noReserve does nothing: descriptors are reserved on Linux only.
type noReserve struct{}

func (noReserve) fillReserve() {}

// inMemory needs Linux.
func inMemory(int64) (*os.File, File, error) { return nil, File{}, errors.ErrUnsupported }

// remote returns false: file systems are known on Linux only.
func remote(...string) bool { return false }

// Announce needs Linux.
func (f *Folder) Announce(i int) {}
