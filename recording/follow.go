package recording

import (
	"errors"
	"fmt"
	"os"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Follower reads a recording that is being written as it grows, each byte once, and
// holds no more of it than Open does. One that was written anew meanwhile, as a Writer
// does with a long one, is read anew.
type Follower struct {
	path   string
	file   *os.File
	size   int64 // of the file when it was read last
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

// readAnew reads from the first byte.
func (f *Follower) readAnew() error {
	file, err := readable.Open(f.path)
	if err != nil {
		return err
	}
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.size, f.reader = file, -1, nil // what was held is let go first
	f.reader = newReader(file, usual)
	f.reader.follows = true
	return nil
}

// Next is the run as far as it is written now; nil where that is what it was. Of a file
// that is only just begun it is ErrNoSecond, which a later call may mend.
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
	case anew, f.size >= 0 && !f.reader.packed: // plain lines are nothing that a Writer writes
		if err := f.readAnew(); err != nil {
			return nil, err
		}
	}
	f.size = info.Size()
	f.reader.continueReading()
	run, err := f.reader.readRun()
	if errors.Is(err, ErrNoSecond) {
		f.size = -1 // it is looked at again, also where it does not grow
	}
	return run, err
}

// Close closes the file.
func (f *Follower) Close() error { return f.file.Close() }
