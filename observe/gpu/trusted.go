//go:build linux && !nonvml

package gpu

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkOwners says why a file next to our own binary may not be loaded into it: it must
// be a plain file of root's, of this user's or of whoever owns the binary, in a
// folder where no other user can replace it. In a sticky one, as /tmp,
// that takes an owner of these.
func checkOwners(path, binary string) error {
	var own, file, folder unix.Stat_t
	if err := unix.Stat(binary, &own); err != nil {
		return fmt.Errorf("look at %s: %w", binary, err)
	}
	if err := unix.Lstat(path, &file); err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	if err := unix.Stat(filepath.Dir(path), &folder); err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	ours := func(s unix.Stat_t) bool { return s.Uid == 0 || int(s.Uid) == os.Geteuid() || s.Uid == own.Uid }
	switch {
	case file.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("load %s: it is not a regular file", path)
	case !ours(file) || file.Mode&0o002 != 0:
		return fmt.Errorf("load %s: another user can write it (owner %d, mode %04o)", path, file.Uid, file.Mode&0o7777)
	case !ours(folder) || folder.Mode&0o002 != 0 && folder.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("load %s: another user can write its folder (owner %d, mode %04o)", path, folder.Uid,
			folder.Mode&0o7777)
	}
	return nil
}
