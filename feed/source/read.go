package source

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// ErrTooLarge is in the error of a file that is larger than Options.MaxFile.
var ErrTooLarge = errors.New("too large")

// errNoFile: a pipe or socket under an image's name must not hold a thread.
var errNoFile = errors.New("it is not a regular file")

// OpenFile opens the file of sample i. Errors do not name the file: who has a bad
// sample in hand puts its path in front.
//
// The file is opened by its path below the root that was listed and is kept open:
// 4 us with the fstat, where os.Root takes 10 us. os.Root would also refuse symbolic
// links that leave the root, but a folder of links to the real images is a usual
// data set, and ImageFolder reads it. Who may write into the data set can thus have
// any file read that the user can read; it is decoded as an image or is a bad
// sample, and its bytes go nowhere else.
func (f *Folder) OpenFile(i int) (File, error) {
	if f.bucket != nil {
		if size := f.bucket.objects[i].size; size > f.maxFile {
			return File{}, f.tooLarge(size)
		}
		return f.openCached(i)
	}
	if f.pack != nil {
		return f.openPacked(i, true)
	}
	file, err := f.openBelow(f.Below(i), true)
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
func (f *Folder) Size(i int) (size int64, err error) {
	err = f.retrying(i, func() error {
		file, err := f.OpenFile(i)
		if err == nil {
			size = file.Size
			file.Close()
		}
		return err
	})
	return size, err
}

// Read reads the file of sample i into buffer, which grows where it is too small.
func (f *Folder) Read(i int, buffer []byte) (data []byte, err error) {
	err = f.retrying(i, func() error {
		file, err := f.OpenFile(i)
		if err != nil {
			return err
		}
		defer file.Close()
		data, err = file.Read(buffer)
		return err
	})
	return data, err
}

// retrying does what opens and reads the file of sample i, and waits for the end of an outage; see Retry.
func (f *Folder) retrying(i int, try func() error) error {
	began := time.Now()
	err := try()
	if err == nil {
		return nil
	}
	return f.Retry(i, began, err, try)
}

// Retry does once more what failed to open or read the file of sample i, which it began at that time,
// until an outage is over or has lasted for Patience. What it returns is an *Outage, or the file's own
// fault.
func (f *Folder) Retry(i int, began time.Time, err error, try func() error) error {
	again := func() error { return f.judgeError(i, try()) }
	err = waitOut(f.ctx, began, f.judgeError(i, err), again)
	reserve.fillReserve() // it may have been lost meanwhile
	if err == nil || !IsOutage(err) {
		return err
	}
	var outage *Outage
	if errors.As(err, &outage) {
		return err
	}
	return &Outage{Err: fmt.Errorf("%w (tried for %v)", explainOutage(err), time.Since(began).Round(time.Second))}
}

// judgeError makes an outage of what only this folder knows to be one: network storage that says EIO has not
// answered, where a disk that says so has lost the block.
func (f *Folder) judgeError(i int, err error) error {
	if errors.Is(err, syscall.EIO) && f.bucket == nil && remote(f.Path(i), f.root) {
		return &Outage{Err: err}
	}
	return err
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
		n, err := f.readAt(buffer[at:], f.at+int64(at))
		if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
			return buffer[:at],
				fmt.Errorf("the file had %d bytes when it was opened and ended after %d: something is writing to it",
					f.Size, at)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return buffer[:at], err
		}
		at += n
	}
	return buffer, f.check(buffer)
}
