//go:build linux

package observe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/cgroup"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/spare"
)

// What observing takes, with room to spare. Go's runtime ends a program that gets
// no descriptor, thread or address space, so that it is looked beforehand. A run
// with a hook had 13 descriptors, 7 threads, 1.8 GB of addresses and 134 MB of data
// (2 cores, 2026-11-22).
const (
	leastFiles     = 32
	leastThreads   = 32
	leastAddresses = 3 << 30 // bytes
	leastData      = 1 << 30 // bytes

	// CPU seconds of this process, below 1 % of a core while it observes (bench/overhead.py): at half
	// of its limit it stops sampling, and has the other half for the verdict. [J]
	leastCPU = 60
)

// Cramped says what there is too little of to observe, "" if there is enough.
// Then the command is run in our place, as if we had never been.
func Cramped() string {
	spare.Release()
	if n := freeFiles(leastFiles); n < leastFiles {
		return fmt.Sprintf("this process may open %d more files, observing takes up to %d: raise ulimit -n", n,
			leastFiles)
	}
	for _, l := range []struct {
		resource   int
		least      uint64
		what, flag string
	}{{unix.RLIMIT_AS, leastAddresses, "address space", "-v"}, {unix.RLIMIT_DATA, leastData, "data", "-d"}} {
		var r unix.Rlimit
		if unix.Getrlimit(l.resource, &r) == nil && r.Cur < l.least {
			return fmt.Sprintf("this process may have %d MiB of %s, observing takes up to %d: raise ulimit %s",
				r.Cur>>20, l.what, l.least>>20, l.flag)
		}
	}
	if n := mostCPU(); n < leastCPU {
		return fmt.Sprintf("this process may compute for %.0f s, observing takes up to %d: raise ulimit -t", n, leastCPU)
	}
	if n := freeThreads(); n < leastThreads {
		return fmt.Sprintf(
			"%d more processes and threads may be started, observing takes up to %d: raise ulimit -u, or the control "+
				"group's pids.max", n, leastThreads)
	}
	return ""
}

// mostCPU returns how many seconds this process may compute until the kernel ends it.
func mostCPU() float64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &r); err != nil || r.Max == unix.RLIM_INFINITY {
		return math.Inf(1)
	}
	return float64(r.Max)
}

// usedCPU returns how many seconds this process has computed.
func usedCPU() float64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// freeFiles counts how many files can be opened, up to a number.
func freeFiles(most int) (n int) {
	var open []int
	for len(open) < most {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			break
		}
		open = append(open, fd)
	}
	for _, fd := range open {
		_ = unix.Close(fd)
	}
	return len(open)
}

// manyThreads is a limit so high that a user's threads are not counted, because counting takes
// time.
const manyThreads = 1 << 14

// freeThreads returns how many processes and threads may still be started, at most
// manyThreads.
func freeThreads() int {
	free := manyThreads
	if g, err := cgroup.Find(os.DirFS("/"), "self"); err == nil {
		if n := g.FreeThreads(); n < manyThreads { // not if NaN
			free = int(n)
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < manyThreads && os.Getuid() != 0 { // root is free of it
		free = min(free, max(0, int(r.Cur)-threadsOf(os.Getuid())))
	}
	return free
}

// threadsOf counts the threads of a user that /proc shows.
func threadsOf(uid int) (n int) {
	tasks, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, task := range tasks {
		var s unix.Stat_t
		if unix.Stat(task, &s) != nil || int(s.Uid) != uid {
			continue
		}
		text, _ := os.ReadFile(task)
		_, rest, _ := strings.Cut(string(text), "\nThreads:")
		count, _, _ := strings.Cut(rest, "\n")
		threads, _ := strconv.Atoi(strings.TrimSpace(count))
		n += threads
	}
	return n
}

// theirs are causes for which the command could not be started without us either.
var theirs = []error{
	unix.ENOENT, unix.EACCES, unix.ENOTDIR, unix.EISDIR, unix.ELOOP, unix.ENAMETOOLONG,
	unix.ETXTBSY, unix.ENOEXEC, unix.EINVAL, unix.ELIBBAD, unix.E2BIG,
}

// inPlace runs the command in our place, without any further process, thread or descriptor. It
// returns only if the command cannot run at all.
func inPlace(o Options, path string) error {
	files, _, err := o.streams()
	if err != nil {
		return &launch.CommandError{Err: fmt.Errorf("run %s: %w", o.Command[0], err)}
	}
	return launch.Command{Path: path, Words: o.Command, Env: os.Environ(), Dir: o.Dir, Files: files}.Exec()
}
