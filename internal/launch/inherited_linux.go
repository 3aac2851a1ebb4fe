package launch

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// atStart is the state that stoker_entry recorded, and whether this process is a trial.
var atStart struct {
	state
	trial bool
}

// state is what a command inherits from the process that started Stoker: ignored and blocked
// signals, as in /proc/PID/status, and closed standard descriptors, one bit each.
type state struct {
	ignored, blocked, closed uint64
	blocks                   bool // blocked is known, because stoker_entry ran
}

// inheritedState returns the state with which Stoker was started, as far as it is known.
func inheritedState() state {
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

// needed lists the signals that Go's runtime needs, or that tell us how a child ended. This
// process does not ignore them.
const needed = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGPROF-1) | 1<<(unix.SIGSEGV-1) |
	1<<(unix.SIGBUS-1) |
	1<<(unix.SIGFPE-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGTRAP-1) | 1<<(unix.SIGSYS-1) | 1<<(unix.SIGSTKFLT-1) | 1<<31 |
	1<<32 | 1<<33

// Ignore ignores, except for those in needed, the signals that were ignored when Stoker was
// started, so that children ignore them as well. signal.Ignored then reports them.
func Ignore() {
	for s := unix.Signal(1); s <= 64; s++ {
		if inheritedState().ignored&^needed&bit(s) != 0 {
			signal.Ignore(s)
		}
	}
}

// ignoredNow returns the subset of signals that children would ignore now.
func ignoredNow(set uint64) (now uint64) {
	for s := unix.Signal(1); s <= 64; s++ {
		if set&bit(s) != 0 && signal.Ignored(s) {
			now |= bit(s)
		}
	}
	return now
}

// ending lists the signals that ask a command to end.
const ending = 1<<(unix.SIGINT-1) | 1<<(unix.SIGTERM-1)

// Passed returns a file as the command should inherit it: nil if it is a standard stream that
// was closed when Stoker was started. Go's runtime opens /dev/null in its place.
func Passed(f *os.File) *os.File {
	if fd := f.Fd(); fd < 3 && inheritedState().closed>>fd&1 != 0 {
		return nil
	}
	return f
}

// Standard returns the standard streams as the command should inherit them.
func Standard() []*os.File { return []*os.File{Passed(os.Stdin), Passed(os.Stdout), Passed(os.Stderr)} }

// setIgnored ignores signals without informing Go's runtime. A program executed in this process
// keeps them ignored.
func setIgnored(set uint64) {
	action := [4]uint64{1} // struct sigaction of the kernel, the handler SIG_IGN
	for s := unix.Signal(1); s <= 64; s++ {
		if set&bit(s) != 0 {
			_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		}
	}
}

// setBlocked sets the signals that this thread blocks.
func setBlocked(set uint64) {
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
}
