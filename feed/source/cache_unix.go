//go:build unix

package source

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// isOurs returns an error if other users could put files into a folder. The user must own it.
// Each folder above must belong to the user or to root, and others must not be able to replace
// its entries: it is not writable for them, or it is sticky like /tmp.
func isOurs(folder string) error {
	at, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	for own := true; ; own = false {
		var s unix.Stat_t
		if err := unix.Stat(at, &s); err != nil {
			return &os.PathError{Op: "look at", Path: at, Err: err}
		}
		mine := int(s.Uid) == os.Geteuid()
		if own && !mine || !mine && s.Uid != 0 {
			return fmt.Errorf("%s belongs to user %d: choose a folder of yours by STOKER_CACHE_DIR", at, s.Uid)
		}
		if s.Mode&0o022 != 0 && (own || s.Mode&unix.S_ISVTX == 0) {
			return fmt.Errorf("others can write to %s: chmod go-w %s, or choose another folder by STOKER_CACHE_DIR",
				at, at)
		}
		above := filepath.Dir(at)
		if above == at {
			return nil
		}
		at = above
	}
}
