//go:build amd64 || arm64

package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file runs before Go's runtime: on the initial stack, without goroutines, heap or garbage
// collector. So all of it is nosplit, allocates nothing, holds addresses as numbers and only
// makes system calls. The linker rejects functions that need more stack.

// storage is the thread-local storage of a static binary until the runtime starts.
var storage [64]byte

var _, _ = atEntry, &storage // stoker_entry uses them, in assembly

// atEntry records the state that the runtime will change and hides the variables that the
// runtime would read. If the runtime cannot start here, it executes the command of a verb.
//
//go:nosplit
func atEntry(stack *uintptr) {
	noteSignals()
	noteClosed()
	argv := unsafe.Add(unsafe.Pointer(stack), word)
	environment := unsafe.Add(argv, (*stack+1)*word)
	if command := findCommand(argv, *stack); command != 0 && !runtimeBegins() {
		becomeCommand(unsafe.Add(argv, command*word), environment)
	}
	hideVariables(environment)
}

const word = unsafe.Sizeof(uintptr(0))

//go:nosplit
func system(number, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	r, _, err := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
	return r, err
}

//go:nosplit
func noteSignals() {
	var action [4]uint64
	at := uintptr(unsafe.Pointer(&action))
	for s := uintptr(1); s <= 64; s++ {
		if _, err := system(unix.SYS_RT_SIGACTION, s, 0, at, 8); err == 0 && action[0] == 1 { // SIG_IGN
			atStart.ignored |= 1 << (s - 1)
		}
	}
	_, _ = system(unix.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&atStart.blocked)), 8)
	atStart.blocks = true
}

//go:nosplit
func noteClosed() {
	for fd := uintptr(0); fd < 3; fd++ {
		if _, err := system(unix.SYS_FCNTL, fd, unix.F_GETFD, 0, 0); err != 0 {
			atStart.closed |= 1 << fd
		}
	}
}

// findCommand returns the index in argv at which a verb's command begins: after the first --,
// if a verb that starts a command precedes it. 0 means none.
//
//go:nosplit
func findCommand(argv unsafe.Pointer, count uintptr) uintptr {
	verb := false
	for i := uintptr(1); i+1 < count; i++ {
		argument := stringAt(argv, i)
		verb = verb || isText(argument, "observe") || isText(argument, "feed") || isText(argument, "tune")
		if isText(argument, "--") {
			if verb {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// stringAt returns the C string at index i of an array of pointers; nil at its end.
//
//go:nosplit
func stringAt(array unsafe.Pointer, i uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(array, i*word))
}

//go:nosplit
func byteAt(text unsafe.Pointer, i int) byte { return *(*byte)(unsafe.Add(text, i)) }

//go:nosplit
func hasPrefix(text unsafe.Pointer, prefix string) bool {
	for i := range len(prefix) {
		if byteAt(text, i) != prefix[i] { // differs at the terminating zero byte at the latest
			return false
		}
	}
	return true
}

//go:nosplit
func isText(text unsafe.Pointer, want string) bool {
	return hasPrefix(text, want) && byteAt(text, len(want)) == 0
}

// runtimeBegins tries whether Go's runtime, with all packages, starts under the present limits:
// in a child that exits in EndTrial. The child is cloned without an exit signal, so it can be
// waited for even if SIGCHLD is ignored.
//
//go:nosplit
func runtimeBegins() bool {
	pid, err := system(unix.SYS_CLONE, 0, 0, 0, 0)
	if err != 0 {
		return err != syscall.EAGAIN && err != syscall.ENOMEM // qemu-user does not support such children
	}
	if pid == 0 {
		atStart.trial = true
		silence()
		return true
	}
	var status uint32
	for {
		_, err := system(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&status)), unix.WALL, 0)
		if err != syscall.EINTR {
			return err == 0 && status == 0
		}
	}
}

// silence hides a trial's error messages from the terminal and prevents a core file.
//
//go:nosplit
func silence() {
	null, err := system(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&nullDevice)), unix.O_RDWR, 0)
	if err == 0 {
		_, _ = system(unix.SYS_DUP3, null, 2, 0, 0)
	}
	core := [2]uint64{1, 1} // one byte: a program that collects core files is not started either
	_, _ = system(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&core)), 0)
}

var (
	nullDevice = [...]byte{'/', 'd', 'e', 'v', '/', 'n', 'u', 'l', 'l', 0}
	shellPath  = [...]byte{'/', 'b', 'i', 'n', '/', 's', 'h', 0}
	candidate  [unix.PathMax]byte // a folder of PATH joined with the command's name
)

const (
	unstartable = "stoker: nothing is observed, the command runs as without stoker: Go's runtime does not start " +
		"under the limits here (ulimit -a, or the control group's)\n"
	notRun = "stoker: error: run the command: it is not in PATH, or cannot be executed\n"
)

// becomeCommand executes a command in this process as a shell would. argv has at least two
// words before it.
//
//go:nosplit
func becomeCommand(argv, environment unsafe.Pointer) {
	say(unstartable)
	name, code := stringAt(argv, 0), uintptr(127)
	folders := findVariable(environment, "PATH=")
	if contains(name, '/') || folders == nil {
		code = execute(name, argv, environment)
	} else {
		for more := true; more; {
			folders, more = joinPath(folders, name)
			code = min(code, execute(unsafe.Pointer(&candidate), argv, environment))
		}
	}
	say(notRun)
	_, _ = system(unix.SYS_EXIT_GROUP, code, 0, 0, 0)
}

//go:nosplit
func say(sentence string) {
	_, _ = system(unix.SYS_WRITE, 2, uintptr(unsafe.Pointer(unsafe.StringData(sentence))), uintptr(len(sentence)), 0)
}

// execute executes a file. It returns only on failure, with the exit code a shell uses.
//
//go:nosplit
func execute(path, argv, environment unsafe.Pointer) uintptr {
	_, err := system(unix.SYS_EXECVE, uintptr(path), uintptr(argv), uintptr(environment), 0)
	if err == syscall.ENOEXEC { // a script without a #! line
		words := unsafe.Slice((*uintptr)(unsafe.Add(argv, -int(word))), 2)
		words[0], words[1] = uintptr(unsafe.Pointer(&shellPath)), uintptr(path)
		_, err = system(unix.SYS_EXECVE, words[0], uintptr(unsafe.Pointer(&words[0])), uintptr(environment), 0)
	}
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return 127
	}
	return 126
}

//go:nosplit
func contains(text unsafe.Pointer, want byte) bool {
	for i := 0; byteAt(text, i) != 0; i++ {
		if byteAt(text, i) == want {
			return true
		}
	}
	return false
}

// findVariable returns the value of a variable; nil if it is not set.
//
//go:nosplit
func findVariable(environment unsafe.Pointer, name string) unsafe.Pointer {
	for i := uintptr(0); stringAt(environment, i) != nil; i++ {
		if entry := stringAt(environment, i); hasPrefix(entry, name) {
			return unsafe.Add(entry, len(name))
		}
	}
	return nil
}

// joinPath writes the first of a list of folders, joined with a name, to candidate. It returns
// the rest of the list. A path that is too long is truncated, so that no such file exists.
//
//go:nosplit
func joinPath(folders, name unsafe.Pointer) (rest unsafe.Pointer, more bool) {
	n := 0
	for ; byteAt(folders, 0) != 0 && byteAt(folders, 0) != ':'; folders = unsafe.Add(folders, 1) {
		n = appendByte(n, byteAt(folders, 0))
	}
	if n > 0 { // an empty folder means the current one
		n = appendByte(n, '/')
	}
	for ; byteAt(name, 0) != 0; name = unsafe.Add(name, 1) {
		n = appendByte(n, byteAt(name, 0))
	}
	candidate[n] = 0
	return unsafe.Add(folders, 1), byteAt(folders, 0) == ':'
}

//go:nosplit
func appendByte(n int, b byte) int {
	if n == len(candidate)-1 {
		return n
	}
	candidate[n] = b
	return n + 1
}

// hideVariables changes the first letter of the variables that Go's runtime reads: an invalid
// value ends the runtime before main, and valid ones are meant for the command. A GODEBUG that
// only disables processor features stays, see feed/kernels.
//
//go:nosplit
func hideVariables(environment unsafe.Pointer) {
	for i := uintptr(0); stringAt(environment, i) != nil; i++ {
		entry := stringAt(environment, i)
		for _, name := range runtimeVariables {
			if hasPrefix(entry, name) && (name != goDebug || !namesFeatures(unsafe.Add(entry, len(name)))) {
				*(*byte)(entry) = hidden
				break
			}
		}
	}
}

// namesFeatures reports whether every field of a GODEBUG is about processor features.
//
//go:nosplit
func namesFeatures(fields unsafe.Pointer) bool {
	for hasPrefix(fields, "cpu.") {
		for byteAt(fields, 0) != 0 && byteAt(fields, 0) != ',' {
			fields = unsafe.Add(fields, 1)
		}
		if byteAt(fields, 0) == 0 {
			return true
		}
		fields = unsafe.Add(fields, 1)
	}
	return false
}
