package source

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
)

// TestPipe: ImageFolder lists a pipe with an image's name; opening it must not wait
// for a writer.
func TestPipe(t *testing.T) {
	root := t.TempDir()
	plant(t, "dir", filepath.Join(root, "a"), "")
	if err := unix.Mkfifo(filepath.Join(root, "a/pipe.jpg"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	folder := list(t, root, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := folder.OpenFile(0)
		done <- err
	}()
	if err := leash.Receive(t, "the opening of a pipe", done); !errors.Is(err, errNoFile) {
		t.Errorf("the pipe was opened: %v", err)
	}
}

// TestRootIsNotAFolder: a file or a pipe in place of the data set is an error and does not
// block.
func TestRootIsNotAFolder(t *testing.T) {
	folder := t.TempDir()
	file, pipe := filepath.Join(folder, "train.tar"), filepath.Join(folder, "pipe")
	plant(t, "file", file, "")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	for _, root := range []string{file, pipe} {
		if _, err := List(t.Context(), root, Options{}); err == nil || !strings.Contains(err.Error(), root+" is not a folder") {
			t.Errorf("%s: %v", root, err)
		}
	}
}
