package private

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// access holds the modes of a folder and of the files in it.
type access struct{ folder, file fs.FileMode }

var (
	closed = access{0o700, 0o600}
	// readable is for files that every copy of the program contains, so that reading them
	// reveals nothing.
	readable = access{0o755, 0o644}
)

// KeepScripts writes Python files to a folder where all processes of this version find them: a
// folder below a private place, named after a hash of the files and never removed. It goes into
// PYTHONPATH, so its name must not contain a colon.
//
// A program started by root may switch to another user, as the entry point of a container
// does. That user cannot read root's private places. A folder of PYTHONPATH that it cannot read
// would stay in its sys.path, because the hook, which removes the folder, could not be loaded.
// So root keeps scripts in /run, which only root can write and everyone can read.
func KeepScripts(place, prefix string, files fs.FS) (folder string, err error) {
	if os.Geteuid() == 0 {
		if open, err := makeReadable("/run", "stoker"); err == nil {
			if folder, err := keepScripts(open, prefix, files, readable); err == nil {
				return folder, nil
			}
		}
	}
	return keepScripts(place, prefix, files, closed)
}

// makeReadable is makeBelow for a folder that others can read and only root can write.
func makeReadable(base, name string) (real string, err error) {
	if real, err = CheckPath(base); err != nil {
		return "", err
	}
	real = filepath.Join(real, name)
	if err := makeOwn(real, readable.folder); err != nil {
		return "", err
	}
	for at := real; at != "/"; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || info.Mode()&0o005 != 0o005 {
			return "", fmt.Errorf("%s is closed to others: %w", at, errors.Join(fs.ErrPermission, err))
		}
	}
	return real, nil
}

// keepScripts writes the files to a folder below place, with the given modes.
func keepScripts(place, prefix string, files fs.FS, grants access) (folder string, err error) {
	names, err := fs.Glob(files, "*.py")
	if err != nil {
		return "", err
	}
	hash, texts := sha256.New(), make([][]byte, len(names))
	for i, name := range names {
		if texts[i], err = fs.ReadFile(files, name); err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(texts[i]), texts[i])
	}
	folder = filepath.Join(place, prefix+hex.EncodeToString(hash.Sum(nil)[:8]))
	if strings.Contains(folder, ":") {
		return "", fmt.Errorf("%s has a colon, which separates folders in PYTHONPATH", folder)
	}
	if err := makeOwn(folder, grants.folder); err != nil {
		return "", err
	}
	// Python would create this folder with the mode of its umask, which may let everyone write.
	if err := makeOwn(filepath.Join(folder, "__pycache__"), grants.folder); err != nil {
		return "", err
	}
	for i, name := range names {
		if err := writeWhole(filepath.Join(folder, name), texts[i], grants.file); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// makeOwn makes a folder unless it exists, checks that it belongs to the user, and sets its
// mode.
func makeOwn(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return &os.PathError{Op: "look at", Path: path, Err: err}
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR || int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of yours", path)
	}
	if s.Mode&0o7777 != uint32(mode) {
		return os.Chmod(path, mode)
	}
	return nil
}

// WriteWhole makes the content of a file exactly this. A concurrent reader sees either the old
// or the new content.
func WriteWhole(path string, content []byte) error { return writeWhole(path, content, closed.file) }

func writeWhole(path string, content []byte, mode fs.FileMode) error {
	if holds(path, content, mode) {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// holds reports whether a file is a regular file of this user with exactly this mode and
// content.
func holds(path string, content []byte, mode fs.FileMode) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	var s unix.Stat_t
	if unix.Fstat(fd, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Mode&0o7777 != uint32(mode) ||
		int(s.Uid) != os.Geteuid() || s.Nlink != 1 {
		return false
	}
	found, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content)
}
