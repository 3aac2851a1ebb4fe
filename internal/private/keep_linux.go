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

// KeepScripts puts Python files where all processes of this version find them: into a
// folder below a private place, which is named after what they hold and is never removed.
// It goes onto PYTHONPATH, so that its name may have no colon.
func KeepScripts(place, prefix string, files fs.FS) (folder string, err error) {
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
	if err := makeOwn(folder); err != nil {
		return "", err
	}
	for i, name := range names {
		if err := WriteWhole(filepath.Join(folder, name), texts[i]); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// makeOwn sees to it that a folder is there, and is the user's alone.
func makeOwn(path string) error {
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
	if s.Mode&0o7777 != 0o700 {
		return os.Chmod(path, 0o700)
	}
	return nil
}

// WriteWhole sees to it that a file of ours has just this content. Who reads it
// meanwhile sees the old one or the new one.
func WriteWhole(path string, content []byte) error {
	if holds(path, content) {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// holds reports whether a file is a plain one of ours alone with just this content.
func holds(path string, content []byte) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	var s unix.Stat_t
	if unix.Fstat(fd, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Mode&0o7777 != 0o600 ||
		int(s.Uid) != os.Geteuid() || s.Nlink != 1 {
		return false
	}
	found, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content)
}
