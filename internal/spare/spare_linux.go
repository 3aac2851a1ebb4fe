// Package spare keeps packages that open files when they are initialised from using the last
// file descriptors, so that main is reached.
//
// Go's runtime ends a program that opens a file if no descriptor is left for the runtime's
// poller. A file that cannot be opened at all does no harm. So if only a few descriptors are
// left, this package holds them all until Release.
//
// It is initialised before package os, and so before all packages that open files: packages are
// initialised in the order of their import paths as soon as their imports are, and os imports
// package time.
package spare

import "syscall"

// few is more than a file and the poller need.
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

// Release closes the descriptors. The caller should open no file if too few are left.
func Release() {
	for _, fd := range held {
		_ = syscall.Close(fd)
	}
	held = nil
}
