package feed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestQuarantineAgain: a later run adds only new samples and keeps the other lines.
func TestQuarantineAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.jsonl")
	must(t, os.WriteFile(path, []byte("a line of the user's\n"), 0o600))
	one := &trouble{path: "a.jpg", kind: "truncated", reason: "cut", digest: "11"}
	other := &trouble{path: "a.jpg", kind: "truncated", reason: "cut", digest: "22"} // the file was replaced
	gone := &trouble{path: "b.jpg", kind: unreadable, reason: "no such file"}
	for _, found := range [][]*trouble{{one, gone}, {one, gone}, {gone, other}} {
		q, err := openQuarantine(path)
		must(t, err)
		for i, trouble := range found {
			q.append(i, trouble)
		}
		must(t, q.closeFile())
	}
	text, err := os.ReadFile(path)
	must(t, err)
	lines := strings.Split(string(text), "\n")
	if len(lines) != 5 || lines[0] != "a line of the user's" ||
		!strings.Contains(lines[1], `"11"`) || !strings.Contains(lines[2], "b.jpg") || !strings.Contains(lines[3], `"22"`) {
		t.Errorf("the file holds %q", lines)
	}
}

// TestQuarantineRefused: what cannot be appended to is refused at the start, and a
// pipe is not waited at.
func TestQuarantineRefused(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	must(t, unix.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		folder:                               "is a directory",
		filepath.Join(folder, "absent", "f"): "no such file",
		pipe:                                 "it is not a regular file",
	} {
		if _, err := openQuarantine(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", path, err, want)
		}
	}
}
