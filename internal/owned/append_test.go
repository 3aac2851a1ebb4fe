//go:build unix

package owned_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/owned"
)

// A file of the victim does not change, no matter what exists under the name of the output.
func TestAppendRefusesLinksOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make another user's link")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	victim := in("victim")
	if err := errors.Join(os.WriteFile(victim, []byte("whole\n"), 0o600), os.Symlink(victim, in("theirs")), os.Lchown(in("theirs"), 65534, 65534),
		os.Symlink("absent", in("dangling")), os.Lchown(in("dangling"), 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"theirs": "a link that user 65534 made", "dangling": "a link that user 65534 made"} {
		if file, err := owned.Append(in(name), 0o600); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
	if err := os.Link(victim, in("second")); err != nil {
		t.Fatal(err)
	}
	if file, err := owned.Append(in("second"), 0o600); err == nil || !strings.Contains(err.Error(), "2 names") {
		t.Errorf("a second name: %v, %v", file, err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "whole\n" {
		t.Errorf("the victim's file is %q", text)
	}
	if _, err := os.Lstat(in("absent")); err == nil {
		t.Error("a link that leads nowhere was followed")
	}
}

// A file of the user is appended to, also through a link, and keeps its content.
func TestAppend(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink("file", in("link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "file", "link"} {
		file, err := owned.Append(in(name), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("a"); err != nil {
			t.Error(err)
		}
		_ = file.Close()
	}
	if text, _ := os.ReadFile(in("file")); string(text) != "aaa" {
		t.Errorf("the file is %q", text)
	}
	if err := unix.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := owned.Append(in("pipe"), 0o600); err == nil { // on Linux it opens to read and write
		_ = file.Close()
	}
	if file, err := owned.Append(dir, 0o600); err == nil {
		t.Errorf("a folder: %v", file)
	}
}
