package leash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// Variables of the guard, which is this binary once more.
const (
	guardOf = "TEST_LEASH_GUARD"  // whose
	guarded = "TEST_LEASH_FOLDER" // what it removes, a line each
	detach  = "TEST_LEASH_DETACH" // set in the one between: a guard is nobody's child
)

func init() {
	if os.Getenv(guardOf) == "" {
		return
	}
	if os.Getenv(detach) != "" {
		_ = os.Unsetenv(detach)
		c := own(os.Stdin)
		c.Stderr = nil // go test waits until everybody has closed it
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "leash:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	paths, _ := io.ReadAll(os.Stdin) // until the tests have ended, whatever way
	end(os.Getenv(guardOf) + "/")
	for folder := range strings.SplitSeq(os.Getenv(guarded), "\n") {
		clear(folder)
	}
	for path := range strings.Lines(string(paths)) {
		_ = os.Remove(strings.TrimSuffix(path, "\n"))
	}
	os.Exit(0)
}

// own is this binary in a session of its own, which no signal to the group of the
// tests reaches. If an emulator runs us, the guard needs it too: qemu tells
// /proc/self/exe to be this binary, and lets /proc/thread-self be.
func own(stdin *os.File) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	self, _ := os.Readlink("/proc/self/exe")
	if runs, _ := os.Readlink("/proc/thread-self/exe"); runs != self {
		c = exec.Command(runs, self)
	}
	c.Stdin, c.Stderr = stdin, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

// guard starts one: it is there until the pipe is closed, by us or with us.
func guard(folders ...string) (*os.File, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	c := own(theirs)
	c.Env = append(without(os.Environ(), marker), guardOf+"="+run, guarded+"="+strings.Join(folders, "\n"), detach+"=1")
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("start the guard of the tests: %w", err)
	}
	return ours, nil
}

// privateFolder is a folder that this user alone can write at every level, as what is
// private has to lie in one; where there is none, the other.
func privateFolder(other string) string {
	if folder, _, err := privatetest.New(); err == nil {
		return folder
	}
	return other
}

func without(environment []string, name string) []string {
	return slices.DeleteFunc(environment, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// end kills the processes whose marker begins so, until there is none: they may
// start others meanwhile.
func end(prefix string) {
	for pids := marked(prefix); len(pids) > 0; pids = marked(prefix) {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

// marked are the running processes whose marker begins so. One that has ended has
// no environment any more.
func marked(prefix string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is right
	want := []byte("\x00" + marker + "=" + prefix)
	for _, file := range files {
		environment, _ := os.ReadFile(file) // gone by now, or somebody else's
		if bytes.Contains(append([]byte{0}, environment...), want) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// unmount takes out what is mounted below a folder, the innermost first.
func unmount(folder string) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	var below []string
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			below = append(below, fields[4])
		}
	}
	for _, point := range slices.Backward(below) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			fmt.Fprintln(os.Stderr, "leash: unmount", point, err)
		}
	}
}
