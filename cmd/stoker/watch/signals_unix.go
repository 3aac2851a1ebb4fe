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

// shellBehind reports whether somebody can let us go on after Ctrl-Z: one above us who
// is in our session and another group of processes, as a shell with jobs is, also with
// other programs of our group between. Of tmux or ssh, which start a command alone,
// nobody could. The kernel asks the same of a whole group.
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

// harmless are signals that end no process, or that nobody can catch.
var harmless = []syscall.Signal{
	syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT,
	syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH,
}

// endings are the signals that end a process. One that whoever started us ignores stays
// ignored.
func endings() []os.Signal {
	var all []os.Signal
	for s := syscall.Signal(1); s <= mostSignals; s++ {
		if !slices.Contains(harmless, s) && !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// mostSignals is the number of the last signal that any system has.
const mostSignals = 64

// parentOf is the parent of a process, 0 where it is not known.
func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "PPid: %d", &parent); err == nil {
			return parent
		}
	}
	return 0
}
