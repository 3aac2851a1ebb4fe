// Package spare keeps the last few file descriptors from the packages that open
// files when they are loaded, so that main begins.
//
// Go's runtime ends a program that opens a file when its own poller then finds no
// descriptor any more. A file that cannot be opened at all does no harm. So where
// only a few are left this package has them all, until Release.
//
// It is initialised before package os, and so before all that open files: the
// specification has packages initialised in the order of their import paths, as
// soon as those that they import are, and os waits for package time.
package spare

import "syscall"

// few is more than a file and the poller take.
const few = 8

var held []int

func init() {
	for len(held) < few {
		fd, _, errno := syscall.RawSyscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC, 0)
		if errno != 0 {
			return
		}
		held = append(held, int(fd))
	}
	Release()
}

// Release gives them back. Who calls it is to open no file where there are too few.
func Release() {
	for _, fd := range held {
		_ = syscall.Close(fd)
	}
	held = nil
}
