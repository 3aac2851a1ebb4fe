//go:build linux

package observe

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what fits into sockaddr_un, with its closing zero.
const maxSocketPath = 107

// folder is our private place for the hook, its socket and the emulated page:
//
//	stoker-UID-PID-RANDOM/   0700, locked while we live
//	  hook.sock
//	  hook/sitecustomize.py
//	  page
type folder struct {
	path string
	lock int
}

// makeFolder makes it in XDG_RUNTIME_DIR or, where that is none, in the folder
// for temporary files. It removes what a killed observe left there.
func makeFolder() (*folder, error) {
	var failed error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if base == "" || !filepath.IsAbs(base) || len(base) > maxSocketPath-60 {
			continue
		}
		f, err := makeFolderIn(base)
		if err == nil {
			sweep(base)
			return f, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("make a private folder: %w; set TMPDIR to a folder that can be written", failed)
}

func makeFolderIn(base string) (*folder, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	path := filepath.Join(base, folderPrefix()+strconv.Itoa(os.Getpid())+"-"+hex.EncodeToString(random[:]))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &folder{path: path, lock: fd}, nil
}

func folderPrefix() string { return "stoker-" + strconv.Itoa(os.Getuid()) + "-" }

func (f *folder) socket() string { return filepath.Join(f.path, "hook.sock") }
func (f *folder) hook() string   { return filepath.Join(f.path, "hook") }
func (f *folder) page() string   { return filepath.Join(f.path, "page") }

// write puts the hook's source into its own folder.
func (f *folder) write(source []byte) error {
	if err := os.Mkdir(f.hook(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.hook(), "sitecustomize.py"), source, 0o600)
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path)
	_ = unix.Close(f.lock)
}

// sweep removes folders of ours whose observe was killed: the PID in the name is
// dead and nobody holds the lock. The lock is what counts where folders are
// shared with another PID namespace.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), folderPrefix())
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || !entry.IsDir() || alive(pid) {
			continue
		}
		removeStale(filepath.Join(base, entry.Name()))
	}
}

func removeStale(path string) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	var s unix.Stat_t
	if unix.Fstat(fd, &s) != nil || int(s.Uid) != os.Getuid() || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = os.RemoveAll(path)
}

func alive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
