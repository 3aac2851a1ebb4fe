//go:build linux

package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// command is the program under observation. It owns the terminal, the standard
// streams and the signals: it runs in our process group, so that what the
// terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z) reaches it without us.
type command struct {
	process *os.Process
	ended   chan ending
	signals chan os.Signal
}

// ending is how the command ended.
type ending struct {
	code   int
	signal string
	cpu    time.Duration // core time, its waited-for descendants included
}

// relayed are the signals that someone may send to us and mean for the command.
var relayed = []os.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH,
}

// find resolves a command's name as a shell does.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	cause := err
	var wrapped *exec.Error
	if errors.As(err, &wrapped) {
		cause = wrapped.Err
	}
	missing := errors.Is(cause, exec.ErrNotFound) || errors.Is(cause, fs.ErrNotExist)
	if missing && !strings.Contains(name, "/") {
		return "", &CommandError{true, fmt.Errorf("run %s: there is no such command in PATH", name)}
	}
	return "", &CommandError{missing, fmt.Errorf("run %s: %w", name, cause)}
}

// start runs the command. From then on signals are relayed.
func start(o Options, path string, environment []string) (*command, error) {
	files := []*os.File{o.Stdin, o.Stdout, o.Stderr}
	for i, f := range files {
		if f != nil {
			continue
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = null.Close() }()
		files[i] = null
	}
	c := &command{ended: make(chan ending, 1), signals: make(chan os.Signal, 32)}
	for _, s := range relayed {
		if !o.Apart && !signal.Ignored(s) { // as under nohup: the command is to ignore it as well
			signal.Notify(c.signals, s)
		}
	}
	attributes := &os.ProcAttr{Dir: o.Dir, Env: environment, Files: files, Sys: &syscall.SysProcAttr{Setsid: o.Apart}}
	process, err := os.StartProcess(path, o.Command, attributes)
	if errors.Is(err, unix.ENOEXEC) { // a script without a first line: a shell's, as execvp(3) has it
		process, err = os.StartProcess("/bin/sh", append([]string{"/bin/sh", path}, o.Command[1:]...), attributes)
	}
	if err != nil {
		signal.Stop(c.signals)
		return nil, &CommandError{false, fmt.Errorf("run %s: %w", o.Command[0], cause(err))}
	}
	c.process = process
	if o.Started != nil {
		o.Started(process.Pid)
	}
	go c.wait()
	return c, nil
}

func cause(err error) error {
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// wait ends when the command does. It outlives Record only where that was told
// to leave a command that goes on.
func (c *command) wait() {
	state, err := c.process.Wait()
	if err != nil {
		c.ended <- ending{code: 125, signal: ""}
		return
	}
	e := ending{code: state.ExitCode(), cpu: state.UserTime() + state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.code, e.signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	c.ended <- e
}

// relay passes a signal on, unless the terminal sent it to the whole group.
func (c *command) relay(s os.Signal) {
	if (s == unix.SIGINT || s == unix.SIGQUIT) && foreground() {
		return
	}
	_ = c.process.Signal(s) // it may have ended
}

// stop gives the signals back.
func (c *command) stop() { signal.Stop(c.signals) }

// foreground reports whether we are in the foreground group of a controlling
// terminal, so that its keys reach the command by themselves.
func foreground() bool {
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(terminal) }()
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
