package source

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
		_, err := folder.Open(0)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errNoFile) {
			t.Errorf("the pipe was opened: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("opening a pipe waits")
	}
}
