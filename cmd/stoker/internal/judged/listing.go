package judged

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TunePrefix begins the names of folders in which tune keeps its runs, below the folder of recordings.
const TunePrefix = "tune-"

// IsRecording reports whether a file's name is that of a recording.
func IsRecording(name string) bool {
	return strings.HasSuffix(name, ".jsonl.gz") || strings.HasSuffix(name, ".jsonl") && name != CacheName
}

// Listing lists the entries of a folder that are named like recordings, in order of name.
type Listing struct {
	Names []string // relative to the folder
	// entries that are not regular files, with a sentence each: opening a pipe or a device may block forever
	Others map[string]string
}

// List lists the recordings of a folder.
func List(folder string) (Listing, error) {
	l := Listing{Others: map[string]string{}}
	err := l.addFolder(folder, "")
	slices.Sort(l.Names)
	return l, err
}

// ListTuned lists the recordings of a folder, and those that tune wrote below it.
func ListTuned(folder string) (Listing, error) {
	l, err := List(folder)
	inner, _ := filepath.Glob(filepath.Join(escapedGlob(folder), TunePrefix+"*"))
	for _, path := range inner {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			_ = l.addFolder(folder, filepath.Base(path)) // it may have been removed
		}
	}
	slices.Sort(l.Names)
	return l, err
}

// escapedGlob returns a pattern that matches only a folder's name.
func escapedGlob(folder string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(folder)
}

func (l *Listing) addFolder(folder, inner string) error {
	entries, err := os.ReadDir(filepath.Join(folder, inner))
	if err != nil {
		return fmt.Errorf("list recordings: %w", err)
	}
	for _, entry := range entries {
		name := filepath.Join(inner, entry.Name())
		if !IsRecording(entry.Name()) {
			continue
		}
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed
		case err != nil:
			l.Others[name] = fmt.Sprintf("read recording: %v", err)
		case !info.Mode().IsRegular():
			l.Others[name] = fmt.Sprintf("read recording %s: it is no file", path)
		default:
			l.Names = append(l.Names, name)
		}
	}
	return nil
}

// Notes returns the sentences about entries that are not regular files, in order of name.
func (l Listing) Notes() (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Others)) {
		notes = append(notes, l.Others[name])
	}
	return notes
}

// In returns the names with the folder in front.
func (l Listing) In(folder string) []string {
	files := make([]string, len(l.Names))
	for i, name := range l.Names {
		files[i] = filepath.Join(folder, name)
	}
	return files
}

// ListNewest returns the recordings of a folder, and those of tune below it, the newest first.
func ListNewest(folder string) []string {
	l, _ := ListTuned(folder)
	files := l.In(folder)
	slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(begun(b), begun(a)) })
	return files
}

// begun returns the part of a recording's path that begins with the date: its name, or the name of
// tune's folder around it.
func begun(path string) string {
	if folder, tuned := strings.CutPrefix(filepath.Base(filepath.Dir(path)), TunePrefix); tuned {
		return folder + "/" + filepath.Base(path)
	}
	return filepath.Base(path)
}

// CacheName is the file in which stoker runs keeps its verdicts on a folder's recordings: a header, and
// a line for each. A recording is judged again if its line is missing or unreadable, if its size or
// time has changed, or if another version of stoker wrote the line.
const CacheName = ".stoker-runs.jsonl"

// IsGrowing reports whether a recording grew in the last seconds.
func IsGrowing(file string) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) < 5*time.Second
}
