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

// Command is what to start. Path is the program, Words its name and arguments. It runs
// in Dir, "" means here, and a nil file is closed for it.
type Command struct {
	Path  string
	Words []string
	Env   []string
	Dir   string
	Files []*os.File // its standard streams
	// in a session of its own, whose signals are ours to send: it ignores none of ending and does not outlive us
	Apart bool
}

// Exec lets the command take our place. It returns only where that cannot be.
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
	return c.error(c.become(inherited()))
}

// placeStream makes a file the process's own standard stream. A closed one is closed when
// the command begins: until then we may have something to say.
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

// become lets the command take the place of a process, with a state that it inherits.
func (c Command) become(s state) error {
	runtime.LockOSThread() // the mask of signals is a thread's
	defer runtime.UnlockOSThread()
	setIgnored(s.ignored)
	if s.blocks {
		setBlocked(s.blocked)
	}
	env := c.environment()
	err := unix.Exec(c.Path, c.Words, env)
	if c.isShells(err) {
		err = unix.Exec(shell, c.shellWords(), env)
	}
	return err
}

const shell = "/bin/sh"

// isShells reports whether the kernel does not know what runs a file, and a shell does:
// it is a script without a first line. Shells look for a zero byte as well.
func (c Command) isShells(err error) bool {
	if !errors.Is(err, unix.ENOEXEC) {
		return false
	}
	first := c.firstLine()
	return bytes.IndexByte(first, 0) < 0 && !bytes.HasPrefix(first, []byte(elf.ELFMAG))
}

func (c Command) shellWords() []string { return append([]string{shell, c.Path}, c.Words[1:]...) }

// Start starts the command beside us.
func (c Command) Start() (*os.Process, error) {
	s := inherited()
	if c.Apart {
		s.ignored &^= ending
		s.blocked &^= ending
	}
	if s.ignored != ignoredNow(s.ignored) || s.blocked != 0 { // Go's runtime does not keep all masks either
		process, began, err := c.startBetween(s)
		if began {
			return process, c.error(err)
		}
	}
	attributes := &os.ProcAttr{Dir: c.Dir, Env: c.environment(), Files: c.Files, Sys: c.attributes()}
	process, err := os.StartProcess(c.Path, c.Words, attributes)
	if c.isShells(err) {
		process, err = os.StartProcess(shell, c.shellWords(), attributes)
	}
	return process, c.error(err)
}

func (c Command) attributes() *unix.SysProcAttr {
	if !c.Apart {
		return nil
	}
	// The kernel sends the signal when the thread ends that starts the command: the caller keeps it.
	return &unix.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGTERM}
}

// between is the name under which this program is started to ignore what we cannot
// ignore ourselves, and to become the command at once. Behind it come the signals that
// are ignored and blocked, the closed descriptors, the one on which it says why it did
// not become the command, the command's path and its words.
const between = "stoker-launch"

const preamble = 6 // words before the command's

// startBetween starts the command through a process that becomes it. It has not begun
// where there is no such process to be had.
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
		Dir: c.Dir, Env: c.environment(),
		Files: c.filesUpTo(tell), Sys: c.attributes(),
	})
	_ = tell.Close()
	if err != nil {
		return nil, false, err
	}
	process, _ = os.FindProcess(pid) // never fails here
	var number [4]byte
	if _, err := io.ReadFull(hear, number[:]); err != nil { // closed: it is the command now
		return process, true, nil
	}
	_, _ = process.Wait()
	return nil, true, unix.Errno(binary.NativeEndian.Uint32(number[:]))
}

// filesUpTo are descriptors as the process in between has them: the command's standard
// streams, those that we inherited and leave to it, and at its own number the last.
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

// A process that startBetween started goes no further than here.
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
