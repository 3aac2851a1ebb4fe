package recording

import (
	"errors"
	"fmt"
	"os"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Follower reads a recording while it is being written. It reads each byte once and holds no
// more than Open. If the file was replaced, as a Writer does with a long recording, it starts
// again with the new file.
type Follower struct {
	path   string
	file   *os.File
	size   int64 // of the file at the last read
	reader *reader
}

// Follow opens the recording in a file.
func Follow(path string) (*Follower, error) {
	f := &Follower{path: path}
	if err := f.readAnew(); err != nil {
		return nil, fmt.Errorf("follow recording: %w", err)
	}
	return f, nil
}

// readAnew starts again with the first byte.
func (f *Follower) readAnew() error {
	file, err := readable.Open(f.path)
	if err != nil {
		return err
	}
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.size, f.reader = file, -1, nil // drop the old run before reading the new one
	f.reader = newReader(file, usual)
	f.reader.follows = true
	return nil
}

// Next returns the run as written so far, or nil if nothing was added since the last call. The
// error is ErrNoSecond if the file has only just begun; a later call may succeed.
func (f *Follower) Next() (*Run, error) {
	run, err := f.readOn()
	if err != nil {
		return nil, fmt.Errorf("follow recording %s: %w", f.path, err)
	}
	return run, nil
}

func (f *Follower) readOn() (*Run, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	own, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	switch anew := !os.SameFile(info, own) || info.Size() < f.size; {
	case info.IsDir():
		return nil, errors.New("it is a folder: name the .jsonl.gz file in it")
	case !anew && info.Size() == f.size:
		return nil, nil
	case anew, f.size >= 0 && !f.reader.packed: // a Writer never writes plain lines
		if err := f.readAnew(); err != nil {
			return nil, err
		}
	}
	f.size = info.Size()
	f.reader.continueReading()
	run, err := f.reader.readRun()
	if errors.Is(err, ErrNoSecond) {
		f.size = -1 // the next call tries again, even if the file has not grown
	}
	return run, err
}

// Close closes the file.
func (f *Follower) Close() error { return f.file.Close() }
