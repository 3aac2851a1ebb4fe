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

// Environment variables of the guard, which is another process of this binary.
const (
	guardOf = "TEST_LEASH_GUARD"  // the run whose processes it ends
	guarded = "TEST_LEASH_FOLDER" // folders it removes, one per line
	detach  = "TEST_LEASH_DETACH" // set in an intermediate process, so that the guard is not a child of the tests
)

func init() {
	if os.Getenv(guardOf) == "" {
		return
	}
	if os.Getenv(detach) != "" {
		_ = os.Unsetenv(detach)
		c := own(os.Stdin)
		c.Stderr = nil // go test waits until every process has closed it
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "leash:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	paths, _ := io.ReadAll(os.Stdin) // returns when the tests have ended in any way
	end(os.Getenv(guardOf) + "/")
	for folder := range strings.SplitSeq(os.Getenv(guarded), "\n") {
		clear(folder)
	}
	for path := range strings.Lines(string(paths)) {
		_ = os.Remove(strings.TrimSuffix(path, "\n"))
	}
	os.Exit(0)
}

// own returns a command that runs this binary in a new session, so that signals to the process
// group of the tests do not reach it. If an emulator runs this binary, the command runs the
// emulator: qemu makes /proc/self/exe point to this binary, but not /proc/thread-self.
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

// guard starts a guard. It acts when the pipe is closed, by this process or because this
// process ended.
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

// privateFolder returns a new folder that only this user can write at every level, as private
// requires; other if that is not possible.
func privateFolder(other string) string {
	if folder, _, err := privatetest.New(); err == nil {
		return folder
	}
	return other
}

// without removes a variable from an environment.
func without(environment []string, name string) []string {
	return slices.DeleteFunc(environment, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// end kills the processes whose marker has a prefix, repeatedly until none is left, because
// they may start others meanwhile.
func end(prefix string) {
	for pids := markedPIDs(prefix); len(pids) > 0; pids = markedPIDs(prefix) {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

// markedPIDs returns the running processes whose marker has a prefix. A process that has ended
// has no environment.
func markedPIDs(prefix string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	want := []byte("\x00" + marker + "=" + prefix)
	for _, file := range files {
		environment, _ := os.ReadFile(file) // it may have ended, or belong to another user
		if bytes.Contains(append([]byte{0}, environment...), want) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// unmount unmounts everything below a folder, innermost first.
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
