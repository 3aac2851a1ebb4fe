package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tunePrefix is how a folder's name begins in which tune keeps what it starts, in the
// folder of recordings.
const tunePrefix = "tune-"

// isRecording reports whether a file's name is that of a recording.
func isRecording(name string) bool {
	return strings.HasSuffix(name, ".jsonl.gz") || strings.HasSuffix(name, ".jsonl") && name != cacheName
}

// listing is what lies in a folder under names of recordings, in order of name.
type listing struct {
	names []string // seen from the folder
	// what is no plain file, and a sentence about it: opening a pipe or a device may wait for ever
	others map[string]string
}

// listRecordings lists the recordings of a folder.
func listRecordings(folder string) (listing, error) {
	l := listing{others: map[string]string{}}
	err := l.addFolder(folder, "")
	slices.Sort(l.names)
	return l, err
}

// listTuned lists those that tune made in the folder as well.
func listTuned(folder string) (listing, error) {
	l, err := listRecordings(folder)
	inner, _ := filepath.Glob(filepath.Join(escapedGlob(folder), tunePrefix+"*"))
	for _, path := range inner {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			_ = l.addFolder(folder, filepath.Base(path)) // it may have gone
		}
	}
	slices.Sort(l.names)
	return l, err
}

// escapedGlob is a folder's name that stands for itself in a pattern.
func escapedGlob(folder string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(folder)
}

func (l *listing) addFolder(folder, inner string) error {
	entries, err := os.ReadDir(filepath.Join(folder, inner))
	if err != nil {
		return fmt.Errorf("list recordings: %w", err)
	}
	for _, entry := range entries {
		name := filepath.Join(inner, entry.Name())
		if !isRecording(entry.Name()) {
			continue
		}
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has gone
		case err != nil:
			l.others[name] = fmt.Sprintf("read recording: %v", err)
		case !info.Mode().IsRegular():
			l.others[name] = fmt.Sprintf("read recording %s: it is no file", path)
		default:
			l.names = append(l.names, name)
		}
	}
	return nil
}

// notes are the sentences about what is no file, in order of name.
func (l listing) notes() (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(l.others)) {
		notes = append(notes, l.others[name])
	}
	return notes
}

// in are the names with the folder in front.
func (l listing) in(folder string) []string {
	files := make([]string, len(l.names))
	for i, name := range l.names {
		files[i] = filepath.Join(folder, name)
	}
	return files
}

// recordings are those of a folder, and what tune made in it, newest first.
func recordings(folder string) []string {
	l, _ := listTuned(folder)
	files := l.in(folder)
	slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(begun(b), begun(a)) })
	return files
}

// begun is the part of a recording's path that begins with the date: its name, or that
// of the folder of tune in which it lies.
func begun(path string) string {
	if folder, tuned := strings.CutPrefix(filepath.Base(filepath.Dir(path)), tunePrefix); tuned {
		return folder + "/" + filepath.Base(path)
	}
	return filepath.Base(path)
}
