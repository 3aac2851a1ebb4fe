package source

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// ErrTooLarge is wrapped in the error of a file that is larger than Options.MaxFile.
var ErrTooLarge = errors.New("too large")

// errNoFile refuses pipes and sockets under an image's name, which could block a thread.
var errNoFile = errors.New("it is not a regular file")

// OpenFile opens the file of sample i. Errors do not contain its path; the caller adds it.
//
// The file is opened by its path relative to the root, which is kept open. That takes 4 us with
// the fstat, where os.Root takes 10 us. os.Root would also refuse symbolic links that leave the
// root, but a folder of links to the real images is a usual data set, and ImageFolder reads it.
// So a person who can write into the data set can have Stoker read any file that the user can
// read. Stoker decodes it as an image or reports a bad sample, and does not pass its bytes on.
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

// Size returns the number of bytes of sample i's file.
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

// Read reads the file of sample i into buffer, or into a new one if buffer is too small.
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

// retrying calls try, which opens or reads the file of sample i, and waits for the end of an
// outage; see Retry.
func (f *Folder) retrying(i int, try func() error) error {
	began := time.Now()
	err := try()
	if err == nil {
		return nil
	}
	return f.Retry(i, began, err, try)
}

// Retry repeats try, which failed with err to open or read the file of sample i, until an
// outage ends or has lasted for Patience. began is when the first try began. It returns an
// *Outage or an error of the file itself.
func (f *Folder) Retry(i int, began time.Time, err error, try func() error) error {
	again := func() error { return f.judgeError(i, try()) }
	err = waitOut(f.ctx, began, f.judgeError(i, err), again)
	reserve.fillReserve() // it may have been spent meanwhile
	if err == nil || !IsOutage(err) {
		return err
	}
	var outage *Outage
	if errors.As(err, &outage) {
		return err
	}
	return &Outage{Err: fmt.Errorf("%w (tried for %v)", explainOutage(err), time.Since(began).Round(time.Second))}
}

// judgeError turns EIO from network storage into an outage: the storage did not answer. From a
// disk, EIO means that the block is lost, which is an error of the file.
func (f *Folder) judgeError(i int, err error) error {
	if errors.Is(err, syscall.EIO) && f.bucket == nil && remote(f.Path(i), f.root) {
		return &Outage{Err: err}
	}
	return err
}

func (f *Folder) tooLarge(size int64) error {
	return fmt.Errorf("%w: the file has %d bytes, at most %d are read", ErrTooLarge, size, f.maxFile)
}

// Read reads the whole file into buffer, or into a larger one if it is too small, and returns
// the bytes. A new buffer per file would take three times the CPU.
func (f *File) Read(buffer []byte) ([]byte, error) {
	if int64(cap(buffer)) < f.Size {
		buffer = make([]byte, f.Size+min(f.Size/4, 1<<20)) // the next file may be a little larger
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
