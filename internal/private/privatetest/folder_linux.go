// Package privatetest gives tests a folder that the user alone can write at every
// level, which t.TempDir is not: it lies below /tmp.
package privatetest

import (
	"os"
	"testing"

	"stoker/internal/private"
)

// Folder makes a folder for a test, and removes it with its end. Where this user
// has no such place the test is skipped.
func Folder(t testing.TB) string {
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
		folder, err = os.MkdirTemp(place, "t")
		return err
	})
	return folder, func() { _ = os.RemoveAll(folder) }, err
}
