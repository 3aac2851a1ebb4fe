//go:build linux

package observe

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/launch"
)

// command is the program under observation. It owns the terminal, the standard streams and the
// signals. It runs in our process group, so what the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z)
// reaches it directly.
type command struct {
	process *os.Process
	ended   chan exitState
	signals chan os.Signal
}

// exitState is how the command ended.
type exitState struct {
	code   int
	signal string
	cpu    time.Duration // core time, its waited-for descendants included
}

// relayed are the signals that someone may send to us and mean for the command.
var relayed = []os.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH,
}

// streams returns the command's standard streams: nil in the options is /dev/null, and one
// that was closed for us is nil, closed for the command.
func (o Options) streams() (files []*os.File, done func(), err error) {
	var null *os.File
	for _, f := range []*os.File{o.Stdin, o.Stdout, o.Stderr} {
		switch {
		case f != nil:
			f = launch.Passed(f)
		case null == nil:
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, nil, err
			}
			fallthrough
		default:
			f = null
		}
		files = append(files, f)
	}
	return files, func() { _ = null.Close() }, nil // closing nil does nothing
}

// start runs the command. From then on signals are relayed.
func start(o Options, path string, environment []string) (*command, error) {
	files, done, err := o.streams()
	if err != nil {
		return nil, err
	}
	defer done()
	c := &command{ended: make(chan exitState, 1), signals: make(chan os.Signal, 32)}
	for _, s := range relayed {
		if !o.Apart && !signal.Ignored(s) { // as under nohup: the command is to ignore it as well
			signal.Notify(c.signals, s)
		}
	}
	c.process, err = launch.Command{
		Path: path, Words: o.Command, Env: environment, Dir: o.Dir, Files: files,
		Apart: o.Apart,
	}.Start()
	if err != nil {
		signal.Stop(c.signals)
		return nil, err
	}
	if o.Started != nil {
		o.Started(c.process.Pid)
	}
	go c.wait()
	return c, nil
}

// wait returns when the command has ended. It outlives Record only if Record was asked to leave
// a command that continues.
func (c *command) wait() {
	state, err := c.process.Wait()
	if err != nil {
		c.ended <- exitState{code: 125, signal: ""}
		return
	}
	e := exitState{code: state.ExitCode(), cpu: state.UserTime() + state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.code, e.signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	c.ended <- e
}

// relay passes a signal on, unless the terminal sent it to the whole group.
func (c *command) relay(s os.Signal) {
	if (s == unix.SIGINT || s == unix.SIGQUIT) && isForeground() {
		return
	}
	_ = c.process.Signal(s) // it may have ended
}

// stop gives the signals back.
func (c *command) stop() { signal.Stop(c.signals) }

// isForeground reports whether we are in the foreground group of a controlling
// terminal, so that its keys reach the command by themselves.
func isForeground() bool {
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(terminal) }()
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
