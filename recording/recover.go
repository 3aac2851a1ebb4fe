package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostRecoveries limits how many files one run is written to. A file system that gives wrong
// answers about open files must not cause a new one every second.
const mostRecoveries = 3

// mostNamesTried limits how many names next to the recording's are tried.
const mostNamesTried = 100

// Recover continues in a new file if someone removed, truncated or replaced the current one. It
// writes all that RunSoFar holds. what says what happened to the old file; "" is nothing. Path
// then returns the new file. An error means that no new file could be created: the data are
// still held, and the next call tries again.
func (w *Writer) Recover() (what string, err error) {
	if what = w.damage(); what == "" || w.recoveries == mostRecoveries {
		return "", nil
	}
	file, path, err := createBeside(w.path)
	if err != nil {
		return what, fmt.Errorf("record again: %w", err)
	}
	w.recoveries++
	w.trim.giveUp(w)
	_ = w.file.Close()
	w.file, w.path, w.size, w.trim = file, path, 0, trimming{segment: w.trim.segment}
	w.startAnew()
	return what, nil
}

// damage returns what happened to the file since the last Flush.
func (w *Writer) damage() string {
	own, is := w.file.(*os.File)
	if !is || w.size == 0 {
		return ""
	}
	there, err := os.Stat(w.path)
	switch mine, err2 := own.Stat(); {
	case errors.Is(err, fs.ErrNotExist):
		return "was removed"
	case err != nil || err2 != nil:
		return "" // Flush reports a disk that does not answer
	case mine.Size() < w.size:
		return "was cut"
	case !os.SameFile(mine, there) && there.Size() != w.size: // some file systems change inode numbers
		return "was replaced"
	}
	return ""
}

// createBeside creates a file under a free name: path, or NAME-2, NAME-3 ….
func createBeside(path string) (*os.File, string, error) {
	name := path
	for n := 2; ; n++ {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || n > mostNamesTried {
			return file, name, err
		}
		name = Beside(path, n)
	}
}

// startAnew queues the whole run for the disk, instead of what it had not accepted.
func (w *Writer) startAnew() {
	w.pending.Reset()
	w.waiting.Reset()
	w.lost = false
	w.zip.Reset(&w.waiting)
	encoder := json.NewEncoder(w.zip)
	_ = writeLines(encoder, w.live.finish()) // writing to memory cannot fail
	if now := w.live.density(); now.Every > 0 || now.OneIn > 1 {
		_ = encoder.Encode(thinnedLine(now))
	}
	_ = w.zip.Close()
}
