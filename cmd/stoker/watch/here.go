package watch

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/readable"
)

// writtenHere returns the recordings that are being written in this folder or its stoker-runs,
// and those that an observe started in this folder writes elsewhere.
func writtenHere() (files []string) {
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	found := slices.Concat(judged.ListNewest(judged.Folder), judged.ListNewest("."), writtenFrom(here))
	for _, file := range beingWrittenOf(found) {
		if below, err := filepath.Rel(here, file); err == nil && filepath.IsAbs(file) && filepath.IsLocal(below) {
			file = below
		}
		if !slices.Contains(files, file) && beginsRecording(file) {
			files = append(files, file)
		}
	}
	return files
}

// writtenFrom returns the recordings that are open in this user's stoker processes that were
// started in a folder. It reads /proc, and returns none on systems without it.
func writtenFrom(folder string) (files []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		if cwd, err := os.Readlink(process + "/cwd"); err != nil || cwd != folder || !isStoker(process) {
			continue // another user's process cannot be read
		}
		opened, _ := os.ReadDir(process + "/fd")
		for _, fd := range opened {
			if path, err := os.Readlink(process + "/fd/" + fd.Name()); err == nil && judged.IsRecording(path) {
				files = append(files, path)
			}
		}
	}
	return files
}

// isStoker reports whether a process runs this program, or another copy of it.
func isStoker(process string) bool {
	exe, err := os.Readlink(process + "/exe")
	own, _ := os.Executable()
	return err == nil && (filepath.Base(exe) == "stoker" || exe == own)
}

// longestHeader bounds the first line of a recording.
const longestHeader = 4096

// beginsRecording reports whether a file begins like a recording. Other .jsonl files that grow
// here are the user's.
func beginsRecording(file string) bool {
	f, err := readable.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var text io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return false
		}
	}
	first, _ := bufio.NewReader(io.LimitReader(text, longestHeader)).ReadString('\n')
	return strings.HasPrefix(first, `{"kind":"header"`)
}

// lookAgainHere is how often the screen of a whole machine searches for new recordings.
const lookAgainHere = 2 * time.Second

// waitForRecordings returns the recordings that begin here, none if ctx ends first.
func waitForRecordings(ctx context.Context) []string {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgainHere):
		}
		if files := writtenHere(); len(files) > 0 {
			return files
		}
	}
}

// beingWrittenOf returns those of the files that are growing.
func beingWrittenOf(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !judged.IsGrowing(file) })
}
