// Package privatetest gives tests a folder that the user alone can write at every
// level, which t.TempDir is not: it lies below /tmp.
package privatetest

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/internal/private"
)

// MakeFolder makes a folder for a test, and removes it with its end. Where this user
// has no such place the test is skipped.
func MakeFolder(t testing.TB) string {
	t.Helper()
	folder, remove, err := New()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(remove)
	return folder
}

// New is Folder for a TestMain.
func New() (folder string, remove func(), err error) {
	err = private.Try(func(place string) (err error) {
		for range 100 {
			folder = filepath.Join(place, "t"+rand.Text()[:4]) // short: sockets are to lie below it
			if err = os.Mkdir(folder, 0o700); !errors.Is(err, os.ErrExist) {
				break
			}
		}
		return err
	})
	return folder, func() { _ = os.RemoveAll(folder) }, err
}
