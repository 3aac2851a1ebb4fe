package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostRecoveries bounds how many files one run is written to: a file system that says
// wrong things of a file that is open may not have a new one every second.
const mostRecoveries = 3

// mostNamesTried bounds how many names beside the recording's are tried.
const mostNamesTried = 100

// Recover goes on in a new file if others removed, cut or replaced the one that is
// written, with all that Snapshot holds. It says what befell the old one; "" is nothing.
// Path is then the new file's. An error means that no new file could be made: what was
// seen is still held, and the next call tries again.
func (w *Writer) Recover() (what string, err error) {
	if what = w.damage(); what == "" || w.recoveries == mostRecoveries {
		return "", nil
	}
	file, path, err := createBeside(w.path)
	if err != nil {
		return what, fmt.Errorf("record anew: %w", err)
	}
	w.recoveries++
	w.trim.giveUp(w)
	_ = w.file.Close()
	w.file, w.path, w.size, w.trim = file, path, 0, trimming{segment: w.trim.segment}
	w.startAnew()
	return what, nil
}

// damage says what befell the file since the last Flush.
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
		return "" // a disk that does not answer is Flush's
	case mine.Size() < w.size:
		return "was cut"
	case !os.SameFile(mine, there) && there.Size() != w.size: // some file systems number files anew
		return "was replaced"
	}
	return ""
}

// createBeside makes a file under a name that is free: this one, or NAME-2, NAME-3 ….
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

// startAnew has the whole run wait for the disk, in place of what it had not taken.
func (w *Writer) startAnew() {
	w.pending.Reset()
	w.waiting.Reset()
	w.lost = false
	w.zip.Reset(&w.waiting)
	encoder := json.NewEncoder(w.zip)
	_ = writeLines(encoder, w.live.finish()) // memory takes all
	if now := w.live.density(); now.Every > 0 || now.OneIn > 1 {
		_ = encoder.Encode(thinnedLine(now))
	}
	_ = w.zip.Close()
}
