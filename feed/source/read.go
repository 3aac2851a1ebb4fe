package source

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is in the error of a file that is larger than Options.MaxFile.
var ErrTooLarge = errors.New("too large")

// errNoFile: a pipe or socket under an image's name must not hold a thread.
var errNoFile = errors.New("it is not a regular file")

// Open opens the file of sample i. Errors do not name the file: who has a bad
// sample in hand puts its path in front.
//
// The file is opened by its path below the root that was listed and is kept open:
// 4 us with the fstat, where os.Root takes 10 us. os.Root would also refuse symbolic
// links that leave the root, but a folder of links to the real images is a usual
// data set, and ImageFolder reads it. Who may write into the data set can thus have
// any file read that the user can read; it is decoded as an image or is a bad
// sample, and its bytes go nowhere else.
func (f *Folder) Open(i int) (File, error) {
	if f.bucket != nil {
		if size := f.bucket.objects[i].size; size > f.maxFile {
			return File{}, f.tooLarge(size)
		}
		return f.get(i)
	}
	file, err := f.openBelow(f.Below(i))
	if err != nil {
		return File{}, err
	}
	if file.Size > f.maxFile {
		file.Close()
		return File{}, f.tooLarge(file.Size)
	}
	return file, nil
}

// Size is how many bytes the file of sample i has.
func (f *Folder) Size(i int) (int64, error) {
	file, err := f.Open(i)
	if err != nil {
		return 0, err
	}
	file.Close()
	return file.Size, nil
}

// Read reads the file of sample i into buffer, which grows where it is too small.
func (f *Folder) Read(i int, buffer []byte) ([]byte, error) {
	file, err := f.Open(i)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Read(buffer)
}

func (f *Folder) tooLarge(size int64) error {
	return fmt.Errorf("%w: the file has %d bytes, at most %d are read", ErrTooLarge, size, f.maxFile)
}

// Read reads the whole file into buffer, which grows where it is too small, and
// returns what was read. A fresh buffer per file would cost three times the CPU.
func (f *File) Read(buffer []byte) ([]byte, error) {
	if int64(cap(buffer)) < f.Size {
		buffer = make([]byte, f.Size+min(f.Size/4, 1<<20)) // the next file is a little larger
	}
	buffer = buffer[:f.Size]
	for at := 0; at < len(buffer); {
		n, err := f.readAt(buffer[at:], int64(at))
		if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
			return buffer[:at], fmt.Errorf("the file had %d bytes when it was opened and ended after %d: something is writing to it", f.Size, at)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return buffer[:at], err
		}
		at += n
	}
	return buffer, nil
}
