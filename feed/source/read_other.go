//go:build !linux

package source

import "os"

// File is an open file of a data set.
type File struct {
	Size int64
	file *os.File
}

// openBelow opens a path below the root for reading.
func (f *Folder) openBelow(path string) (File, error) {
	file, err := os.Open(join(f.open.Name(), path))
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

// Announce needs Linux.
func (f *Folder) Announce(i int) {}
