//go:build unix

package watch

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shellBehind reports whether a shell can continue this process after Ctrl-Z. A shell with job
// control is an ancestor in the same session but in another process group; programs of our own
// group may be between. tmux and ssh start a command without such a shell. The kernel uses the
// same rule for orphaned process groups.
func shellBehind() bool {
	session, err := unix.Getsid(0)
	for parent := os.Getppid(); err == nil && parent > 1; parent = parentOf(parent) {
		theirs, err := unix.Getsid(parent)
		if err != nil || theirs != session {
			return false
		}
		if group, err := unix.Getpgid(parent); err != nil || group != unix.Getpgrp() {
			return err == nil
		}
	}
	return false
}

// harmless are signals that end no process, or that cannot be caught.
var harmless = []syscall.Signal{
	syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT,
	syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH,
}

// endings returns the signals that end a process, except those that this process was started
// with as ignored.
func endings() []os.Signal {
	var all []os.Signal
	for s := syscall.Signal(1); s <= mostSignals; s++ {
		if !slices.Contains(harmless, s) && !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// mostSignals is the highest number of a signal on any system.
const mostSignals = 64

// parentOf returns the parent of a process, or 0 if it is unknown.
func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "PPid: %d", &parent); err == nil {
			return parent
		}
	}
	return 0
}
