// Package privatetest gives tests a folder that only the user can write at every level.
// t.TempDir is not such a folder, because it is below /tmp.
package privatetest

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/internal/private"
)

// MakeFolder makes a folder for a test, and removes it when the test ends. It skips the test if
// this user has no private place.
func MakeFolder(t testing.TB) string {
	t.Helper()
	folder, remove, err := New()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(remove)
	return folder
}

// New is MakeFolder for a TestMain.
func New() (folder string, remove func(), err error) {
	err = private.Try(func(place string) (err error) {
		for range 100 {
			folder = filepath.Join(place, "t"+rand.Text()[:4]) // short, because paths of sockets are limited
			if err = os.Mkdir(folder, 0o700); !errors.Is(err, os.ErrExist) {
				break
			}
		}
		return err
	})
	return folder, func() { _ = os.RemoveAll(folder) }, err
}
