//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// shellBehind reports whether whoever started us can let us go on after Ctrl-Z: a shell
// with jobs, in our session and another group of processes. Of tmux or ssh, which start
// a command alone, nobody could.
func shellBehind() bool {
	parent := os.Getppid()
	session, err := unix.Getsid(parent)
	own, err2 := unix.Getsid(0)
	group, err3 := unix.Getpgid(parent)
	return err == nil && err2 == nil && err3 == nil && session == own && group != unix.Getpgrp()
}
