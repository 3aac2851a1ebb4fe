package launch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec replaces this process with the command. It returns only on failure.
func (c Command) Exec() error {
	for number, file := range c.Files {
		if err := placeStream(number, file); err != nil {
			return c.error(err)
		}
	}
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return c.error(err)
		}
	}
	return c.error(c.become(inheritedState()))
}

// placeStream makes a file a standard stream of this process. A closed stream is closed only
// when the command begins, because error messages may be written until then.
func placeStream(number int, file *os.File) error {
	if file == nil {
		unix.CloseOnExec(number)
		return nil
	}
	if int(file.Fd()) == number {
		return nil
	}
	return unix.Dup3(int(file.Fd()), number, 0)
}

// become executes the command in this process, with the given state.
func (c Command) become(s state) error {
	runtime.LockOSThread() // the signal mask belongs to the thread
	defer runtime.UnlockOSThread()
	setIgnored(s.ignored)
	if s.blocks {
		setBlocked(s.blocked)
	}
	env := c.commandEnvironment()
	err := unix.Exec(c.Path, c.Words, env)
	if c.isShells(err) {
		err = unix.Exec(shell, c.shellWords(), env)
	}
	return err
}

const shell = "/bin/sh"

// isShells reports whether the kernel cannot run a file but a shell can: it is a script without
// a #! line. Shells also check for a zero byte.
func (c Command) isShells(err error) bool {
	if !errors.Is(err, unix.ENOEXEC) {
		return false
	}
	first := c.firstLine()
	return bytes.IndexByte(first, 0) < 0 && !bytes.HasPrefix(first, []byte(elf.ELFMAG))
}

// shellWords returns the command line that makes a shell run the command.
func (c Command) shellWords() []string { return append([]string{shell, c.Path}, c.Words[1:]...) }

// Start starts the command as a child.
func (c Command) Start() (*os.Process, error) {
	s := inheritedState()
	if c.Apart {
		s.ignored &^= ending
		s.blocked &^= ending
	}
	if s.ignored != ignoredNow(s.ignored) || s.blocked != 0 { // Go's runtime does not preserve every mask either
		process, began, err := c.startBetween(s)
		if began {
			return process, c.error(err)
		}
	}
	attributes := &os.ProcAttr{Dir: c.Dir, Env: c.commandEnvironment(), Files: c.Files, Sys: c.attributes()}
	process, err := os.StartProcess(c.Path, c.Words, attributes)
	if c.isShells(err) {
		process, err = os.StartProcess(shell, c.shellWords(), attributes)
	}
	return process, c.error(err)
}

// attributes returns the attributes of the child process.
func (c Command) attributes() *unix.SysProcAttr {
	if !c.Apart {
		return nil
	}
	// The kernel sends the signal when the thread that started the command ends; the caller
	// keeps the thread alive.
	return &unix.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGTERM}
}

// between is the name with which this program is executed to ignore signals that this process
// cannot ignore, and to become the command at once. Its arguments are the ignored and blocked
// signals, the closed descriptors, the descriptor on which it reports an error, and the
// command's path and words.
const between = "stoker-launch"

const preamble = 6 // number of words before the command's

// startBetween starts the command through a process that becomes it. began is false if that
// process could not be started.
func (c Command) startBetween(s state) (process *os.Process, began bool, err error) {
	hear, tell, err := os.Pipe()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = hear.Close() }()
	s.closed = 0
	for number, file := range c.Files {
		if file == nil {
			s.closed |= 1 << number
		}
	}
	words := append([]string{
		between, hexadecimal(s.ignored), hexadecimal(s.blocked), hexadecimal(s.closed), hexadecimal(uint64(tell.Fd())),
		c.Path,
	}, c.Words...)
	pid, err := syscall.ForkExec("/proc/self/exe", words, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.commandEnvironment(),
		Files: c.filesUpTo(tell), Sys: c.attributes(),
	})
	_ = tell.Close()
	if err != nil {
		return nil, false, err
	}
	process, _ = os.FindProcess(pid) // never fails here
	var number [4]byte
	if _, err := io.ReadFull(hear, number[:]); err != nil { // closed: the process has become the command
		return process, true, nil
	}
	_, _ = process.Wait()
	return nil, true, unix.Errno(binary.NativeEndian.Uint32(number[:]))
}

// filesUpTo returns the descriptors of the process in between: the command's standard streams,
// the inherited ones that are not close-on-exec, and last at its number.
func (c Command) filesUpTo(last *os.File) []uintptr {
	const closed = ^uintptr(0)
	files := make([]uintptr, last.Fd()+1)
	for fd := range files {
		files[fd] = closed
		if fd < len(c.Files) {
			if c.Files[fd] != nil {
				files[fd] = c.Files[fd].Fd()
			}
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 ||
			fd == len(files)-1 {
			files[fd] = uintptr(fd)
		}
	}
	return files
}

func hexadecimal(set uint64) string { return strconv.FormatUint(set, 16) }

// init takes over in a process that startBetween started: it becomes the command or exits.
func init() {
	if len(os.Args) <= preamble || os.Args[0] != between {
		return
	}
	var sets [4]uint64
	for i := range sets {
		sets[i], _ = strconv.ParseUint(os.Args[1+i], 16, 64)
	}
	for number := range 3 {
		if sets[2]>>number&1 != 0 {
			unix.CloseOnExec(number)
		}
	}
	report := int(sets[3])
	unix.CloseOnExec(report)
	c := Command{Path: os.Args[preamble-1], Words: os.Args[preamble:], Env: os.Environ()}
	err := c.become(state{ignored: sets[0], blocked: sets[1], blocks: atStart.blocks})
	var why unix.Errno
	if !errors.As(err, &why) {
		why = unix.EIO
	}
	_, _ = unix.Write(report, binary.NativeEndian.AppendUint32(nil, uint32(why)))
	os.Exit(1)
}
