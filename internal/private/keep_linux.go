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

// access is what a folder and the files in it grant.
type access struct{ folder, file fs.FileMode }

var (
	closed = access{0o700, 0o600}
	// readable is for what every copy of the program holds, so that a reader learns nothing.
	readable = access{0o755, 0o644}
)

// KeepScripts puts Python files where all processes of this version find them: into a
// folder below a private place, which is named after what they hold and is never removed.
// It goes onto PYTHONPATH, so that its name may have no colon.
//
// A program that root starts may go on as another user, as a container's entry point does.
// Root's private places are closed to that one, and a folder of PYTHONPATH that it cannot
// read would stay in its sys.path, where the hook takes itself out. So root keeps scripts
// in /run, where only root writes and everybody reads.
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

// makeReadable is makeBelow for a folder that others may read and only root writes.
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
	// Python would make this one as its umask has it, perhaps for everybody to write.
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

// makeOwn sees to it that a folder is there, is the user's, and has this mode.
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

// WriteWhole sees to it that a file of ours has just this content. Who reads it
// meanwhile sees the old one or the new one.
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

// holds reports whether a file is a plain one of ours with just this mode and content.
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
