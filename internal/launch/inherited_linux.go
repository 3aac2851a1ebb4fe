package launch

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// atStart is what stoker_entry notes, and whether this process is a trial.
var atStart struct {
	state
	trial bool
}

// state is what a command is to have from whoever started us: the signals that were
// ignored and blocked, as in /proc/PID/status, and the standard descriptors that were
// closed, a bit each.
type state struct {
	ignored, blocked, closed uint64
	blocks                   bool // blocked is known: stoker_entry ran
}

// inherited is what we were started with, as far as it is known.
func inherited() state {
	if atStart.blocks {
		return atStart.state
	}
	var s state
	for _, kept := range []unix.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(kept) {
			s.ignored |= bit(kept)
		}
	}
	return s
}

func bit(s unix.Signal) uint64 { return 1 << (s - 1) }

// needed are signals that Go's runtime does not work well without, or that we need to
// hear how a child ended. They are not ignored in this process.
const needed = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGPROF-1) | 1<<(unix.SIGSEGV-1) |
	1<<(unix.SIGBUS-1) |
	1<<(unix.SIGFPE-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGTRAP-1) | 1<<(unix.SIGSYS-1) | 1<<(unix.SIGSTKFLT-1) | 1<<31 |
	1<<32 | 1<<33

// Ignore ignores what was ignored when we were started, as far as we can, so that what
// is started from here on ignores it as well. signal.Ignored tells which these are.
func Ignore() {
	for s := unix.Signal(1); s <= 64; s++ {
		if inherited().ignored&^needed&bit(s) != 0 {
			signal.Ignore(s)
		}
	}
}

// ignoredNow are those of some signals that what we start ignores, without more ado.
func ignoredNow(set uint64) (now uint64) {
	for s := unix.Signal(1); s <= 64; s++ {
		if set&bit(s) != 0 && signal.Ignored(s) {
			now |= bit(s)
		}
	}
	return now
}

// ending are the signals by which a command is asked to end.
const ending = 1<<(unix.SIGINT-1) | 1<<(unix.SIGTERM-1)

// Passed is a file as a command is to have it: nil, closed, where it is a standard
// stream that was closed when we were started. Go's runtime puts /dev/null there.
func Passed(f *os.File) *os.File {
	if fd := f.Fd(); fd < 3 && inherited().closed>>fd&1 != 0 {
		return nil
	}
	return f
}

// Standard are our standard streams as a command is to have them.
func Standard() []*os.File { return []*os.File{Passed(os.Stdin), Passed(os.Stdout), Passed(os.Stderr)} }

// setIgnored ignores signals without a word to Go's runtime. A program that takes our
// place keeps what is ignored.
func setIgnored(set uint64) {
	action := [4]uint64{1} // struct sigaction of the kernel, the handler SIG_IGN
	for s := unix.Signal(1); s <= 64; s++ {
		if set&bit(s) != 0 {
			_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		}
	}
}

// setBlocked blocks signals in this thread, and no others.
func setBlocked(set uint64) {
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
}
