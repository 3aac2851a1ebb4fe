//go:build linux

package observe

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/observe/cpu"
)

// folder is the private place of one run, in one of the user's own (internal/private):
//
//	PLACE/hook-HASH/*.py               of all runs of this version, never removed
//	PLACE/run-NODE-PID-RANDOM/         0700, of this run
//	  hook.sock
//	  page                             of emulated GPUs
//	  trace-PID.*                      what is asked of the hook and told by it
//
// A job keeps the paths in its environment for as long as any of its processes
// lives, so none of them may ever become another user's: that is what the place is
// for. The hook's folder stays, and so does a run's while something that the
// command left behind may use it; then it is left to the sweep of a later run.
type folder struct {
	path string
	hook string // "" without
}

const runPrefix = "run-"

// makeFolder makes the folder of a run, and removes those that nobody needs.
func makeFolder(place string) (*folder, error) {
	path := filepath.Join(place, runPrefix+namespaceID()+"-"+strconv.Itoa(os.Getpid())+"-"+random(4))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	sweep(place)
	return &folder{path: path}, nil
}

// random is a text of hexadecimal digits, two for each byte.
func random(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// namespaceID names the PID namespace of this machine since its start: only there does a
// PID say whether a process lives. A home may be shared by many machines.
func namespaceID() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(host + "\n" + string(boot) + "\n" + space))
	return hex.EncodeToString(sum[:4])
}

func (f *folder) socket() string   { return filepath.Join(f.path, "hook.sock") }
func (f *folder) pageFile() string { return filepath.Join(f.path, "page") }

func (f *folder) remove() { _ = os.RemoveAll(f.path) }

// writeHook puts the hook's files where all runs of this version find them.
func (f *folder) writeHook(files fs.FS) error {
	names, err := fs.Glob(files, "*.py")
	if err != nil {
		return err
	}
	hash, texts := sha256.New(), make([][]byte, len(names))
	for i, name := range names {
		if texts[i], err = fs.ReadFile(files, name); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(texts[i]), texts[i])
	}
	path := filepath.Join(filepath.Dir(f.path), "hook-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	if strings.Contains(path, ":") {
		return fmt.Errorf("%s has a colon, which separates folders in PYTHONPATH", path)
	}
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
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
	}
	f.hook = path
	for i, name := range names {
		if err := writeWhole(filepath.Join(path, name), texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole sees to it that a file of ours has just this content. Who reads it
// meanwhile sees the old one or the new one.
func writeWhole(path string, content []byte) error {
	if holds(path, content) {
		return nil
	}
	own := path + "." + random(4)
	if err := os.WriteFile(own, content, 0o600); err != nil {
		return errors.Join(err, os.Remove(own))
	}
	if err := os.Rename(own, path); err != nil {
		return errors.Join(err, os.Remove(own))
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

// sweep removes folders of runs on this node whose observe has ended and that no
// process was given.
func sweep(place string) {
	entries, err := os.ReadDir(place)
	if err != nil {
		return
	}
	prefix := runPrefix + namespaceID() + "-"
	for _, entry := range entries {
		path := filepath.Join(place, entry.Name())
		rest, ours := strings.CutPrefix(entry.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ours && err == nil && entry.IsDir() && !alive(pid) && !given(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// given reports whether the environment of some process of ours names a folder of a
// run, so that it, or what it starts, may use it.
func given(path string) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true // who knows
	}
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			return false
		}
		values, err := cpu.Environment("/proc", pid)
		if err != nil {
			return false // another user's, or it has ended
		}
		for _, name := range []string{hookSocket, emulatedPage} {
			if strings.HasPrefix(values[name]+"/", path+"/") {
				return true
			}
		}
		return false
	})
}

// childless reports whether every process that the command started has ended, the
// orphans included: they are our children where we are their subreaper.
func childless() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR), pid > 0: // an orphan that has ended
		default:
			return errors.Is(err, unix.ECHILD)
		}
	}
}

func alive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
