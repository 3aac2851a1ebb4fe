//go:build linux

package observe

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/observe/cpu"
)

// folder is the private place of one run, in one of the user's own (internal/private):
//
//	PLACE/hook-HASH/*.py               of all runs of this version, never removed; root's in /run/stoker
//	PLACE/run-NODE-PID-RANDOM/         0700, of this run
//	  hook.sock
//	  page                             of emulated GPUs
//	  trace-PID.*                      questions to the hook, and its answers
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

// makeFolder makes the folder of a run, and removes folders that are no longer needed.
func makeFolder(place string) (*folder, error) {
	path := filepath.Join(place, runPrefix+namespaceID()+"-"+strconv.Itoa(os.Getpid())+"-"+random(4))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	sweep(place)
	return &folder{path: path}, nil
}

// random returns a text of hexadecimal digits, two for each byte.
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
func (f *folder) writeHook(files fs.FS) (err error) {
	f.hook, err = private.KeepScripts(filepath.Dir(f.path), "hook-", files)
	return err
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

// given reports whether the environment of some process of this user names a folder of a run.
// That process, or one that it starts, may then use the folder.
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
