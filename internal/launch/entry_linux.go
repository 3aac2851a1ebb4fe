//go:build amd64 || arm64

package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file runs before Go's runtime does: on the first stack, without a goroutine, a
// heap or a collector. So all of it is nosplit, allocates nothing, holds addresses as
// numbers and calls the kernel alone. The linker refuses what needs more stack.

// storage is what a static binary has as thread-local storage until the runtime begins.
var storage [64]byte

var _, _ = atEntry, &storage // stoker_entry uses them, in assembly

// atEntry notes what the runtime is about to replace and hides from it what it would
// read. If the runtime cannot begin here, a verb's command takes our place.
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

// findCommand is where in argv a verb's command begins, 0 where there is none: behind
// the first --, with a verb before it that starts one.
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

// stringAt is the C string that the i-th pointer of an array points to, nil at its end.
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
		if byteAt(text, i) != prefix[i] { // ends at the zero byte at the latest
			return false
		}
	}
	return true
}

//go:nosplit
func isText(text unsafe.Pointer, want string) bool {
	return hasPrefix(text, want) && byteAt(text, len(want)) == 0
}

// runtimeBegins tries whether Go's runtime, with all packages, begins under the limits
// here: in a child that ends in EndTrial. A child that ends without a signal to its
// parent can be waited for whoever ignores SIGCHLD.
//
//go:nosplit
func runtimeBegins() bool {
	pid, err := system(unix.SYS_CLONE, 0, 0, 0, 0)
	if err != 0 {
		return err != syscall.EAGAIN && err != syscall.ENOMEM // qemu-user knows no such children
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

// silence keeps what a trial says of its end from the terminal, and from a core file.
//
//go:nosplit
func silence() {
	null, err := system(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&nullDevice)), unix.O_RDWR, 0)
	if err == 0 {
		_, _ = system(unix.SYS_DUP3, null, 2, 0, 0)
	}
	core := [2]uint64{1, 1} // of one byte: not even a program that takes core files is started
	_, _ = system(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&core)), 0)
}

var (
	nullDevice = [...]byte{'/', 'd', 'e', 'v', '/', 'n', 'u', 'l', 'l', 0}
	shellPath  = [...]byte{'/', 'b', 'i', 'n', '/', 's', 'h', 0}
	candidate  [unix.PathMax]byte // a folder of PATH and the command's name
)

const (
	unstartable = "stoker: nothing is observed, the command runs as without stoker: Go's runtime does not start " +
		"under the limits here (ulimit -a, or the control group's)\n"
	notRun = "stoker: error: run the command: it is not in PATH, or cannot be executed\n"
)

// becomeCommand lets a command take our place, as a shell would start it. There are two
// words at least before it in argv.
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

// execute returns where a file cannot be executed, with a shell's code for that.
//
//go:nosplit
func execute(path, argv, environment unsafe.Pointer) uintptr {
	_, err := system(unix.SYS_EXECVE, uintptr(path), uintptr(argv), uintptr(environment), 0)
	if err == syscall.ENOEXEC { // a script without a first line
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

// findVariable is the value of a variable, nil where it is not set.
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

// joinPath makes the candidate of the first of some folders and a name, and is what comes
// behind that folder. A path that is too long is cut, and is no file.
//
//go:nosplit
func joinPath(folders, name unsafe.Pointer) (rest unsafe.Pointer, more bool) {
	n := 0
	for ; byteAt(folders, 0) != 0 && byteAt(folders, 0) != ':'; folders = unsafe.Add(folders, 1) {
		n = appendByte(n, byteAt(folders, 0))
	}
	if n > 0 { // an empty one is here
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

// hideVariables changes the first letter of what Go's runtime would read: a value that it
// does not know ends it before main, and the good ones are meant for the command. A
// GODEBUG that only takes instruction sets away stays, see feed/kernels.
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

// namesFeatures reports whether each field of a GODEBUG is about a processor's features.
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
